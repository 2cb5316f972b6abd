/* A tool that looks at what takes requests, and at nothing that makes one: to be preloaded in front
 * of Stretto, whose requests its PMPI_* calls are given. Prints how many calls it saw. */
#include <mpi.h>

#include <stdio.h>

static long seen;

__attribute__((destructor)) static void tell(void) {
    if (seen)
        fprintf(stderr, "request_tool: %ld\n", seen);
}

#define HAND_ON(name, parameters, arguments)                                                       \
    int MPI_##name parameters {                                                                    \
        seen++;                                                                                    \
        return PMPI_##name arguments;                                                              \
    }

HAND_ON(Wait, (MPI_Request * r, MPI_Status *s), (r, s))
HAND_ON(Test, (MPI_Request * r, int *flag, MPI_Status *s), (r, flag, s))
HAND_ON(Waitall, (int n, MPI_Request *r, MPI_Status *s), (n, r, s))
HAND_ON(Testall, (int n, MPI_Request *r, int *flag, MPI_Status *s), (n, r, flag, s))
HAND_ON(Waitany, (int n, MPI_Request *r, int *i, MPI_Status *s), (n, r, i, s))
HAND_ON(Testany, (int n, MPI_Request *r, int *i, int *flag, MPI_Status *s), (n, r, i, flag, s))
HAND_ON(Waitsome, (int n, MPI_Request *r, int *m, int *i, MPI_Status *s), (n, r, m, i, s))
HAND_ON(Testsome, (int n, MPI_Request *r, int *m, int *i, MPI_Status *s), (n, r, m, i, s))
HAND_ON(Request_get_status, (MPI_Request r, int *flag, MPI_Status *s), (r, flag, s))
HAND_ON(Request_free, (MPI_Request * r), (r))
HAND_ON(Cancel, (MPI_Request * r), (r))
HAND_ON(Start, (MPI_Request * r), (r))
HAND_ON(Startall, (int n, MPI_Request *r), (n, r))
