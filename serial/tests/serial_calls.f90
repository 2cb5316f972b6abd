! The Fortran forms that few programs use, with one rank, by names taken from the module one by one:
! the same lines under a real MPI and the serial library. Argument 1: a file to be made.
module callbacks
  use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS, MPI_STATUS_SIZE
  implicit none
  integer :: handled = 0, copies = 0, deletions = 0
contains
  subroutine handle(comm, code)
    integer :: comm, code
    handled = handled + 1
  end subroutine handle
  subroutine copy(comm, keyval, extra, in, out, flag, ierr)
    integer :: comm, keyval, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    copies = copies + 1
    out = in + extra
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine copy
  subroutine delete(comm, keyval, value, extra, ierr)
    integer :: comm, keyval, ierr
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + int(value)
    ierr = MPI_SUCCESS
  end subroutine delete
  subroutine old_delete(comm, keyval, value, extra, ierr)
    integer :: comm, keyval, value, extra, ierr
    deletions = deletions + value * extra
    ierr = MPI_SUCCESS
  end subroutine old_delete
  subroutine query(extra, status, ierr)
    use mpi, only: MPI_Status_set_elements, MPI_Status_set_cancelled, MPI_INTEGER, MPI_SOURCE, MPI_TAG
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierr
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra), ierr)
    call MPI_Status_set_cancelled(status, .false., ierr)
    status(MPI_SOURCE) = 0
    status(MPI_TAG) = 12
    ierr = MPI_SUCCESS
  end subroutine query
  subroutine release(extra, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    deletions = deletions + 1000
    ierr = MPI_SUCCESS
  end subroutine release
  subroutine cancel(extra, complete, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierr
    ierr = MPI_SUCCESS
  end subroutine cancel
end module callbacks

subroutine attributes
  use mpi, only: MPI_ADDRESS_KIND, MPI_COMM_SELF, MPI_COMM_WORLD, MPI_TAG_UB, MPI_NULL_COPY_FN, MPI_COMM_DUP_FN, &
                 MPI_COMM_NULL_DELETE_FN, MPI_Comm_dup, MPI_Comm_free, MPI_Comm_create_keyval, MPI_Comm_free_keyval, &
                 MPI_Comm_set_attr, MPI_Comm_get_attr, MPI_Comm_delete_attr
  use callbacks
  implicit none
  integer :: keyval, keyval2, old, comm, ierr, small
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  external MPI_Keyval_create, MPI_Keyval_free, MPI_Attr_put, MPI_Attr_get, MPI_Attr_delete ! not in every module
  call MPI_Comm_create_keyval(copy, delete, keyval, 100_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval2, 0_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 5_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval2, 9_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierr)
  print '(a,l2,i5)', 'copied', flag, value
  call MPI_Comm_get_attr(comm, keyval2, value, flag, ierr)
  print '(a,l2,i5)', 'duplicated', flag, value
  call MPI_Comm_free(comm, ierr)
  print '(a,2i5)', 'callbacks', copies, deletions
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierr)
  call MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag, ierr)
  print '(a,l2,i5)', 'deleted', flag, deletions
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval2, ierr)
  call MPI_Comm_free_keyval(keyval, ierr)
  call MPI_Comm_free_keyval(keyval2, ierr)
  call MPI_Keyval_create(MPI_NULL_COPY_FN, old_delete, old, 3, ierr)
  call MPI_Attr_put(MPI_COMM_SELF, old, 7, ierr)
  call MPI_Attr_get(MPI_COMM_SELF, old, small, flag, ierr)
  print '(a,l2,i5)', 'old form', flag, small
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
  call MPI_Attr_get(comm, old, small, flag, ierr)
  print '(a,l2)', 'not copied', flag
  call MPI_Comm_free(comm, ierr)
  deletions = 0
  call MPI_Attr_delete(MPI_COMM_SELF, old, ierr)
  call MPI_Keyval_free(old, ierr)
  print '(a,i5)', 'old deletion', deletions
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, small, flag, ierr)
  print '(a,2l2)', 'tag_ub', value >= 32767, value == small
end subroutine attributes

