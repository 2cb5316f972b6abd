! The module mpi_f08 with one rank: the same lines under a real MPI and the serial library.
! Argument 1: a file to be made.
module callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer :: handled = 0, copies = 0, deletions = 0
contains
  subroutine larger(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = inout + 10 * in + merge(100, 0, datatype == MPI_INTEGER)
  end subroutine larger
  subroutine handle(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    handled = handled + merge(1, 100, comm == MPI_COMM_SELF .and. error_code /= MPI_SUCCESS)
  end subroutine handle
  subroutine handle_win(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    handled = handled + merge(10, 1000, win /= MPI_WIN_NULL .and. error_code /= MPI_SUCCESS)
  end subroutine handle_win
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy
  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + int(attribute_val)
    ierror = MPI_SUCCESS
  end subroutine delete
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, flag=.false.)
    status%MPI_SOURCE = 0
    status%MPI_TAG = 12
    ierror = MPI_SUCCESS
  end subroutine query
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    deletions = deletions + 1000
    ierror = MPI_SUCCESS
  end subroutine release
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine cancel
end module callbacks

subroutine messages
  use mpi_f08
  implicit none
  type :: particle
    sequence
    double precision :: x(3)
    integer :: charge
  end type particle
  type(MPI_Status) :: status, statuses(3)
  type(MPI_Request) :: request
  type(MPI_Request), allocatable :: requests(:)
  type(MPI_Message) :: message
  type(particle) :: p, q
  integer :: a(3, 4), b(12), i, n, ierr, done, indices(3)
  double precision :: x, y
  character(len=5) :: word
  complex :: c
  logical :: flag
  a = reshape([(i, i=1, 12)], [3, 4])
  b = 0
  call MPI_Irecv(b, 12, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request)
  call MPI_Send(a, size(a), MPI_INTEGER, 0, 5, MPI_COMM_WORLD)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  print '(a,12i3,3i4,l2)', 'matrix', b, n, status%MPI_SOURCE, status%MPI_TAG, request == MPI_REQUEST_NULL
  call MPI_Irecv(source=0, tag=6, comm=MPI_COMM_SELF, buf=b, count=4, datatype=MPI_INTEGER, request=request, ierror=ierr)
  call MPI_Send(a(2, :), 4, MPI_INTEGER, dest=0, tag=6, comm=MPI_COMM_SELF, ierror=ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  print '(a,4i3,i4)', 'row', b(:4), ierr
  x = 2.5d0
  call MPI_Sendrecv(x, 1, MPI_DOUBLE_PRECISION, 0, 1, y, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, status=MPI_STATUS_IGNORE)
  call MPI_Sendrecv('hello', 5, MPI_CHARACTER, 0, 1, word, 5, MPI_CHARACTER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  call MPI_Sendrecv(cmplx(1, 2), 1, MPI_COMPLEX, 0, 1, c, 1, MPI_COMPLEX, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  p = particle([1d0, 2d0, 3d0], -1)
  call MPI_Sendrecv(p, 28, MPI_BYTE, 0, 1, q, 28, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  print '(a,f5.1,1x,a,2f5.1,3f5.1,i3)', 'any type', y, word, c, q%x, q%charge
  allocate (requests(3))
  b = 0
  do i = 1, 3
    call MPI_Irecv(b(4 * i - 3), 4, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i))
  end do
  do i = 3, 1, -1
    call MPI_Send(a(1, i), i, MPI_INTEGER, 0, i, MPI_COMM_SELF)
  end do
  call MPI_Waitall(3, requests, statuses)
  do i = 1, 3
    call MPI_Get_elements(statuses(i), MPI_INTEGER, indices(i))
  end do
  print '(a,12i3,2x,6i3)', 'waitall', b, statuses%MPI_TAG, indices
  do i = 1, 3
    call MPI_Irecv(b(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i))
  end do
  call MPI_Send(77, 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF)
  call MPI_Waitany(3, requests, i, status)
  print '(a,i3,2i4,3l2)', 'waitany', i, b(2), status%MPI_TAG, requests(1) /= MPI_REQUEST_NULL, requests(2) /= MPI_REQUEST_NULL
  call MPI_Send(78, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
  call MPI_Send(79, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
  call MPI_Waitsome(3, requests, done, indices, MPI_STATUSES_IGNORE)
  if (done < 2) call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
  call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE)
  print '(a,3i3,l2)', 'waitsome', b(:3), flag
  call MPI_Isend(a, 2, MPI_INTEGER, 0, 4, MPI_COMM_SELF, request)
  call MPI_Mprobe(0, 4, MPI_COMM_SELF, message, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call MPI_Mrecv(b, n, MPI_INTEGER, message, MPI_STATUS_IGNORE)
  call MPI_Test(request, flag, MPI_STATUS_IGNORE)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Iprobe(0, 4, MPI_COMM_SELF, flag, status)
  print '(a,3i3,2l2)', 'probed', n, b(:2), message == MPI_MESSAGE_NULL, flag
end subroutine messages

subroutine persistent
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr
  implicit none
  type(MPI_Request) :: requests(2)
  type(c_ptr) :: address
  integer :: out(4), in(4), i, n
  integer(MPI_ADDRESS_KIND) :: known
  character :: room(2000)
  call MPI_Recv_init(in, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1))
  call MPI_Send_init(out, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2))
  do i = 1, 2
    out = [1, 2, 3, 4] * i
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    print '(a,4i3,l2)', 'persistent', in, requests(1) == requests(2)
  end do
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))
  call MPI_Buffer_attach(room, size(room))
  call MPI_Bsend(out, 4, MPI_INTEGER, 0, 2, MPI_COMM_SELF)
  call MPI_Recv(in, 4, MPI_INTEGER, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  call MPI_Buffer_detach(address, n)
  call MPI_Get_address(room, known)
  print '(a,i5,l2)', 'buffer', n, transfer(address, known) == known
end subroutine persistent

subroutine collectives
  use mpi_f08
  use callbacks, only: larger
  implicit none
  type(MPI_Op) :: op
  type(MPI_Request) :: request
  integer :: a(3), b(3), counts(1), zero(1), ierr
  double precision :: x
  logical :: commutes
  a = [1, 2, 3]
  call MPI_Bcast(a, 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, a, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Reduce(a, b, 3, MPI_INTEGER, MPI_MAX, root=0, comm=MPI_COMM_WORLD, ierror=ierr)
  print '(a,6i3)', 'reduced', a, b
  counts = 3
  zero = 0
  b = 0
  call MPI_Gatherv(a, 3, MPI_INTEGER, b, counts, zero, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call MPI_Alltoallw(a, counts, zero, [MPI_INTEGER], b, counts, zero, [MPI_INTEGER], MPI_COMM_WORLD)
  call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 3, MPI_INTEGER, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  x = 1.5d0
  call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_PROD, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Barrier(MPI_COMM_WORLD)
  print '(a,3i3,f5.1)', 'gathered', b, x
  call MPI_Op_create(larger, .true., op)
  call MPI_Op_commutative(op, commutes)
  call MPI_Reduce_local(a, b, 3, MPI_INTEGER, op)
  print '(a,3i5,l2)', 'own operation', b, commutes
  call MPI_Op_free(op)
  print '(a,2l2)', 'freed', op == MPI_OP_NULL, op /= MPI_OP_NULL
end subroutine collectives

subroutine types
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: type, inner(1), made
  integer :: ni, na, nt, combiner, ints(3), a(3), b(4), size, position, length
  integer(MPI_ADDRESS_KIND) :: at(2), aints(1), wide, lb, extent
  integer(MPI_COUNT_KIND) :: count
  double precision :: x(2)
  character(len=8) :: packed
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, type)
  call MPI_Type_get_envelope(type, ni, na, nt, combiner)
  call MPI_Type_get_contents(type, 3, 1, 1, ints, aints, inner)
  print '(a,3i3,l2,3i3,l2)', 'contents', ni, na, nt, combiner == MPI_COMBINER_VECTOR, ints, inner(1) == MPI_INTEGER
  call MPI_Type_create_resized(type, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, made)
  call MPI_Type_get_extent(made, lb, extent)
  call MPI_Type_size_x(made, count)
  call MPI_Type_set_name(made, 'every second')
  call MPI_Type_get_name(made, name, length)
  print '(a,3i4,1x,a)', 'resized', lb, extent, count, name(:length)
  call MPI_Type_free(made)
  call MPI_Type_free(type)
  a = [1, 2, 3]
  call MPI_Get_address(a, at(1))
  call MPI_Get_address(a(3), at(2))
  print '(a,2i3)', 'addresses', MPI_Aint_diff(at(2), at(1)), MPI_Aint_diff(MPI_Aint_add(at(1), 8_MPI_ADDRESS_KIND), at(2))
  call MPI_Type_create_struct(2, [1, 1], at, [MPI_INTEGER, MPI_INTEGER], type)
  call MPI_Type_commit(type)
  b = 0
  call MPI_Sendrecv(MPI_BOTTOM, 1, type, 0, 1, b, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  print '(a,4i3,l2)', 'from the bottom', b, type == MPI_DATATYPE_NULL
  call MPI_Type_free(type)
  print '(a,l2)', 'freed', type == MPI_DATATYPE_NULL
  call MPI_Sizeof(x, ni)
  call MPI_Sizeof(b(1), na)
  call MPI_Type_size(MPI_DOUBLE_PRECISION, size)
  print '(a,3i3)', 'sizes', size, ni, na
  wide = 0
  call MPI_Pack_external('external32', a, 2, MPI_INTEGER, packed, 8_MPI_ADDRESS_KIND, wide)
  print '(a,9i3)', 'external32', wide, (iachar(packed(ni:ni)), ni=1, 8)
  position = 0
  call MPI_Pack(a, 2, MPI_INTEGER, packed, 8, position, MPI_COMM_SELF)
  size = position
  position = 0
  call MPI_Unpack(packed, size, position, b(3), 2, MPI_INTEGER, MPI_COMM_SELF)
  print '(a,5i3)', 'packed', b, position
end subroutine types

subroutine communicators
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm, sub, idup
  type(MPI_Group) :: group, some
  type(MPI_Request) :: request
  type(MPI_Info) :: info
  integer :: n, ranks(1), result, dims(2), coords(2), source, dest, rank, size, length
  logical :: periods(2), got(2), flag
  character(len=10) :: value
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(comm=MPI_COMM_WORLD, size=size)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_compare(comm, MPI_COMM_WORLD, result)
  call MPI_Comm_set_name(comm, 'twin  ')
  call MPI_Comm_get_name(comm, name, length)
  print '(a,2i3,3l2,1x,3a)', 'dup', rank, size, result == MPI_CONGRUENT, comm == MPI_COMM_WORLD, comm /= MPI_COMM_WORLD, '[', &
    name(:length), ']'
  call MPI_Comm_group(comm, group)
  call MPI_Group_incl(group, 1, [0], some)
  call MPI_Group_translate_ranks(group, 1, [0], some, ranks)
  call MPI_Group_excl(group, 1, [0], some)
  print '(a,i3,2l2)', 'groups', ranks, some == MPI_GROUP_EMPTY, group /= MPI_GROUP_NULL
  call MPI_Comm_split(comm, 1, 0, sub)
  call MPI_Comm_idup(sub, idup, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Comm_size(idup, n)
  call MPI_Comm_free(sub)
  print '(a,i3,l2)', 'split', n, sub == MPI_COMM_NULL
  call MPI_Comm_split(comm, MPI_UNDEFINED, 0, sub)
  print '(a,l2)', 'none', sub == MPI_COMM_NULL
  dims = 0
  call MPI_Dims_create(1, 2, dims)
  call MPI_Cart_create(comm, 2, dims, [.true., .false.], .false., sub)
  call MPI_Cart_get(sub, 2, dims, periods, coords)
  call MPI_Cart_shift(sub, 0, 1, source, dest)
  call MPI_Cart_shift(sub, 1, 1, rank_source=rank, rank_dest=n)
  print '(a,2i3,2l2,2i3,2i3,2l2)', 'grid', dims, periods, coords, source, dest, rank == MPI_PROC_NULL, n == MPI_PROC_NULL
  call MPI_Cart_sub(sub, [.true., .false.], idup)
  call MPI_Cartdim_get(idup, n)
  call MPI_Topo_test(idup, result)
  print '(a,i3,l2)', 'line', n, result == MPI_CART
  call MPI_Dist_graph_create_adjacent(comm, 1, [0], MPI_UNWEIGHTED, 1, [0], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., sub)
  call MPI_Dist_graph_neighbors_count(sub, source, dest, flag)
  call MPI_Dist_graph_neighbors(sub, 1, coords, MPI_UNWEIGHTED, 1, dims, MPI_UNWEIGHTED)
  print '(a,2i3,l2,2i3)', 'graph', source, dest, flag, coords(1), dims(1)
  call MPI_Neighbor_allgather(7, 1, MPI_INTEGER, n, 1, MPI_INTEGER, sub)
  print '(a,i3)', 'neighbour', n
  call MPI_Info_create(info)
  call MPI_Info_set(info, '  key ', '  a value  ')
  call MPI_Info_get(info, ' key', 10, value, flag)
  call MPI_Info_get_valuelen(info, 'key', length, got(1))
  call MPI_Info_get(info, 'other', 10, name, got(2))
  print '(3a,i3,3l2)', 'info [', value, ']', length, flag, got
  call MPI_Info_free(info)
  print '(a,l2)', 'freed', info == MPI_INFO_NULL
end subroutine communicators

subroutine attributes
  use mpi_f08
  use callbacks
  implicit none
  integer :: keyval, keyval2, class, code, length
  integer(MPI_ADDRESS_KIND) :: value
  type(MPI_Comm) :: comm
  type(MPI_Errhandler) :: handler
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  logical :: flag
  character(len=MPI_MAX_ERROR_STRING) :: text
  call MPI_Comm_create_keyval(copy, delete, keyval, 100_MPI_ADDRESS_KIND)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval2, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval2, 9_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  print '(a,l2,i5)', 'copied', flag, value
  call MPI_Comm_get_attr(comm, keyval2, value, flag)
  print '(a,l2,i5)', 'duplicated', flag, value
  call MPI_Comm_free(comm)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
  print '(a,2i5)', 'callbacks', copies, deletions
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval2)
  call MPI_Comm_free_keyval(keyval)
  print '(a,l2)', 'freed', keyval == MPI_KEYVAL_INVALID
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  print '(a,2l2)', 'tag_ub', flag, value >= 32767
  call MPI_Add_error_class(class)
  call MPI_Add_error_code(class, code)
  call MPI_Add_error_string(code, 'the tank is empty')
  call MPI_Error_string(code, text, length)
  print '(3a)', '[', text(:length), ']'
  call MPI_Comm_create_errhandler(handle, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Comm_call_errhandler(MPI_COMM_SELF, code)
  call MPI_Send(0, 1, MPI_INTEGER, 5, 0, MPI_COMM_SELF) ! no such rank
  print '(a,i3,l2)', 'handled', handled, handler == MPI_ERRHANDLER_NULL
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Send(0, 1, MPI_INTEGER, 5, 0, MPI_COMM_SELF, code)
  call MPI_Send(0, 1, MPI_INTEGER, 5, 0, MPI_COMM_SELF)
  call MPI_Error_class(code, class)
  call MPI_Comm_get_errhandler(MPI_COMM_SELF, handler)
  print '(a,2l2)', 'returned', class == MPI_ERR_RANK, handler == MPI_ERRORS_RETURN
  deletions = 0
  call MPI_Grequest_start(query, release, cancel, 6_MPI_ADDRESS_KIND, request)
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, length)
  print '(a,3i5)', 'generalised request', length, status%MPI_TAG, deletions
end subroutine attributes

subroutine windows
  use mpi_f08
  use callbacks, only: handle_win, handled
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  type(c_ptr) :: base
  type(MPI_Win) :: win
  type(MPI_Request) :: request
  type(MPI_Errhandler) :: handler
  integer, pointer :: memory(:)
  integer :: before, length, got, unit
  integer(MPI_ADDRESS_KIND) :: value, size
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call c_f_pointer(base, memory, [4])
  memory = [10, 20, 30, 40]
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
  call MPI_Win_set_name(win, 'store') ! of which Open MPI 4 keeps the first letter
  call MPI_Win_get_name(win, name, length)
  print '(a,l2,i4,1x,a,i3)', 'window', flag, value, name(:1), length
  call MPI_Win_fence(0, win)
  call MPI_Put(77, 1, MPI_INTEGER, 0, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
  call MPI_Win_fence(assert=0, win=win)
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)
  call MPI_Get_accumulate(3, 1, MPI_INTEGER, before, 1, MPI_INTEGER, 0, 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win)
  call MPI_Rget(got, 1, MPI_INTEGER, 0, 3_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Win_unlock(0, win)
  print '(a,6i4)', 'one-sided', memory, before, got
  call MPI_Win_create_errhandler(handle_win, handler)
  call MPI_Win_set_errhandler(win, handler)
  handled = 0
  call MPI_Win_call_errhandler(win, MPI_ERR_OTHER)
  print '(a,i4)', 'handled', handled
  call MPI_Win_free(win)
  call MPI_Win_allocate_shared(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, base, win)
  call MPI_Win_shared_query(win, 0, size, unit, base)
  call c_f_pointer(base, memory, [2])
  memory = 1
  print '(a,2i3,l2)', 'shared', size, unit, win == MPI_WIN_NULL
  call MPI_Win_free(win)
  call MPI_Alloc_mem(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, base)
  call c_f_pointer(base, memory, [2])
  memory = 3
  print '(a,2i3,l2)', 'allocated', memory, win == MPI_WIN_NULL
  call MPI_Free_mem(memory)
end subroutine windows

subroutine files(name)
  use mpi_f08
  implicit none
  character(len=*) :: name
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Datatype) :: etype, filetype
  type(MPI_Request) :: request
  integer :: a(3), b(3), n
  integer(MPI_OFFSET_KIND) :: size, displacement
  character(len=MPI_MAX_DATAREP_STRING) :: representation
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
  a = [4, 5, 6]
  b = 0
  call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, a, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
  call MPI_File_set_view(file, 4_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
  call MPI_File_read_all(file, b, 2, MPI_INTEGER, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call MPI_File_get_size(file, size)
  call MPI_File_get_view(file, displacement, etype, filetype, representation)
  print '(a,6i3,1x,a,l2)', 'file', b, n, size, displacement, trim(representation), etype == MPI_INTEGER
  call MPI_File_iread_at(file, 1_MPI_OFFSET_KIND, b(3), 1, MPI_INTEGER, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_File_write_all_begin(file, a, 1, MPI_INTEGER)
  call MPI_File_write_all_end(file, a, status)
  call MPI_File_get_size(file, size)
  print '(a,3i3,i4)', 'file', b, size
  call MPI_File_close(file)
  print '(a,l2)', 'closed', file == MPI_FILE_NULL
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file)
  call MPI_File_write(file, a, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
  call MPI_File_close(file)
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY + MPI_MODE_SEQUENTIAL + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
  call MPI_File_read_shared(file, b, 1, MPI_INTEGER, MPI_STATUS_IGNORE)
  call MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
  call MPI_File_read_ordered(file, b(2), 1, MPI_INTEGER, MPI_STATUS_IGNORE)
  call MPI_File_close(file)
  print '(a,2i3)', 'in sequence', b(:2)
end subroutine files

program serial_f08
  use mpi_f08
  implicit none
  integer :: provided, version, subversion, ierr
  logical :: flags(3)
  character(len=500) :: name
  call MPI_Initialized(flags(1))
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call MPI_Initialized(flags(2))
  call MPI_Finalized(flags(3))
  call MPI_Get_version(version, subversion)
  print '(a,3l2,l2,2i2,2l2)', 'init', flags, provided >= MPI_THREAD_FUNNELED, version, subversion, MPI_Wtime() >= 0, MPI_Wtick() > 0
  call MPI_Pcontrol(1)
  call messages
  call persistent
  call collectives
  call types
  call communicators
  call attributes
  call windows
  call get_command_argument(1, name)
  call files(trim(name))
  call MPI_Finalize()
end program serial_f08
