/* Makes a STRETTO_FORTRAN_ENTRY for each function for which STRETTO_FORTRAN_name is defined as "~,
 * 1"; to be included once in a .c file. A name without that macro expands to itself, one token, so
 * that the second of the list below is 0. */
#include "abi/fortran.h"

#define STRETTO_SECOND(a, b, ...) b
#define STRETTO_MARKED(...) STRETTO_SECOND(__VA_ARGS__, 0, 0)
#define STRETTO_GLUE(a, b) a##b
#define STRETTO_ENTRY_IF(marked) STRETTO_GLUE(STRETTO_ENTRY_IF_, marked)
#define STRETTO_ENTRY_IF_1 STRETTO_FORTRAN_ENTRY
#define STRETTO_ENTRY_IF_0(type, name, parameters, arguments)

#define R(kind, type, name, parameters, arguments)                                                 \
    STRETTO_ENTRY_IF(STRETTO_MARKED(STRETTO_FORTRAN_##name))(type, name, parameters, arguments)
#define F(kind, name, parameters, arguments) R(kind, int, name, parameters, arguments)
#include "abi/functions.def"