subroutine requests
  use mpi, only: MPI_ADDRESS_KIND, MPI_STATUS_SIZE, MPI_TAG, MPI_INTEGER, MPI_Grequest_start, MPI_Grequest_complete, &
                 MPI_Wait, MPI_Get_count
  use callbacks
  implicit none
  integer :: request, status(MPI_STATUS_SIZE), n, ierr
  deletions = 0
  call MPI_Grequest_start(query, release, cancel, 6_MPI_ADDRESS_KIND, request, ierr)
  call MPI_Grequest_complete(request, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  print '(a,3i5)', 'generalised request', n, status(MPI_TAG), deletions
end subroutine requests

subroutine types
  use mpi, only: MPI_ADDRESS_KIND, MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_COMM_SELF, MPI_COMBINER_VECTOR, MPI_BOTTOM, &
                 MPI_STATUS_IGNORE, MPI_TYPECLASS_REAL, MPI_Aint_add, MPI_Aint_diff, MPI_Get_address, &
                 MPI_Type_create_struct, MPI_Type_commit, MPI_Type_free, MPI_Type_vector, MPI_Type_get_envelope, &
                 MPI_Type_get_contents, MPI_Type_match_size, MPI_Type_size, MPI_Sendrecv, MPI_Sizeof, MPI_Pack_external
  implicit none
  integer :: type, ni, na, nt, combiner, ierr, ints(3), inner(1), size, a(3), b(4)
  integer(kind=MPI_ADDRESS_KIND) :: at(2), aints(1), position
  double precision :: x(2)
  character(len=8) :: packed
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, type, ierr)
  call MPI_Type_get_envelope(type, ni, na, nt, combiner, ierr)
  call MPI_Type_get_contents(type, 3, 1, 1, ints, aints, inner, ierr)
  print '(a,3i3,l2,3i3,l2)', 'contents', ni, na, nt, combiner == MPI_COMBINER_VECTOR, ints, inner(1) == MPI_INTEGER
  call MPI_Type_free(type, ierr)
  a = [1, 2, 3]
  x = 0
  call MPI_Get_address(a, at(1), ierr)
  call MPI_Get_address(a(3), at(2), ierr)
  print '(a,2i3)', 'addresses', MPI_Aint_diff(at(2), at(1)), MPI_Aint_diff(MPI_Aint_add(at(1), 8_MPI_ADDRESS_KIND), at(2))
  call MPI_Type_create_struct(2, [1, 1], at, [MPI_INTEGER, MPI_INTEGER], type, ierr)
  call MPI_Type_commit(type, ierr)
  b = 0
  call MPI_Sendrecv(MPI_BOTTOM, 1, type, 0, 1, b, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  print '(a,4i3)', 'from the bottom', b
  call MPI_Type_free(type, ierr)
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, type, ierr)
  call MPI_Type_size(type, size, ierr)
  call MPI_Sizeof(x, ni, ierr)
  call MPI_Sizeof(b(1), na, ierr)
  print '(a,3i3)', 'sizes', size, ni, na
  position = 0
  call MPI_Pack_external('external32', a, 2, MPI_INTEGER, packed, 8_MPI_ADDRESS_KIND, position, ierr)
  print '(a,9i3)', 'external32', position, (iachar(packed(ni:ni)), ni=1, 8)
end subroutine types

subroutine windows
  use mpi, only: MPI_ADDRESS_KIND, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, MPI_BOTTOM, MPI_SUM, MPI_WIN_SIZE, &
                 MPI_WIN_DISP_UNIT, MPI_STATUS_IGNORE, MPI_MAX_OBJECT_NAME, MPI_Win_allocate, MPI_Win_fence, MPI_Win_free, &
                 MPI_Win_get_attr, MPI_Win_set_name, MPI_Win_get_name, MPI_Put, MPI_Rput, MPI_Get_accumulate, MPI_Wait, &
                 MPI_Compare_and_swap, MPI_Win_lock, MPI_Win_unlock, MPI_LOCK_EXCLUSIVE, MPI_Get_address, &
                 MPI_Type_create_struct, MPI_Type_commit, MPI_Type_free
  use iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  type(c_ptr) :: base
  integer, pointer :: memory(:)
  integer :: win, ierr, type, source, before, request, length
  integer(kind=MPI_ADDRESS_KIND) :: value, at(1)
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr)
  call c_f_pointer(base, memory, [4])
  memory = [10, 20, 30, 40]
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
  print '(a,l2,i4)', 'window size', flag, value
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierr)
  print '(a,l2,i4)', 'window unit', flag, value
  call MPI_Win_set_name(win, 'a window', ierr)
  call MPI_Win_get_name(win, name, length, ierr)
  print '(3a)', 'name [', name(:length), ']'
  source = 77
  call MPI_Get_address(source, at(1), ierr)
  call MPI_Type_create_struct(1, [1], at, [MPI_INTEGER], type, ierr)
  call MPI_Type_commit(type, ierr)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(MPI_BOTTOM, 1, type, 0, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  print '(a,4i4)', 'put from the bottom', memory
  call MPI_Type_free(type, ierr)
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierr)
  call MPI_Rput(source, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Win_unlock(0, win, ierr)
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierr)
  call MPI_Get_accumulate(3, 1, MPI_INTEGER, before, 1, MPI_INTEGER, 0, 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, &
                          win, ierr)
  call MPI_Win_unlock(0, win, ierr)
  print '(a,5i4)', 'accumulated', before, memory
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierr)
  call MPI_Compare_and_swap(1, 40, before, MPI_INTEGER, 0, 3_MPI_ADDRESS_KIND, win, ierr)
  call MPI_Win_unlock(0, win, ierr)
  print '(a,5i4)', 'swapped', before, memory
  call MPI_Win_free(win, ierr)
