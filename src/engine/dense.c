/* Derived datatypes that are dense: whose elements lie as their bytes travel, so that nothing has
 * to be packed. Sizes and extents do not prove it (a structure may hold its members in another
 * order); how the type was made does. One rank's own affair, as whether it packs. */
#include "engine/call.h"

#include <stdlib.h>

enum { DEEPEST = 8, MOST = 4 };

static bool dense(MPI_Datatype type, int depth);

/* How a type was made, in numbers of both kinds. */
typedef struct {
    MPI_Count ints, addresses, counts, types;
    int combiner;
} envelope;

/* A type made by a large-count constructor must not be asked in the way of the others (MPI-4.1,
 * 5.1.13): MPIs raise an error then. A host without the large-count forms has no such types. */
static bool look(MPI_Datatype type, envelope *e) {
    int n[3];
    if (STRETTO_HOST_HAS(Type_get_envelope_c) && STRETTO_HOST_HAS(Type_get_contents_c))
        return PMPI_Type_get_envelope_c(type, &e->ints, &e->addresses, &e->counts, &e->types,
                                        &e->combiner) == MPI_SUCCESS;
    if (PMPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &e->combiner) != MPI_SUCCESS)
        return false;
    e->ints = n[0], e->addresses = n[1], e->counts = 0, e->types = n[2];
    return true;
}

/* The constructor's numbers in the order of its arguments, in whichever of the three arrays. */
static bool contents(MPI_Datatype type, const envelope *e, MPI_Count n[MOST], MPI_Datatype *inner) {
    int ints[MOST];
    MPI_Aint addresses[MOST];
    MPI_Count counts[MOST];
    if (e->types != 1 || e->ints + e->addresses + e->counts > MOST)
        return false;
    int rc = e->counts ? PMPI_Type_get_contents_c(type, e->ints, e->addresses, e->counts, 1, ints,
                                                  addresses, counts, inner)
                       : PMPI_Type_get_contents(type, (int)e->ints, (int)e->addresses, 1, ints,
                                                addresses, inner);
    int at = 0;
    for (int i = 0; rc == MPI_SUCCESS && i < e->ints; i++)
        n[at++] = ints[i];
    for (int i = 0; rc == MPI_SUCCESS && i < e->addresses; i++)
        n[at++] = addresses[i];
    for (int i = 0; rc == MPI_SUCCESS && i < e->counts; i++)
        n[at++] = counts[i];
    while (at < MOST)
        n[at++] = 0;
    return rc == MPI_SUCCESS;
}

/* Derived types that the MPI tells of are freed; those of Fortran's kinds (MPI-4.1, 19.1.5) and
 * pairs of a value and an index (6.9.4) have no name, but are predefined all the same. */
static bool is_derived(int combiner) {
#ifdef MPI_COMBINER_VALUE_INDEX
    if (combiner == MPI_COMBINER_VALUE_INDEX)
        return false;
#endif
    return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
           combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER;
}

/* The one type that `type` was made of, and its numbers; freed as the standard wants. */
static bool made_densely(MPI_Datatype type, const envelope *e, int depth) {
    MPI_Aint lb, extent;
    MPI_Count size, n[MOST];
    MPI_Datatype inner;
    envelope of_inner;
    if (!contents(type, e, n, &inner))
        return false;
    bool yes = dense(inner, depth + 1) && PMPI_Type_size_x(inner, &size) == MPI_SUCCESS;
    switch (e->combiner) {
    case MPI_COMBINER_VECTOR: yes = yes && (n[0] == 1 || n[1] == n[2]); break;
    case MPI_COMBINER_HVECTOR: yes = yes && (n[0] == 1 || n[2] == n[1] * size); break;
    case MPI_COMBINER_RESIZED: yes = yes && n[0] == 0 && n[1] == size; break;
    default: break;
    }
    if (look(inner, &of_inner) && is_derived(of_inner.combiner))
        PMPI_Type_free(&inner);
    /* what the MPI says of the whole must agree */
    return yes && PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS &&
           PMPI_Type_size_x(type, &size) == MPI_SUCCESS && lb == 0 && extent == size && size > 0;
}

static bool dense(MPI_Datatype type, int depth) {
    envelope e;
    if (stretto_dense_size(type))
        return true;
    if (type == MPI_DATATYPE_NULL || stretto_is_predefined_type(type) || depth > DEEPEST ||
        !look(type, &e))
        return false;
    const bool known = e.combiner == MPI_COMBINER_DUP || e.combiner == MPI_COMBINER_CONTIGUOUS ||
                       e.combiner == MPI_COMBINER_VECTOR || e.combiner == MPI_COMBINER_HVECTOR ||
                       e.combiner == MPI_COMBINER_RESIZED;
    return known && made_densely(type, &e, depth);
}

bool stretto_type_is_dense(MPI_Datatype type) {
    return dense(type, 0);
}
