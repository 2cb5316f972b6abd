#include "record/blocks.h"
#include "record/store.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static stretto_keyed section = {STRETTO_RAW_BLOCKS, sizeof(stretto_raw_blocks), NULL, false};

void stretto_blocks_add(uint64_t key, const stretto_measure *m) {
    pthread_mutex_lock(&lock);
    stretto_raw_blocks *row = stretto_store_row(&section, key);
    for (int i = 0; row && i < m->nblocks; i++) {
        int64_t n = m->wide ? ((const int64_t *)m->blocks)[i] : ((const int *)m->blocks)[i];
        uint64_t bytes = n > 0 ? (uint64_t)(n * m->width) : 0;
        uint64_t class = stretto_size_class(bytes);
        class = class < STRETTO_BLOCK_CLASSES ? class : STRETTO_BLOCK_CLASSES - 1;
        row->blocks[class]++;
        row->bytes[class] += bytes;
    }
    if (row) {
        row->calls++;
        row->key = key; /* last: whoever reads after a kill sees no row without its blocks */
    }
    pthread_mutex_unlock(&lock);
}

static void keep_cartesian(stretto_raw_blocks *row, MPI_Comm comm) {
    int ndims = 0, dims[STRETTO_GRAPH_DIMS] = {0}, periods[STRETTO_GRAPH_DIMS] = {0},
        coords[STRETTO_GRAPH_DIMS];
    if (PMPI_Cartdim_get(comm, &ndims) != MPI_SUCCESS || ndims < 1 || ndims > STRETTO_GRAPH_DIMS ||
        PMPI_Cart_get(comm, ndims, dims, periods, coords) != MPI_SUCCESS)
        return;
    for (int i = 0; i < ndims; i++)
        row->dims[i] = periods[i] ? dims[i] : -dims[i];
    row->degree = 2 * ndims;
}

/* This rank's targets; NULL: none are known. The caller frees them. */
static int *targets_of(const stretto_comm *in, MPI_Comm comm, int topology, int *n) {
    int nin = 0, weighted = 0;
    *n = 0;
    if (topology == MPI_GRAPH)
        PMPI_Graph_neighbors_count(comm, in->rank, n);
    else if (topology == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors_count(comm, &nin, n, &weighted);
    if (*n < 1 || nin < 0)
        return NULL;
    /* targets, their weights, sources, their weights: MPI_UNWEIGHTED is a variable in some libmpi
     */
    int *found = calloc(2 * ((size_t)*n + (size_t)nin), sizeof *found);
    int rc = !found ? MPI_ERR_NO_MEM
             : topology == MPI_GRAPH
                 ? PMPI_Graph_neighbors(comm, in->rank, *n, found)
                 : PMPI_Dist_graph_neighbors(comm, nin, found + 2 * *n, found + 2 * *n + nin, *n,
                                             found, found + *n);
    if (rc == MPI_SUCCESS)
        return found;
    free(found);
    return NULL;
}

void stretto_blocks_graph(uint64_t key, const stretto_comm *in, MPI_Comm comm) {
    int topology = MPI_UNDEFINED, n;
    pthread_mutex_lock(&lock);
    stretto_raw_blocks *row = stretto_store_row(&section, key);
    PMPI_Topo_test(comm, &topology);
    if (row && topology == MPI_CART)
        keep_cartesian(row, comm);
    else if (row) {
        int *targets = targets_of(in, comm, topology, &n);
        for (int i = 0; targets && i < n; i++) {
            if (row->noffsets == STRETTO_GRAPH_OFFSETS || targets[i] < 0)
                continue;
            int offset = (targets[i] - in->rank + in->size) % in->size;
            row->offsets[row->noffsets++] = offset > in->size / 2 ? offset - in->size : offset;
        }
        row->degree = targets ? n : 0;
        free(targets);
    }
    if (row)
        row->key = key;
    pthread_mutex_unlock(&lock);
}
