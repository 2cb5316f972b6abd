! An ordinary program with `use mpi_f08`, without the optional ierror.
program loading
  use mpi_f08
  implicit none
  integer, parameter :: n = 100
  integer :: rank, nranks, i, t, provided
  type(MPI_Comm) :: half
  double precision :: x(n), y(n), z(64*n)
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, half)
  do t = 1, 6
    x = [(dble(i + rank*t), i = 1, n)]
    call MPI_Allreduce(x, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE_PRECISION, MPI_MAX, half)
    call MPI_Bcast(y, n, MPI_DOUBLE_PRECISION, nranks - 1, MPI_COMM_WORLD)
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
    else
      call MPI_Reduce(y, z, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
    end if
    call MPI_Allgather(x, n, MPI_DOUBLE_PRECISION, z, n, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 0) print *, t, x(n), y(1), y(n), z(n*nranks)
  end do
  call MPI_Comm_free(half)
  if (half /= MPI_COMM_NULL) stop 2
  call MPI_Finalize()
end program
