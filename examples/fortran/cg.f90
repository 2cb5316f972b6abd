! Conjugate gradients for the Poisson equation on a line, with mpi_f08.
!
!     mpifort -O2 cg.f90 -o cg && mpirun -n 2 ./cg [CELLS]
!
! Each rank holds a stretch of the line. An iteration exchanges one value with each neighbour and
! forms two dot products, each an MPI_Allreduce of 8 bytes with MPI_IN_PLACE: on many ranks this is
! where the time goes. Prints the iterations and the solution's sum, in hexadecimal, so that two
! runs can be compared to the last bit.
program cg
  use mpi_f08
  use iso_fortran_env, only: real64, int64
  implicit none
  integer :: rank, nranks, cells, mine, left, right, iteration, status
  real(real64), allocatable :: x(:), r(:), p(:), q(:)
  real(real64) :: old, new, alpha, first, start, seconds, total
  character(32) :: word

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks)
  cells = 2000
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *, iostat=status) cells
    if (status /= 0 .or. cells < nranks) then
      if (rank == 0) print '(a)', 'cg: CELLS must be a number, at least one for each rank'
      call MPI_Abort(MPI_COMM_WORLD, 2)
    end if
  end if
  mine = (rank + 1) * cells / nranks - rank * cells / nranks
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < nranks)
  allocate (x(mine), r(mine), q(mine), p(0:mine + 1))
  x = 0
  r = 1
  p = 0
  p(1:mine) = r
  old = dot(r, r)
  first = old
  iteration = 0
  start = MPI_Wtime()
  do while (old > 1e-20_real64 * first .and. iteration < 10 * cells)
    call MPI_Sendrecv(p(1), 1, MPI_DOUBLE_PRECISION, left, 0, p(mine + 1), 1, &
                      MPI_DOUBLE_PRECISION, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(p(mine), 1, MPI_DOUBLE_PRECISION, right, 1, p(0), 1, &
                      MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    q = 2 * p(1:mine) - p(0:mine - 1) - p(2:mine + 1)
    alpha = old / dot(p(1:mine), q)
    x = x + alpha * p(1:mine)
    r = r - alpha * q
    new = dot(r, r)
    p(1:mine) = r + new / old * p(1:mine)
    old = new
    iteration = iteration + 1
  end do
  seconds = MPI_Wtime() - start
  call MPI_Reduce(sum(x), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) then
    print '(a, i0, a, z16.16)', 'iterations: ', iteration, '  sum: ', transfer(total, 0_int64)
    print '(a, f0.1)', 'iterations per second: ', iteration / max(seconds, 1e-9_real64)
  end if
  call MPI_Finalize()

contains

  real(real64) function dot(a, b)
    real(real64), intent(in) :: a(:), b(:)
    dot = dot_product(a, b)
    call MPI_Allreduce(MPI_IN_PLACE, dot, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function dot
end program cg
