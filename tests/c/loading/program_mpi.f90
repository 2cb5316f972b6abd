! An ordinary program with `use mpi`.
program loading
  use mpi
  implicit none
  integer, parameter :: n = 100
  integer :: ierr, rank, nranks, i, t, half, provided
  double precision :: x(n), y(n), z(64*n)
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, half, ierr)
  do t = 1, 6
    x = [(dble(i + rank*t), i = 1, n)]
    call MPI_Allreduce(x, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (ierr /= MPI_SUCCESS) stop 1
    call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE_PRECISION, MPI_MAX, half, ierr)
    call MPI_Bcast(y, n, MPI_DOUBLE_PRECISION, nranks - 1, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Reduce(y, z, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    end if
    call MPI_Allgather(x, n, MPI_DOUBLE_PRECISION, z, n, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (rank == 0) print *, t, x(n), y(1), y(n), z(n*nranks)
  end do
  call MPI_Comm_free(half, ierr)
  if (half /= MPI_COMM_NULL) stop 2
  call MPI_Finalize(ierr)
end program
