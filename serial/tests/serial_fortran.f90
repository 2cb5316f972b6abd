! What a Fortran program of one rank sees, printed: the same under a real MPI and libstretto-serial.
program serial_fortran
  use mpi
  implicit none
  integer :: ierr, rank, ranks, request(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  integer :: n, op, column, i, length, info, grid, source, target, indices(2), file
  integer :: a(4), b(4), m(3, 4)
  logical :: flag, periods(2)
  integer(kind=MPI_ADDRESS_KIND) :: lb, extent
  integer(kind=MPI_OFFSET_KIND) :: where
  double precision :: x(2), y(2)
  complex :: z, w
  character(len=20) :: text
  character(len=200) :: name
  external twice

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  print '(a,2i4)', 'init', rank, ranks
  a = [1, 2, 3, 4]
  b = 0
  call MPI_Irecv(b, 4, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, request(1), ierr)
  call MPI_Isend(a, 3, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, request(2), ierr)
  call MPI_Waitall(2, request, statuses, ierr)
  call MPI_Get_count(statuses(:, 1), MPI_INTEGER, n, ierr)
  print '(a,7i4)', 'message', b, n, statuses(MPI_SOURCE, 1), statuses(MPI_TAG, 1)
  call MPI_Sendrecv(a, 4, MPI_INTEGER, 0, 1, b, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  call MPI_Irecv(b(1), 1, MPI_INTEGER, 0, 6, MPI_COMM_WORLD, request(1), ierr)
  call MPI_Send(a(4), 1, MPI_INTEGER, 0, 6, MPI_COMM_WORLD, ierr)
  call MPI_Waitsome(1, request, n, indices, MPI_STATUSES_IGNORE, ierr)
  print '(a,6i4)', 'waitsome', b, n, indices(1)
  x = [1.5d0, -2d0]
  call MPI_Allreduce(x, y, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, x, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  print '(a,4f6.2)', 'allreduce', x, y
  z = (1, 2)
  w = (3, 4)
  call MPI_Reduce_local(z, w, 1, MPI_COMPLEX, MPI_PROD, ierr)
  print '(a,2f6.2)', 'complex', w
  call MPI_Op_create(twice, .true., op, ierr)
  call MPI_Reduce_local(a, b, 4, MPI_INTEGER, op, ierr)
  call MPI_Op_free(op, ierr)
  print '(a,4i4)', 'user op', b
  m = reshape([(i, i=1, 12)], [3, 4])
  call MPI_Type_vector(4, 1, 3, MPI_INTEGER, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Type_get_extent(column, lb, extent, ierr)
  call MPI_Sendrecv(m(2, 1), 1, column, 0, 1, b, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, status, ierr)
  print '(a,6i4)', 'row', b, lb, extent
  call MPI_Type_free(column, ierr)
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, [1, 1], periods, .false., grid, ierr)
  call MPI_Cart_shift(grid, 0, 1, source, target, ierr)
  print '(a,2i4)', 'shift', source, target
  call MPI_Cart_shift(grid, 1, 1, source, target, ierr)
  print '(a,2l2)', 'shift', source == MPI_PROC_NULL, target == MPI_PROC_NULL
  call MPI_Comm_set_name(grid, 'a grid', ierr)
  call MPI_Comm_get_name(grid, text, length, ierr)
  print '(3a,i4)', 'name [', text, ']', length
  call MPI_Comm_free(grid, ierr)
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'colour  ', 'red', ierr)
  call MPI_Info_get(info, 'colour', 10, text, flag, ierr)
  print '(3a,l2)', 'info [', text(1:5), ']', flag
  call MPI_Info_free(info, ierr)
  call get_command_argument(1, name)
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
  where = 8
  call MPI_File_write_at(file, where, a, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call MPI_File_get_size(file, where, ierr)
  call MPI_File_seek(file, 12_MPI_OFFSET_KIND, MPI_SEEK_SET, ierr)
  call MPI_File_read(file, b, 4, MPI_INTEGER, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  print '(a,5i4)', 'file', where, n, b(1:3)
  call MPI_File_close(file, ierr)
  call MPI_File_delete(name, MPI_INFO_NULL, ierr)
  call some_of_three
  print '(a,l2)', 'time', MPI_Wtime() >= 0d0
  call MPI_Finalize(ierr)
end program serial_fortran

subroutine twice(in, inout, n, type)
  implicit none
  integer :: n, type, in(n), inout(n)
  inout = inout + 2 * in
end subroutine twice

! Two of three requests are complete: their indices count from 1, whatever outcount held before.
subroutine some_of_three
  use mpi
  implicit none
  integer :: requests(3), indices(3), outcount, k, values(3), ierr, size
  character :: room(4096)
  do outcount = 0, 3, 3
    do k = 1, 3
      call MPI_Irecv(values(k), 1, MPI_INTEGER, 0, k, MPI_COMM_SELF, requests(k), ierr)
    end do
    call MPI_Send(10, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierr)
    call MPI_Send(30, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, ierr)
    indices = -7
    call wait_for_some(outcount)
  end do
  call MPI_Buffer_attach(room, 4096, ierr)
  call MPI_Buffer_detach(room, size, ierr)
  print '(a,i6)', 'buffer', size
contains
  subroutine wait_for_some(before)
    integer, intent(in) :: before
    integer :: n
    n = before
    call MPI_Waitsome(3, requests, n, indices, MPI_STATUSES_IGNORE, ierr)
    print '(a,4i4)', 'some', n, indices(1), indices(2), values(1)
    call MPI_Send(20, 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, ierr)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
  end subroutine wait_for_some
end subroutine some_of_three
