/* Ranks that add nothing to a sum: whether what they send to MPI_Reduce is zero, looked at in the
 * first calls of a key, and in fewer and fewer after them. */
#ifndef STRETTO_RECORD_ZEROS_H
#define STRETTO_RECORD_ZEROS_H

#include "record/measure.h"

void stretto_zeros_look(uint64_t key, const stretto_measure *m);

/* After stretto_count() of that key: the 1st, 2nd, 4th, ... 1024th call, then one in 1024. */
static inline void stretto_zeros(uint64_t key, const stretto_measure *m) {
    const stretto_thread *self = &stretto_self;
    if (stretto_paused || self->last_key != key)
        return;
    uint64_t calls = self->last_entry->calls;
    if (__builtin_expect(!(calls & (calls - 1)) || !(calls & 1023), 0))
        stretto_zeros_look(key, m);
}

#endif
