! Known numbers of known calls from Fortran, for the tests of the recorder.
program record_fortran
    use mpi
    implicit none
    integer :: rank, size, ierr, i, half, request
    integer :: status(MPI_STATUS_SIZE)
    double precision :: x(8), y(8)
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    x = 1
    do i = 1, 100
        call MPI_Allreduce(x, y, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    end do
    call MPI_Allreduce(MPI_IN_PLACE, y, 8, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    do i = 1, 20
        call MPI_Bcast(x, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    end do
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), 0, half, ierr)
    do i = 1, 5
        call MPI_Barrier(half, ierr)
    end do
    call MPI_Comm_free(half, ierr)
    if (rank == 0) call MPI_Send(x, 2, MPI_DOUBLE_PRECISION, 1, 9, MPI_COMM_WORLD, ierr)
    if (rank == 1) call MPI_Recv(x, 8, MPI_DOUBLE_PRECISION, 0, 9, MPI_COMM_WORLD, status, ierr)
    call MPI_Iallreduce(x, y, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Finalize(ierr)
end program
