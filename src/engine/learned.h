/* What was learned: reported at the end (learned.c), and written into a table (learned_table.c).
 * On rank 0 of MPI_COMM_WORLD, by one thread at a time. */
#ifndef STRETTO_LEARNED_H
#define STRETTO_LEARNED_H

#include "engine/learn.h"

/* Communicators of one layout together. */
typedef struct {
    stretto_collective collective;
    int nodes, ppn;
    size_t low, high;
    stretto_choice choice;          /* of the communicator with the most pairs */
    bool chosen, open, other_order; /* open: no verdict yet, or no longer */
    char tried[256];                /* the candidates */
    int pairs, anew; /* pairs: with native, since the choice was made or by which native won */
    double native, time, low_gain, high_gain; /* of that one */
    double saved, spread;                     /* of all */
    unsigned long long calls, chosen_calls;
} stretto_learned;

typedef struct {
    int n, room;
    stretto_learned *all;
} stretto_learned_list;

/* Writes the table: with the rows of the table of before that stay. */
void stretto_learned_table_write(const stretto_learned_list *rs);
/* Its name, NULL: the last one could not be written, and that was said. */
const char *stretto_learned_table_name(void);

#endif
