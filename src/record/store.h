/* The raw file of this rank: made at MPI_Init, grown by sections, never able to harm the program:
 * its blocks are reserved before they are mapped, because writing to a mapped page for which the
 * disk has no room would kill the process. */
#ifndef STRETTO_RECORD_STORE_H
#define STRETTO_RECORD_STORE_H

#include "record/raw.h"

#include <stdbool.h>
#include <stddef.h>

extern stretto_raw_header *stretto_header; /* NULL while nothing is recorded */

/* Makes `directory`/NAME for the given rank. 0, or -1 with the reason in words in error. */
int stretto_store_open(const char *directory, uint64_t world, int rank, int nranks, char *error,
                       size_t error_size);
/* Adds a section of zeroed items and returns it mapped; NULL when there is no room (said once on
 * stderr). Thread-safe. */
void *stretto_store_section(uint32_t kind, size_t item_bytes, size_t items);
/* Rows that begin with a key (0 = free), in a section that the first row makes: few programs have
 * any. */
typedef struct {
    uint32_t kind;
    size_t row_bytes;
    char *rows;
    bool tried;
} stretto_keyed;
/* The row of a key, or a free one, whose key the caller sets last; NULL when there is no room: of
 * further keys nothing is known. The caller locks. */
void *stretto_store_row(stretto_keyed *section, uint64_t key);
/* Takes back what open made; for a file that turned out useless. */
void stretto_store_discard(void);

#endif
