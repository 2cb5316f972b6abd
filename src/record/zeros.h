/* Looks, in some calls of a key, whether what a rank sends to MPI_Reduce is zero. */
#ifndef STRETTO_RECORD_ZEROS_H
#define STRETTO_RECORD_ZEROS_H

#include "record/measure.h"

void stretto_zeros_look(uint64_t key, const stretto_measure *m);

/* After stretto_count() of that key. */
static inline void stretto_zeros(uint64_t key, const stretto_measure *m) {
    const stretto_thread *self = &stretto_self;
    if (!stretto_paused && self->last_key == key && stretto_sampled(self->last_entry->calls))
        stretto_zeros_look(key, m);
}

#endif
