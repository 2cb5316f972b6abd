! The module mpi_f08: an interface for every procedure, made from mpi_f08.table. It is compiled by the user's
! Fortran compiler, whose module files are its own; all that it declares is in the library, so that no
! object file of it is linked.
!
! Buffers are of any type and rank: they are passed by address (an array section that is not contiguous: that
! of a copy, as MPI_SUBARRAYS_SUPPORTED tells). They are targets, since compilers take it that nothing
! else keeps the address of what is passed where no target is expected: what was stored for a persistent
! send was left out, and what a receive had given was not looked at.
module mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_char
  use mpi_f08_types
  implicit none
  private :: c_ptr, c_char

  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false., MPI_ASYNC_PROTECTS_NONBLOCKING = .false.

  ! Their addresses count, which are the library's.
  integer, bind(C, name='stretto_serial_bottom_') :: MPI_BOTTOM
  integer, bind(C, name='stretto_serial_in_place_') :: MPI_IN_PLACE
  integer, bind(C, name='stretto_serial_unweighted_') :: MPI_UNWEIGHTED(1)
  integer, bind(C, name='stretto_serial_weights_empty_') :: MPI_WEIGHTS_EMPTY(1)
  integer, bind(C, name='stretto_serial_errcodes_ignore_') :: MPI_ERRCODES_IGNORE(1)
  type(MPI_Status), bind(C, name='stretto_serial_status_ignore_') :: MPI_STATUS_IGNORE
  type(MPI_Status), bind(C, name='stretto_serial_statuses_ignore_') :: MPI_STATUSES_IGNORE(1)
  character(c_char), bind(C, name='stretto_serial_argv_null_') :: MPI_ARGV_NULL(1)
  character(c_char), bind(C, name='stretto_serial_argvs_null_') :: MPI_ARGVS_NULL(1, 1)

  abstract interface
@ABSTRACT@  end interface
  procedure(MPI_Comm_copy_attr_function) :: MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN
  procedure(MPI_Comm_delete_attr_function) :: MPI_COMM_NULL_DELETE_FN
  procedure(MPI_Type_copy_attr_function) :: MPI_TYPE_NULL_COPY_FN, MPI_TYPE_DUP_FN
  procedure(MPI_Type_delete_attr_function) :: MPI_TYPE_NULL_DELETE_FN
  procedure(MPI_Win_copy_attr_function) :: MPI_WIN_NULL_COPY_FN, MPI_WIN_DUP_FN
  procedure(MPI_Win_delete_attr_function) :: MPI_WIN_NULL_DELETE_FN
  procedure(MPI_Datarep_conversion_function) :: MPI_CONVERSION_FN_NULL

  interface operator(==)
@EQUAL@  end interface
  interface operator(/=)
@UNEQUAL@  end interface

  interface
    double precision function MPI_Wtime()
    end function MPI_Wtime
    double precision function MPI_Wtick()
    end function MPI_Wtick
    integer(MPI_ADDRESS_KIND) function MPI_Aint_add(base, disp)
      import
      integer(MPI_ADDRESS_KIND), intent(in) :: base, disp
    end function MPI_Aint_add
    integer(MPI_ADDRESS_KIND) function MPI_Aint_diff(addr1, addr2)
      import
      integer(MPI_ADDRESS_KIND), intent(in) :: addr1, addr2
    end function MPI_Aint_diff
    subroutine MPI_F_sync_reg(buf)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
      !DIR$ IGNORE_TKR buf
      type(*), dimension(*), target :: buf
    end subroutine MPI_F_sync_reg
    subroutine MPI_Pcontrol(level)
      integer, intent(in) :: level
    end subroutine MPI_Pcontrol
@PROCEDURES@  end interface

  ! Gives the address, where that of mpif.h gives nothing.
  interface MPI_Buffer_detach
    subroutine stretto_serial_buffer_detach(buffer_addr, size, ierror)
      import
      type(c_ptr), intent(out) :: buffer_addr
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine stretto_serial_buffer_detach
  end interface
  interface MPI_Sizeof
@SIZEOF@  end interface
end module mpi_f08
