! The module mpi: the constants of mpif.h, and the procedures by implicit interface, since buffers
! may be of any type. It is compiled by the user's Fortran compiler, whose module files are its own.
module mpi
  implicit none
  include 'mpif.h'
  include 'stretto-serial-procedures.h'

  interface MPI_Sizeof
@SIZEOF@  end interface
end module mpi
