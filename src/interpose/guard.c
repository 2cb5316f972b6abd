/* The MPI's blocking and polling functions that this library does not answer itself: exported only
 * so that collectives of ours go on while the application is inside them. functions.def says which
 * function is treated how, and brings the prototypes.
 *
 * Of Open MPI's family are left out the large-count forms (version 5 has none either) and, but for
 * the library that is for version 5, what version 4 lacks: a program that looks for a function must
 * not find it here only (decision 2). */
#include "interpose/guard.h"

#include "abi/fortran.h"
#include "engine/engine.h"
#include "engine/reorder.h"

#define GUARD_LOCAL(name, parameters, arguments)
#define GUARD_ELSEWHERE(name, parameters, arguments)
#define GUARD_P2P(name, parameters, arguments) /* messages.c */                                    \
    STRETTO_FORTRAN_ENTRY(int, name, parameters, arguments)

#define GUARD_TEST(name, parameters, arguments)                                                    \
    STRETTO_SLOW(name) parameters {                                                                \
        stretto_outstanding_progress();                                                            \
        return PMPI_##name arguments;                                                              \
    }                                                                                              \
    STRETTO_GUARDED(name, parameters, arguments)                                                   \
    STRETTO_FORTRAN_ENTRY(int, name, parameters, arguments)

#define GUARD_OPAQUE(name, parameters, arguments)                                                  \
    STRETTO_SLOW(name) parameters {                                                                \
        return STRETTO_NATIVE(PMPI_##name arguments);                                              \
    }                                                                                              \
    STRETTO_GUARDED(name, parameters, arguments)                                                   \
    STRETTO_FORTRAN_ENTRY(int, name, parameters, arguments)

#ifdef STRETTO_ABI_OPENMPI
bool stretto_starts_buffered;

/* Once for each: one round of the MPI's progress looks at a limited number of arrivals. */
void stretto_find_room(int sends) {
    for (int i = 0; i < sends && stretto_the_world.active; i++)
        stretto_drive_mpi();
}

#define GUARD_BUFFERED(name, parameters, arguments)                                                \
    int MPI_##name parameters {                                                                    \
        stretto_find_room(1);                                                                      \
        return PMPI_##name arguments;                                                              \
    }                                                                                              \
    STRETTO_FORTRAN_ENTRY(int, name, parameters, arguments)
#define GUARD_BUFFERED_LATER(name, parameters, arguments)                                          \
    int MPI_##name parameters {                                                                    \
        __atomic_store_n(&stretto_starts_buffered, true, __ATOMIC_RELAXED);                        \
        return PMPI_##name arguments;                                                              \
    }                                                                                              \
    STRETTO_FORTRAN_ENTRY(int, name, parameters, arguments)
#else
#define GUARD_BUFFERED GUARD_LOCAL
#define GUARD_BUFFERED_LATER GUARD_LOCAL
#endif

/* What it makes is the argument of this name; by this function. */
#define STRETTO_MADE_Cart_create comm_cart, stretto_cart_create
#define STRETTO_MADE_Cart_sub newcomm, PMPI_Cart_sub
#define STRETTO_MADE_Comm_create newcomm, PMPI_Comm_create
#define STRETTO_MADE_Comm_create_group newcomm, PMPI_Comm_create_group
#define STRETTO_MADE_Comm_dup newcomm, PMPI_Comm_dup
#define STRETTO_MADE_Comm_dup_with_info newcomm, PMPI_Comm_dup_with_info
#define STRETTO_MADE_Comm_split newcomm, PMPI_Comm_split
#define STRETTO_MADE_Comm_split_type newcomm, PMPI_Comm_split_type
#define STRETTO_MADE_Dist_graph_create comm_dist_graph, stretto_dist_graph_create
#define STRETTO_MADE_Dist_graph_create_adjacent comm_dist_graph, stretto_dist_graph_create_adjacent
#define STRETTO_MADE_Graph_create comm_graph, stretto_graph_create
#define STRETTO_MADE_Intercomm_merge newintracomm, PMPI_Intercomm_merge
#define GUARD_MAKES(name, parameters, arguments)                                                   \
    GUARD_MADE(name, parameters, arguments, STRETTO_MADE_##name)
#define GUARD_MADE(...) GUARD_MADE_BY(__VA_ARGS__)
#define GUARD_MADE_BY(name, parameters, arguments, made, maker)                                    \
    int MPI_##name parameters {                                                                    \
        int rc = STRETTO_NATIVE(maker arguments);                                                  \
        if (rc == MPI_SUCCESS)                                                                     \
            stretto_comm_made(*made);                                                              \
        return rc;                                                                                 \
    }                                                                                              \
    STRETTO_FORTRAN_ENTRY(int, name, parameters, arguments)

#if defined(STRETTO_ABI_OPENMPI) && !defined(STRETTO_OPENMPI5)
#define GUARD_TEST_4 GUARD_LOCAL
#define GUARD_OPAQUE_4 GUARD_LOCAL
#else
#define GUARD_TEST_4 GUARD_TEST
#define GUARD_OPAQUE_4 GUARD_OPAQUE
#endif
#ifdef STRETTO_ABI_OPENMPI
#define GUARD_OPAQUE_5 GUARD_LOCAL
#define L(kind, name, parameters, arguments)
#else
#define GUARD_OPAQUE_5 GUARD_OPAQUE
#endif

#define GUARD_(kind, name, parameters, arguments) GUARD_##kind(name, parameters, arguments)
#define F(kind, name, parameters, arguments) GUARD_(kind, name, parameters, arguments)
#define R(kind, type, name, parameters, arguments) STRETTO_ONE_OF(kind, name)
/* What returns no int never waits. */
#define STRETTO_ONE_OF(kind, name) STRETTO_PLAIN_##kind(name)
#define STRETTO_PLAIN_LOCAL(name)
#define STRETTO_PLAIN_ELSEWHERE(name)
#include "abi/functions.def"
