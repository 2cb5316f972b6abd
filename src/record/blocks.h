/* How the sizes of a call's blocks differ by pair of ranks, of the first calls of a key and of
 * fewer and fewer after them; and who the neighbours are. */
#ifndef STRETTO_RECORD_BLOCKS_H
#define STRETTO_RECORD_BLOCKS_H

#include "record/measure.h"

/* Adds the blocks of one call to those of its key. */
void stretto_blocks_add(uint64_t key, const stretto_measure *m);
/* Keeps the graph of a communicator for a key. */
void stretto_blocks_graph(uint64_t key, const stretto_comm *in, MPI_Comm comm);

/* After stretto_count() of that key: the 1st, 2nd, 4th, ... 1024th call, then one in 1024. */
static inline void stretto_blocks(uint64_t key, const stretto_measure *m) {
    const stretto_thread *self = &stretto_self;
    if (stretto_paused || self->last_key != key)
        return;
    uint64_t calls = self->last_entry->calls;
    if (__builtin_expect(!(calls & (calls - 1)) || !(calls & 1023), 0))
        stretto_blocks_add(key, m);
}

/* The same, at the first call of a key. */
static inline void stretto_graph_seen(uint64_t key, const stretto_comm *in, MPI_Comm comm) {
    const stretto_thread *self = &stretto_self;
    if (in && !stretto_paused && self->last_key == key && self->last_entry->calls == 1)
        stretto_blocks_graph(key, in, comm);
}

#endif
