/* The smallest preloaded library: counts what reaches it and passes it on. Shows, without Stretto's
 * engine, that src/abi meets every call once, with the arguments that a C program would give. */
#include "abi/fortran.h"

#include <stdio.h>

static int allreduce, in_place, world, bcast, reduce, allgather, barrier, init, comm_free, large;

int MPI_Init(int *argc, char ***argv) {
    init++;
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    init++;
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
    stretto_host_load();
    allreduce++;
    in_place += sendbuf == MPI_IN_PLACE;
    world += comm == MPI_COMM_WORLD;
    return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

#ifndef STRETTO_ABI_OPENMPI
int MPI_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                    MPI_Op op, MPI_Comm comm) {
    large++;
    in_place += sendbuf == MPI_IN_PLACE;
    world += comm == MPI_COMM_WORLD;
    return PMPI_Allreduce_c(sendbuf, recvbuf, count, datatype, op, comm);
}
#endif

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    bcast++;
    return PMPI_Bcast(buffer, count, datatype, root, comm);
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
               int root, MPI_Comm comm) {
    reduce++;
    in_place += sendbuf == MPI_IN_PLACE;
    return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
    allgather++;
    return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

int MPI_Barrier(MPI_Comm comm) {
    barrier++;
    return PMPI_Barrier(comm);
}

int MPI_Comm_free(MPI_Comm *comm) {
    comm_free++;
    return PMPI_Comm_free(comm);
}

int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr,
                "probe: init %d allreduce %d large %d in_place %d world %d bcast %d reduce %d "
                "allgather %d barrier %d comm_free %d host %s\n",
                init, allreduce, large, in_place, world, bcast, reduce, allgather, barrier,
                comm_free, stretto_host_path());
    return PMPI_Finalize();
}

#define STRETTO_FORTRAN_Allgather ~, 1
#define STRETTO_FORTRAN_Allreduce ~, 1
#ifndef STRETTO_ABI_OPENMPI
#define STRETTO_FORTRAN_Allreduce_c ~, 1
#endif
#define STRETTO_FORTRAN_Barrier ~, 1
#define STRETTO_FORTRAN_Bcast ~, 1
#define STRETTO_FORTRAN_Comm_free ~, 1
#define STRETTO_FORTRAN_Finalize ~, 1
#define STRETTO_FORTRAN_Init ~, 1
#define STRETTO_FORTRAN_Init_thread ~, 1
#define STRETTO_FORTRAN_Reduce ~, 1
#include "abi/fortran_entries.h"
