/* MPI_Type_create_darray (MPI-3.1 section 4.1.4): the part of an array that is distributed over a
 * grid of ranks. The ranks and their number are arguments, so that one process alone can ask for
 * any rank's part. */
#include "internal.h"

#include <stdlib.h>

typedef struct {
    int size, block, places, at; /* of the array; of each block; in the grid; this rank's place */
} direction;

/* The indices along d that belong to its place: number of runs, and each one's first and length. */
static int runs(const direction *d, int *first, int *length) {
    int n = 0;
    for (long long from = (long long)d->at * d->block; from < d->size;
         from += (long long)d->places * d->block, n++) {
        int left = d->size - (int)from;
        first[n] = (int)from;
        length[n] = left < d->block ? left : d->block;
    }
    return n;
}

/* False for arguments that the standard forbids. */
static bool describe(direction *d, int distribution, int argument) {
    const int least = d->places ? (d->size + d->places - 1) / d->places : 0;
    switch (distribution) {
    case MPI_DISTRIBUTE_NONE: d->block = d->size; return d->places == 1;
    case MPI_DISTRIBUTE_BLOCK:
        d->block = argument == MPI_DISTRIBUTE_DFLT_DARG ? least : argument;
        return d->block > 0 && (long long)d->block * d->places >= d->size;
    case MPI_DISTRIBUTE_CYCLIC:
        d->block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
        return d->block > 0;
    default: return false;
    }
}

static int wrong(const char *what, int d) {
    return serial_error(0, MPI_ERR_ARG, "MPI_Type_create_darray", "dimension %d: %s", d, what);
}

/* Places `inner`, whose extent is `stride` bytes, at the indices of one direction. */
static MPI_Datatype along(const direction *d, MPI_Datatype inner, MPI_Aint stride) {
    int *first = serial_memory((size_t)d->size * sizeof *first),
        *length = serial_memory((size_t)d->size * sizeof *length), n = runs(d, first, length);
    MPI_Aint *offsets = serial_memory((size_t)n * sizeof *offsets);
    MPI_Datatype *types = serial_memory((size_t)n * sizeof *types), made;
    for (int i = 0; i < n; i++) {
        offsets[i] = first[i] * stride;
        types[i] = inner;
    }
    made = serial_type_make(n, length, offsets, types, MPI_COMBINER_HINDEXED);
    serial_type_bounds(made, 0, stride * d->size);
    free(first);
    free(length);
    free(offsets);
    free(types);
    return made;
}

int MPI_Type_create_darray(int nranks, int rank, int ndims, const int *sizes,
                           const int *distributions, const int *arguments, const int *grid,
                           int order, MPI_Datatype old, MPI_Datatype *made) {
    long long places = 1;
    if (!serial_type_at(old))
        return serial_error(0, MPI_ERR_TYPE, "MPI_Type_create_darray", "no valid datatype");
    if (ndims < 1 || nranks < 1 || rank < 0 || rank >= nranks ||
        (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
        return serial_error(0, MPI_ERR_ARG, "MPI_Type_create_darray",
                            "%d dimensions, rank %d of %d, order %d", ndims, rank, nranks, order);
    direction *all = serial_memory((size_t)ndims * sizeof *all);
    int rc = MPI_SUCCESS;
    for (int d = 0; d < ndims && rc == MPI_SUCCESS; d++) {
        places *= grid[d];
        all[d] = (direction){.size = sizes[d], .places = grid[d]};
        if (sizes[d] < 1 || grid[d] < 1)
            rc = wrong("its size and its places in the grid must be positive", d);
        else if (!describe(&all[d], distributions[d], arguments[d]))
            rc = wrong("its distribution does not cover it", d);
    }
    if (rc == MPI_SUCCESS && places != nranks)
        rc = serial_error(0, MPI_ERR_ARG, "MPI_Type_create_darray",
                          "the grid has %lld places for %d ranks", places, nranks);
    if (rc != MPI_SUCCESS) {
        free(all);
        return rc;
    }
    /* The grid is in C order whatever the order of the array. */
    for (int d = ndims - 1, left = rank; d >= 0; left /= grid[d--])
        all[d].at = left % grid[d];
    MPI_Aint stride = serial_extent(old);
    MPI_Datatype inner;
    MPI_Type_dup(old, &inner);
    for (int i = 0; i < ndims; i++) {
        const direction *d = &all[order == MPI_ORDER_C ? ndims - 1 - i : i];
        MPI_Datatype outer = along(d, inner, stride);
        MPI_Type_free(&inner);
        inner = outer;
        stride *= d->size;
    }
    free(all);
    int one = 1;
    MPI_Aint zero = 0;
    *made = serial_type_make(1, &one, &zero, &inner, MPI_COMBINER_DARRAY);
    serial_type_bounds(*made, 0, stride);
    MPI_Type_free(&inner);
    int n = 4 * ndims + 4, *ints = serial_memory((size_t)n * sizeof *ints);
    const int *lists[] = {sizes, distributions, arguments, grid};
    ints[0] = nranks;
    ints[1] = rank;
    ints[2] = ndims;
    for (int i = 0; i < 4; i++)
        memcpy(ints + 3 + i * ndims, lists[i], (size_t)ndims * sizeof *ints);
    ints[n - 1] = order;
    serial_type_contents(*made, n, ints, 0, NULL, 1, &old);
    free(ints);
    return MPI_SUCCESS;
}
