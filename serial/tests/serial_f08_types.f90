! What the module mpi_f08 of the serial library has and Open MPI 4's has not: arrays of handles compared, statuses of
! the old form, handles in class(*), the module mpi in the same file, and buffers whose address is kept: where their
! interfaces do not tell, gfortran -O2 leaves out what is stored there.
module holder
  use mpi_f08
  implicit none
  type :: domain
    type(MPI_Comm) :: comm = MPI_COMM_NULL
    type(MPI_Request), allocatable :: requests(:)
  contains
    procedure :: prepare
  end type domain
contains
  subroutine prepare(self, content)
    class(domain), intent(inout) :: self
    class(*), allocatable, intent(out) :: content
    allocate (self%requests(3))
    self%requests = MPI_REQUEST_NULL
    self%comm = MPI_COMM_WORLD
    allocate (content, source=self%comm)
  end subroutine prepare
end module holder

subroutine old_sum(comm, x)
  use mpi
  implicit none
  integer :: comm, x(2), status(MPI_STATUS_SIZE), ierr
  call MPI_Allreduce(MPI_IN_PLACE, x, 2, MPI_INTEGER, MPI_SUM, comm, ierr)
  call MPI_Sendrecv(x(2), 1, MPI_INTEGER, 0, 1, x(1), 1, MPI_INTEGER, 0, 1, comm, status, ierr)
end subroutine old_sum

subroutine keep(n, first, second)
  use mpi_f08
  implicit none
  integer :: n, first, second, in(4), out(4)
  type(MPI_Request) :: requests(2)
  in = 0
  call MPI_Send_init(out, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1))
  call MPI_Recv_init(in, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2))
  out = n
  call MPI_Startall(2, requests)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  first = in(1)
  out = n + 1
  call MPI_Startall(2, requests)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  second = in(1)
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))
end subroutine keep

program serial_f08_types
  use holder
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_sizeof
  implicit none
  class(domain), allocatable :: d
  class(*), allocatable :: content
  type(MPI_Status) :: status
  type(MPI_Win) :: win
  integer :: old(MPI_STATUS_SIZE), x(2), z(3, 3)
  call MPI_Init()
  allocate (d)
  call d%prepare(content)
  print '(2l2)', all(d%requests == MPI_REQUEST_NULL), any(d%requests /= MPI_REQUEST_NULL)
  status%MPI_TAG = 5
  call MPI_Status_f082f(status, old)
  old(MPI_SOURCE) = 3
  call MPI_Status_f2f08(old, status)
  print '(3i3)', status%MPI_SOURCE, status%MPI_TAG, old(MPI_TAG)
  x = [1, 2]
  call old_sum(MPI_COMM_WORLD%MPI_VAL, x)
  print '(2i3)', x
  x = 0
  z = 1
  call MPI_Win_create(x, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_fence(0, win)
  call MPI_Accumulate(z(3:2:-1, 2), 2, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, win)
  call MPI_Win_fence(0, win)
  print '(2i3)', x
  call MPI_Win_free(win)
  print '(i3)', c_sizeof(status) / c_sizeof(x(1))
  call keep(7, x(1), x(2))
  print '(2i3)', x
  call MPI_Finalize()
end program serial_f08_types
