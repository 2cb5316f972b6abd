# Makes mpif.h from mpi.h, so that the two cannot differ: cmake -DIN=mpi.h -DOUT=mpif.h -P mpif.cmake
file(STRINGS ${IN} lines REGEX "^#define MPI_[A-Z0-9_]+ \\(?-?[0-9]+\\)?$")
set(text "! MPI for one process, for fixed and free form alike. Made from mpi.h.\n")
macro(constant name value)
  string(APPEND text "      integer ${name}\n      parameter (${name}=${value})\n")
endmacro()
constant(MPI_STATUS_SIZE 6)
constant(MPI_SOURCE 1)
constant(MPI_TAG 2)
constant(MPI_ERROR 3)
constant(MPI_ADDRESS_KIND 8)
constant(MPI_OFFSET_KIND 8)
constant(MPI_COUNT_KIND 8)
constant(MPI_INTEGER_KIND 4)
foreach(line IN LISTS lines)
  string(REGEX MATCH "^#define (MPI_[A-Z0-9_]+) \\(?(-?[0-9]+)\\)?$" matched "${line}")
  set(name ${CMAKE_MATCH_1})
  set(value ${CMAKE_MATCH_2})
  if(name MATCHES "^MPI_MAX_") # the length of a text, which has no NUL here
    math(EXPR value "${value} - 1")
  endif()
  constant(${name} ${value})
endforeach()
string(APPEND text "\
      logical MPI_SUBARRAYS_SUPPORTED, MPI_ASYNC_PROTECTS_NONBLOCKING
      parameter (MPI_SUBARRAYS_SUPPORTED=.false.)
      parameter (MPI_ASYNC_PROTECTS_NONBLOCKING=.false.)
      integer MPI_BOTTOM, MPI_IN_PLACE, MPI_UNWEIGHTED(1)
      integer MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
      integer MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)
      common /stretto_serial_bottom/ MPI_BOTTOM
      common /stretto_serial_in_place/ MPI_IN_PLACE
      common /stretto_serial_status_ignore/ MPI_STATUS_IGNORE
      common /stretto_serial_statuses_ignore/ MPI_STATUSES_IGNORE
      common /stretto_serial_unweighted/ MPI_UNWEIGHTED
      double precision MPI_WTIME, MPI_WTICK
      external MPI_WTIME, MPI_WTICK
")
file(WRITE ${OUT} "${text}")
