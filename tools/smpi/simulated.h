/* Between the files of the program that runs Stretto's plans in SimGrid SMPI.
 *
 * All ranks of a simulation are threads of one process, and its global data are shared
 * (smpi/privatization:no): ranks hand each other pointers and note their times in common arrays, at
 * no simulated cost. */
#ifndef STRETTO_SIMULATED_H
#define STRETTO_SIMULATED_H

#include "engine/engine.h"

/* One line of the file of cases. */
typedef struct {
    stretto_collective collective;
    char choice[300]; /* "native": SMPI's own, by its selector */
    size_t bytes;     /* as in `stretto bench`: the vector, or the block of one rank or pair */
    int root;
    int calls;   /* back to back */
    bool folded; /* all ranks share one memory, and nothing is copied nor checked */
} simulated_case;

/* What all ranks know; filled before the first case. */
typedef struct {
    int nranks, ppn; /* ranks 0 to ppn-1 on the first node, and so on; the last may have fewer */
    double reduce_s, reduce_s_per_byte; /* of reductions between messages */
    double hop_s, hop_s_per_byte;       /* of node phases: a message within the node; 0: free */
    int ncases;
    simulated_case *cases;
} simulated_job;

extern simulated_job simulated;
/* Set while a folded case runs: stretto_smpi_memmove does nothing. */
extern bool simulated_folded;

/* ---- data.c: buffers with contents that tell where they come from -------------------------- */

typedef struct {
    char *in, *out;
    size_t in_bytes, out_bytes;
} simulated_buffers;

size_t simulated_in_bytes(const simulated_case *k, int rank, int nranks);
size_t simulated_out_bytes(const simulated_case *k, int rank, int nranks);
/* Fills the contribution of a rank and spoils OUT. */
void simulated_fill(const simulated_case *k, int rank, int nranks, const simulated_buffers *b);
/* Whether the result is right. */
bool simulated_right(const simulated_case *k, int rank, int nranks, const simulated_buffers *b);
/* out = left + right, n doubles. */
void simulated_add(const void *left, const void *right, void *out, size_t n);
/* The same, and its time passes. */
void simulated_sum(const void *left, const void *right, void *out, size_t n);

/* ---- node.c: the node phases ----------------------------------------------------------------- */

enum { STRETTO_SIMULATED_PPN = 256 };

typedef struct simulated_node simulated_node; /* common to the ranks of a node */

simulated_node *simulated_node_new(int nlocal);
void simulated_node_free(simulated_node *group);
stretto_node *simulated_node_join(simulated_node *group, int me);

#endif
