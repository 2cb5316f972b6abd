/* What the MPI takes to pack messages of derived datatypes, beside a copy of as many bytes in one
 * piece: measured on some calls of a key. */
#ifndef STRETTO_RECORD_PACKS_H
#define STRETTO_RECORD_PACKS_H

#include "record/measure.h"

void stretto_packs_add(uint64_t key, const void *data, int64_t count, MPI_Datatype datatype,
                       uint64_t bytes);

/* After stretto_count() of that key. */
static inline void stretto_packs(uint64_t key, const void *data, int64_t count,
                                 MPI_Datatype datatype, uint64_t bytes) {
    const stretto_thread *self = &stretto_self;
    if (!stretto_paused && self->last_key == key && stretto_sampled(self->last_entry->calls))
        stretto_packs_add(key, data, count, datatype, bytes);
}

#endif
