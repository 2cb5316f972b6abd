# Makes the Fortran headers from the C sources, so that they cannot differ: mpif.h from mpi.h, the
# module mpi and the list of its procedures from fortran_*.c, and by mpi_f08.cmake the module mpi_f08.
#   cmake -DIN=src/serial -DOUT=include -P mpif.cmake
file(STRINGS ${IN}/mpi.h lines REGEX "^(#define MPI_[A-Z0-9_]+ \\(?-?[0-9]+\\)?|/\\* MPI_[A-Z][a-z]+ \\*/)?$")
set(text "! MPI for one process, for fixed and free form alike. Made from mpi.h.\n")
set(CONSTANTS "")
set(handle "") # of which type what follows is in mpi_f08; none: an integer
macro(constant name value)
  set(type integer)
  if(${name} STREQUAL "MPI_DISPLACEMENT_CURRENT") # an offset, of kind MPI_OFFSET_KIND
    set(type integer*8)
  endif()
  string(APPEND text "      ${type} ${name}\n      parameter (${name}=${value})\n")
  if(handle)
    string(APPEND CONSTANTS "  type(${handle}), parameter :: ${name} = ${handle}(${value})\n")
  else()
    string(REPLACE "*8" "(MPI_OFFSET_KIND)" type ${type})
    string(APPEND CONSTANTS "  ${type}, parameter :: ${name} = ${value}\n")
  endif()
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
  if(NOT line MATCHES "^#define") # a comment names the type of the lines below it
    string(REGEX REPLACE "[^A-Za-z_]" "" handle "${line}")
    continue()
  endif()
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
      integer MPI_WEIGHTS_EMPTY(1), MPI_ERRCODES_IGNORE(1)
      integer MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
      integer MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)
      character*1 MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1,1)
      common /stretto_serial_bottom/ MPI_BOTTOM
      common /stretto_serial_in_place/ MPI_IN_PLACE
      common /stretto_serial_status_ignore/ MPI_STATUS_IGNORE
      common /stretto_serial_statuses_ignore/ MPI_STATUSES_IGNORE
      common /stretto_serial_unweighted/ MPI_UNWEIGHTED
      common /stretto_serial_weights_empty/ MPI_WEIGHTS_EMPTY
      common /stretto_serial_errcodes_ignore/ MPI_ERRCODES_IGNORE
      common /stretto_serial_argv_null/ MPI_ARGV_NULL
      common /stretto_serial_argvs_null/ MPI_ARGVS_NULL
      double precision MPI_WTIME, MPI_WTICK
      external MPI_WTIME, MPI_WTICK
      integer*8 MPI_AINT_ADD, MPI_AINT_DIFF
      external MPI_AINT_ADD, MPI_AINT_DIFF
      external MPI_CONVERSION_FN_NULL
")
foreach(object COMM_ TYPE_ WIN_ "")
  foreach(callback NULL_COPY_FN DUP_FN NULL_DELETE_FN)
    string(APPEND text "      external MPI_${object}${callback}\n")
  endforeach()
endforeach()
file(WRITE ${OUT}/mpif.h "${text}")

# ---- procedures: each FORTRAN(name, ...), and those that are written out -----------------------------
set(names)
file(GLOB sources ${IN}/fortran_*.c)
foreach(source IN LISTS sources)
  file(READ ${source} text)
  string(REGEX REPLACE "[][;]" "" text "${text}") # which would join lines of a list
  string(REGEX MATCHALL "\n(FORTRAN|GIVES|TAKES|TAKES_KEY|CREATES)\\([a-z0-9_]+" made "${text}")
  string(REGEX MATCHALL "\nvoid mpi_[a-z_]+_\\(" written "${text}")
  foreach(definition IN LISTS made written)
    string(REGEX REPLACE "^\n([A-Z_]+\\(|void mpi_)" "" name "${definition}")
    string(REGEX REPLACE "_\\($" "" name "${name}")
    list(APPEND names MPI_${name})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES names)
list(REMOVE_ITEM names MPI_conversion_fn_null) # which mpif.h has
list(SORT names)
set(text "! The procedures of MPI for one process. Made from its sources.\n")
foreach(name IN LISTS names)
  string(APPEND text "      external ${name}\n")
endforeach()
file(WRITE ${OUT}/stretto-serial-procedures.h "${text}")

# ---- MPI_Sizeof: one procedure for each type, of any rank ------------------------------------------
file(STRINGS ${IN}/fortran_sizeof.c lines REGEX "^SIZEOF\\(")
set(SIZEOF "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^SIZEOF\\(([a-z0-9_]+), [^/]*/\\* (.*) \\*/" matched "${line}")
  set(procedure stretto_serial_sizeof_${CMAKE_MATCH_1})
  string(APPEND SIZEOF "    subroutine ${procedure}(x, size, ierror)\n\
      ${CMAKE_MATCH_2}, dimension(..), intent(in) :: x\n\
      integer, intent(out) :: size\n\
      integer, intent(out), optional :: ierror\n\
    end subroutine ${procedure}\n")
endforeach()
configure_file(${IN}/mpi.f90 ${OUT}/mpi.f90 @ONLY)

include(${IN}/mpi_f08.cmake)
