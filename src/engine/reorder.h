/* Process topologies that are made with reorder: with STRETTO_REORDER=1 ranks are numbered so that
 * little is sent between nodes. Each function has the arguments of the MPI function of its name,
 * and calls it unchanged where nothing is to be done. */
#ifndef STRETTO_ENGINE_REORDER_H
#define STRETTO_ENGINE_REORDER_H

#include "abi/host.h"

int stretto_cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                        int reorder, MPI_Comm *comm_cart);
int stretto_graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[],
                         int reorder, MPI_Comm *comm_graph);
int stretto_dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                              const int destinations[], const int *weights, MPI_Info info,
                              int reorder, MPI_Comm *comm_dist_graph);
int stretto_dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                       const int *sourceweights, int outdegree,
                                       const int destinations[], const int *destweights,
                                       MPI_Info info, int reorder, MPI_Comm *comm_dist_graph);

#endif
