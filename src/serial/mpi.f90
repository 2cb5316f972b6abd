! The module mpi: the constants of mpif.h; procedures by implicit interface. It is compiled by the
! user's Fortran compiler, whose module files are its own.
module mpi
  implicit none
  include 'mpif.h'
end module mpi