end subroutine windows

subroutine files(name)
  use mpi, only: MPI_OFFSET_KIND, MPI_ADDRESS_KIND, MPI_INTEGER, MPI_COMM_SELF, MPI_INFO_NULL, MPI_BOTTOM, MPI_MODE_CREATE, &
                 MPI_MODE_RDWR, MPI_MODE_DELETE_ON_CLOSE, MPI_STATUS_IGNORE, MPI_STATUS_SIZE, MPI_MAX_DATAREP_STRING, &
                 MPI_File_open, MPI_File_close, MPI_File_write_at, MPI_File_read_all_begin, MPI_File_read_all_end, &
                 MPI_File_get_view, MPI_File_get_type_extent, MPI_Get_count, MPI_Get_address, MPI_Type_create_struct, &
                 MPI_Type_commit, MPI_Type_free
  implicit none
  character(len=*) :: name
  integer :: file, ierr, type, a(3), b(3), status(MPI_STATUS_SIZE), n, etype, filetype
  integer(kind=MPI_ADDRESS_KIND) :: at(1), extent
  integer(kind=MPI_OFFSET_KIND) :: displacement
  character(len=MPI_MAX_DATAREP_STRING) :: representation
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &
                     file, ierr)
  a = [4, 5, 6]
  b = 0
  call MPI_Get_address(a, at(1), ierr)
  call MPI_Type_create_struct(1, [3], at, [MPI_INTEGER], type, ierr)
  call MPI_Type_commit(type, ierr)
  call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, MPI_BOTTOM, 1, type, MPI_STATUS_IGNORE, ierr)
  call MPI_Type_free(type, ierr)
  call MPI_File_read_all_begin(file, b, 3, MPI_INTEGER, ierr)
  call MPI_File_read_all_end(file, b, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  print '(a,4i3)', 'file from the bottom', b, n
  call MPI_File_get_view(file, displacement, etype, filetype, representation, ierr)
  call MPI_File_get_type_extent(file, MPI_INTEGER, extent, ierr)
  print '(a,i3,3a,i3)', 'view', displacement, ' [', trim(representation), ']', extent
  call MPI_File_close(file, ierr)
end subroutine files

subroutine hints
  use mpi, only: MPI_Info_create, MPI_Info_set, MPI_Info_get, MPI_Info_get_valuelen, MPI_Info_delete, MPI_Info_free
  implicit none
  integer :: info, length, ierr
  logical :: flag
  character(len=10) :: value
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, '  key ', '  a value  ', ierr)
  call MPI_Info_get_valuelen(info, 'key', length, flag, ierr)
  call MPI_Info_get(info, ' key', 10, value, flag, ierr)
  print '(3a,i3,l2)', 'info [', value, ']', length, flag
  value = 'xxxxxxxxxx'
  call MPI_Info_get(info, 'key', 3, value, flag, ierr)
  print '(3a)', 'info [', value(:3), ']'
  call MPI_Info_delete(info, 'key ', ierr)
  call MPI_Info_get(info, 'key', 10, value, flag, ierr)
  print '(a,l2)', 'deleted', flag
  call MPI_Info_free(info, ierr)
end subroutine hints

program serial_calls
  use mpi, only: MPI_Init, MPI_Finalize, MPI_COMM_SELF, MPI_ERRORS_RETURN, MPI_MAX_ERROR_STRING, MPI_Add_error_class, &
                 MPI_Add_error_code, MPI_Add_error_string, MPI_Error_class, MPI_Error_string, MPI_Comm_create_errhandler, &
                 MPI_Comm_set_errhandler, MPI_Comm_call_errhandler, MPI_Errhandler_free
  use callbacks
  implicit none
  integer :: ierr, class, code, of_code, length, handler
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=500) :: name
  call MPI_Init(ierr)
  call MPI_Add_error_class(class, ierr)
  call MPI_Add_error_code(class, code, ierr)
  call MPI_Add_error_string(code, 'the tank is empty', ierr)
  call MPI_Error_class(code, of_code, ierr)
  call MPI_Error_string(code, text, length, ierr)
  print '(a,l2,3a)', 'added', of_code == class, ' [', text(:length), ']'
  call MPI_Comm_create_errhandler(handle, handler, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler, ierr)
  call MPI_Comm_call_errhandler(MPI_COMM_SELF, code, ierr)
  print '(a,i3)', 'handled', handled
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
  call MPI_Errhandler_free(handler, ierr)
  call attributes
  call requests
  call types
  call windows
  call get_command_argument(1, name)
  call files(trim(name))
  call hints
  call MPI_Finalize(ierr)
end program serial_calls
