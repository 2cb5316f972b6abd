/* What the MPI takes to pack messages of derived datatypes, beside a copy of as many bytes in one
 * piece: measured on the first calls of a key, and on fewer and fewer after them. */
#ifndef STRETTO_RECORD_PACKS_H
#define STRETTO_RECORD_PACKS_H

#include "record/measure.h"

/* `also`: this is the other half of a call of which one was added. */
void stretto_packs_add(uint64_t key, const void *data, int64_t count, MPI_Datatype datatype,
                       uint64_t bytes, bool also);

/* After stretto_count() of that key: the 1st, 2nd, 4th, ... 1024th call, then one in 1024. A buffer
 * that a receive still fills is only read, and what is read goes nowhere. */
static inline void stretto_packs(uint64_t key, const void *data, int64_t count,
                                 MPI_Datatype datatype, uint64_t bytes, bool also) {
    const stretto_thread *self = &stretto_self;
    if (stretto_paused || self->last_key != key)
        return;
    uint64_t calls = self->last_entry->calls;
    if (!(calls & (calls - 1)) || !(calls & 1023))
        stretto_packs_add(key, data, count, datatype, bytes, also);
}

#endif
