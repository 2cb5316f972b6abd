/* Tables: which choice for which collective, layout and size. No MPI.
 *
 * The text format is described in docs/reference/files.md ("Table"). Rank 0 reads the file; all
 * ranks parse the same broadcast text, so that every look-up gives the same answer on every rank.
 */
#ifndef STRETTO_TABLE_H
#define STRETTO_TABLE_H

#include "coll/coll.h"

enum { STRETTO_LINE_FORCED = 0, STRETTO_LINE_REPRODUCIBLE = -1, STRETTO_LINE_LEARNED = -2 };

typedef struct {
    stretto_collective collective;
    int nodes, ppn;   /* 0 = any ("*") */
    size_t low, high; /* bytes, inclusive; SIZE_MAX = "inf" */
    stretto_choice choice;
    int line;             /* where it stands, 1-based; or one of these */
    const char *evidence; /* of a row that stands in a table: its words, in the table's memory */
} stretto_row;

typedef struct {
    char name[256];            /* of the file, for messages */
    char mpi[32];              /* family the table was made for ("openmpi", "mpich", "intel") */
    char *text;                /* what follows lies in it */
    const char *version, *cpu; /* that it was made for, or "" */
    int nrows;
    stretto_row *rows;
} stretto_table;

/* Parses text (NUL-terminated) that came from file `name`. 0, or -1 with "NAME:LINE: reason;
 * remedy" in error; the table is then empty. Free with stretto_table_free. */
int stretto_table_parse(stretto_table *table, const char *name, const char *text, char *error,
                        size_t error_size);
void stretto_table_free(stretto_table *table);

/* Adds forced choices "allreduce=shm;bcast=knomial(4)" in front of all rows, for every size and
 * layout. Their line is 0. 0, or -1 with the reason in error. */
int stretto_table_force(stretto_table *table, const char *choices, char *error, size_t error_size);

/* The row for a call of `bytes` on nodes x ppn, or NULL. Exact layout before a wildcard in one of
 * the two, before wildcards in both; among those the narrowest size range, then the first. */
const stretto_row *stretto_table_find(const stretto_table *table, stretto_collective collective,
                                      int nodes, int ppn, size_t bytes);
/* Of a row that no table has: "forced". */
const char *stretto_row_origin(const stretto_row *row);
/* The same for a call whose size the ranks do not know alike: only rows for every size (0-inf)
 * count. */
const stretto_row *stretto_table_find_any_size(const stretto_table *table,
                                               stretto_collective collective, int nodes, int ppn);

#endif
