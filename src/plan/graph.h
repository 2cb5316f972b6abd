/* The process topology of a neighbourhood collective: who sends to whom, in which slots. */
#ifndef STRETTO_GRAPH_H
#define STRETTO_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

/* A rank has out-slots and in-slots, in the order of its send and receive buffers. An edge is an
 * out-slot that leads somewhere; it is named by its index in out_to. Edges from a rank to itself
 * and several from one rank to another are possible. Immutable while plans use it. */
typedef struct {
    int nranks;
    const int *out_start; /* [nranks + 1] rank r's out-slots are out_start[r] to out_start[r + 1] */
    const int *out_to;    /* [out_start[nranks]] rank it leads to, or -1: nowhere (MPI_PROC_NULL) */
    const int *in_start;  /* [nranks + 1] */
    const int *in_edge;   /* [in_start[nranks]] the edge that ends in the slot, or -1: none */
} stretto_graph;

static inline int stretto_graph_outdegree(const stretto_graph *g, int rank) {
    return g->out_start[rank + 1] - g->out_start[rank];
}

static inline int stretto_graph_indegree(const stretto_graph *g, int rank) {
    return g->in_start[rank + 1] - g->in_start[rank];
}

/* The rank whose out-slot it is. */
int stretto_graph_source(const stretto_graph *g, int edge);
/* NULL when each edge ends in exactly one slot of the rank that it leads to, else what is wrong. */
const char *stretto_graph_check(const stretto_graph *g);

/* A graph with memory of its own. */
typedef struct {
    stretto_graph graph;
    int *memory;
} stretto_graph_store;

/* Room for the slots; out_start and in_start are to be filled by the caller, the slots hold -1.
 * false without memory. */
bool stretto_graph_reserve(stretto_graph_store *store, int nranks, int outs, int ins);
void stretto_graph_release(stretto_graph_store *store);

/* Sample graphs, for proofs and pictures (libstretto-plan.so and tests only). name:
 * "grid(4x2)", "torus(4x2)": Cartesian, open or periodic, 1 to 4 dimensions of that many ranks;
 * "grid2", "torus3": of 2 and 3 dimensions, as even as nranks allows; "star": rank 0 and each other
 * one; "cycle": to the next rank; "all": to every rank, itself too; "none": no edges; "random(7)":
 * directed, with repeated edges, edges to oneself and a rank that has none, from the seed 7.
 * Slots of Cartesian graphs are as MPI-4.1 section 8.6 has them. 0, or -1 with the reason in
 * error. */
int stretto_graph_sample(stretto_graph_store *store, const char *name, int nranks, char *error,
                         size_t error_size);

#endif
