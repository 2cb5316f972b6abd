/* Stands in for src/engine behind the wrappers of blocking calls: something is always under way,
 * and what they ask for is counted and told at exit. The library of this, src/interpose/guard.c,
 * messages.c and src/abi is preloaded by tests/mpi/test_progress_rule.py. */
#include "abi/host.h"
#include "engine/engine.h"
#include "engine/outstanding.h"
#include "engine/reorder.h"

#include <stdio.h>
#include <stdlib.h>

int stretto_outstanding = 1;
stretto_world stretto_the_world;

void stretto_comm_made(MPI_Comm comm) {
    (void)comm;
}

int stretto_cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                        int reorder, MPI_Comm *comm_cart) {
    return PMPI_Cart_create(comm_old, ndims, dims, periods, reorder, comm_cart);
}

int stretto_graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[],
                         int reorder, MPI_Comm *comm_graph) {
    return PMPI_Graph_create(comm_old, nnodes, indx, edges, reorder, comm_graph);
}

int stretto_dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                              const int destinations[], const int *weights, MPI_Info info,
                              int reorder, MPI_Comm *comm_dist_graph) {
    return PMPI_Dist_graph_create(comm_old, n, sources, degrees, destinations, weights, info,
                                  reorder, comm_dist_graph);
}

int stretto_dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                       const int *sourceweights, int outdegree,
                                       const int destinations[], const int *destweights,
                                       MPI_Info info, int reorder, MPI_Comm *comm_dist_graph) {
    return PMPI_Dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights, outdegree,
                                           destinations, destweights, info, reorder,
                                           comm_dist_graph);
}

static long progressed, lent;
static int depth;

void stretto_drive_mpi(void) {}

void stretto_outstanding_resume(void) {
    progressed++;
}

void stretto_outstanding_lend(void) {
    lent++;
    depth++;
}

void stretto_outstanding_return(void) {
    if (--depth < 0)
        abort();
}

/* The wrappers' first look at a message finds it on its way: each of them has to progress, however
 * fast messages are. */
static int (*mpi_test)(MPI_Request *, int *, MPI_Status *);

static int test_late(MPI_Request *request, int *flag, MPI_Status *status) {
    static _Thread_local int looks;
    *flag = 0;
    return looks++ % 2 == 0 ? MPI_SUCCESS : mpi_test(request, flag, status);
}

__attribute__((constructor)) static void make_late(void) {
    if (!stretto_host_load())
        return;
    mpi_test = stretto_host_table.Test;
    stretto_host_table.Test = test_late;
}

__attribute__((destructor)) static void tell(void) {
    if (progressed || lent)
        fprintf(stderr, "guard: %ld progressed, %ld lent, depth %d\n", progressed, lent, depth);
}
