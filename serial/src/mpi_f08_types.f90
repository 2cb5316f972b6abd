! Handles and statuses as types, and constants, made from mpi.h: a part of mpi_f08. What compilers keep of a
! type for arrays of it and for class(*) is in its object file, which is therefore linked.
module mpi_f08_types
  implicit none

@HANDLES@
  type, bind(C) :: MPI_Status
    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR
    integer, private :: rest(3)
  end type MPI_Status

@CONSTANTS@end module mpi_f08_types
