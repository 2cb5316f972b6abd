/* A new order of the ranks of a communicator, for the topology that a call makes of it: reorder.c
 * takes the arguments of the calls, reordering.c finds the order. */
#ifndef STRETTO_ENGINE_REORDERING_H
#define STRETTO_ENGINE_REORDERING_H

#include "abi/host.h"

#include <stdbool.h>
#include <stdint.h>

/* Edges that rank 0 holds at most: 48 MiB, and twice that while it sorts them. */
enum { STRETTO_MOST_EDGES = 1 << 22 };

/* NATIVE: the MPI's call as it is. KEPT: without reorder, so that the MPI finds nothing worse. */
typedef enum { STRETTO_ORDER_NATIVE, STRETTO_ORDER_KEPT, STRETTO_ORDER_PERMUTED } stretto_outcome;

typedef struct {
    const char *function;
    char shape[64]; /* of a grid, in words */
    MPI_Comm comm;
    bool well;       /* this rank's arguments have nothing wrong, and it wants another order */
    bool local;      /* arguments differ from rank to rank: edges are gathered */
    uint64_t digest; /* of arguments that are the same on all ranks */
    int rank, nranks, *world;
    int n; /* processes of the topology: the first ranks, the others get MPI_COMM_NULL */
    int ndims;
    const int *dims, *periods;
    int64_t nedges;
    int *edges;        /* from, to, weight */
    int *rank_of;      /* [n] rank in comm of each process, when PERMUTED */
    MPI_Comm permuted; /* then; it has the error handler of comm after stretto_order_take_handler */
    int *lists;        /* memory of what was exchanged on it */
} stretto_order;

/* What is known without the other ranks, and is the same on all of them. False: no business of
 * ours. */
bool stretto_order_begin(stretto_order *o, const char *function, MPI_Comm comm);

/* Allocates `number` zeroed elements; never returns NULL. */
void *stretto_order_room(size_t number, size_t size);

/* There has to be room for it. */
void stretto_order_add_edge(stretto_order *o, int from, int to, int weight);

/* Collective over o->comm, agreed. */
stretto_outcome stretto_order_find(stretto_order *o);

void stretto_order_take_handler(const stretto_order *o);
void stretto_order_end(stretto_order *o);

#endif
