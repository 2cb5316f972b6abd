/* Derived datatypes that are dense: whose elements lie as their bytes travel, so that nothing has
 * to be packed. Sizes and extents do not prove it (a structure may hold its members in another
 * order); how the type was made does. One rank's own affair, as whether it packs. */
#include "run/call.h"

#include <stdlib.h>

enum { DEEPEST = 8 };

static bool dense(MPI_Datatype type, int depth);

/* The one type that `type` was made of, and its numbers; freed as the standard wants. */
static bool made_densely(MPI_Datatype type, int combiner, int nints, int naddresses, int depth) {
    int ints[4];
    MPI_Aint addresses[2], lb, extent;
    MPI_Count size;
    MPI_Datatype inner;
    if (nints > 4 || naddresses > 2 ||
        PMPI_Type_get_contents(type, nints, naddresses, 1, ints, addresses, &inner) != MPI_SUCCESS)
        return false;
    bool yes = dense(inner, depth + 1) && PMPI_Type_size_x(inner, &size) == MPI_SUCCESS;
    switch (combiner) {
    case MPI_COMBINER_VECTOR: yes = yes && (ints[0] == 1 || ints[1] == ints[2]); break;
    case MPI_COMBINER_HVECTOR: yes = yes && (ints[0] == 1 || addresses[0] == ints[1] * size); break;
    case MPI_COMBINER_RESIZED: yes = yes && addresses[0] == 0 && addresses[1] == size; break;
    default: break;
    }
    int unused[3], combined;
    if (PMPI_Type_get_envelope(inner, &unused[0], &unused[1], &unused[2], &combined) ==
            MPI_SUCCESS &&
        combined != MPI_COMBINER_NAMED)
        PMPI_Type_free(&inner);
    /* what the MPI says of the whole must agree */
    return yes && PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS &&
           PMPI_Type_size_x(type, &size) == MPI_SUCCESS && lb == 0 && extent == size && size > 0;
}

static bool dense(MPI_Datatype type, int depth) {
    int nints, naddresses, ntypes, combiner;
    if (stretto_dense_size(type))
        return true;
    if (type == MPI_DATATYPE_NULL || stretto_is_predefined_type(type) || depth > DEEPEST ||
        PMPI_Type_get_envelope(type, &nints, &naddresses, &ntypes, &combiner) != MPI_SUCCESS)
        return false;
    const bool known = combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_CONTIGUOUS ||
                       combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR ||
                       combiner == MPI_COMBINER_RESIZED;
    return known && ntypes == 1 && made_densely(type, combiner, nints, naddresses, depth);
}

bool stretto_type_is_dense(MPI_Datatype type) {
    return dense(type, 0);
}
