/* Another tool by the profiling interface: wraps MPI_Allreduce in C and goes on to PMPI_Allreduce.
 */
#include <mpi.h>
#include <stdio.h>

static int calls;

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
    calls++;
    return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

__attribute__((destructor)) static void report(void) {
    if (calls)
        fprintf(stderr, "tool: allreduce %d\n", calls);
}
