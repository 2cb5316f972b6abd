/* Datatypes by what they must hold: of a class and size, and of Fortran's selected_real_kind() and
 * selected_int_kind() (MPI-3.1 section 17.2.6). */
#include "internal.h"

#include <stdlib.h>

int MPI_Type_match_size(int type_class, int size, MPI_Datatype *made) {
    static const struct {
        int type_class, size;
        MPI_Datatype type;
    } known[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
        {MPI_TYPECLASS_REAL, 8, MPI_REAL8},         {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
        {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
        {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}};
    *made = MPI_DATATYPE_NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type_class == type_class && known[i].size == size)
            *made = known[i].type;
    return *made ? MPI_SUCCESS
                 : serial_error(0, MPI_ERR_ARG, "MPI_Type_match_size",
                                "there is no type of class %d with %d bytes", type_class, size);
}

/* A type that can be used as the predefined one and tells its precision and range. The same
 * arguments give the same type, which the program must not free. */
typedef struct {
    int combiner, precision, range;
    MPI_Datatype type;
} parameterised;

static parameterised *made_before;
static int how_many;

static int parameterise(int combiner, int precision, int range, MPI_Datatype base,
                        MPI_Datatype *made) {
    for (int i = 0; i < how_many; i++)
        if (made_before[i].combiner == combiner && made_before[i].precision == precision &&
            made_before[i].range == range) {
            *made = made_before[i].type;
            return MPI_SUCCESS;
        }
    *made = serial_type_unnamed(base, combiner);
    bool integer = combiner == MPI_COMBINER_F90_INTEGER;
    serial_type_contents(*made, integer ? 1 : 2,
                         integer ? (int[]){range} : (int[]){precision, range}, 0, NULL, 0, NULL);
    parameterised *more = serial_memory((size_t)(how_many + 1) * sizeof *more);
    if (how_many)
        memcpy(more, made_before, (size_t)how_many * sizeof *more);
    more[how_many++] = (parameterised){combiner, precision, range, *made};
    free(made_before);
    made_before = more;
    return MPI_SUCCESS;
}

/* Decimal digits and exponents of the kinds of gfortran, ifx and flang: 4, 8 and 16 bytes. */
static int real_bytes(int precision, int range) {
    int p = precision == MPI_UNDEFINED ? 0 : precision, r = range == MPI_UNDEFINED ? 0 : range;
    return p <= 6 && r <= 37 ? 4 : p <= 15 && r <= 307 ? 8 : p <= 33 && r <= 4931 ? 16 : 0;
}

static int no_kind(const char *function, int precision, int range) {
    return serial_error(0, MPI_ERR_ARG, function, "no kind has precision %d and range %d",
                        precision, range);
}

int MPI_Type_create_f90_real(int precision, int range, MPI_Datatype *made) {
    int bytes = real_bytes(precision, range);
    if (!bytes || (precision == MPI_UNDEFINED && range == MPI_UNDEFINED))
        return no_kind("MPI_Type_create_f90_real", precision, range);
    return parameterise(MPI_COMBINER_F90_REAL, precision, range,
                        bytes == 4   ? MPI_REAL4
                        : bytes == 8 ? MPI_REAL8
                                     : MPI_REAL16,
                        made);
}

int MPI_Type_create_f90_complex(int precision, int range, MPI_Datatype *made) {
    int bytes = real_bytes(precision, range);
    if (!bytes || (precision == MPI_UNDEFINED && range == MPI_UNDEFINED))
        return no_kind("MPI_Type_create_f90_complex", precision, range);
    return parameterise(MPI_COMBINER_F90_COMPLEX, precision, range,
                        bytes == 4   ? MPI_COMPLEX8
                        : bytes == 8 ? MPI_COMPLEX16
                                     : MPI_COMPLEX32,
                        made);
}

int MPI_Type_create_f90_integer(int range, MPI_Datatype *made) {
    MPI_Datatype base = range <= 2    ? MPI_INTEGER1
                        : range <= 4  ? MPI_INTEGER2
                        : range <= 9  ? MPI_INTEGER4
                        : range <= 18 ? MPI_INTEGER8
                        : range <= 38 ? MPI_INTEGER16
                                      : MPI_DATATYPE_NULL;
    if (!base)
        return no_kind("MPI_Type_create_f90_integer", 0, range);
    return parameterise(MPI_COMBINER_F90_INTEGER, 0, range, base, made);
}
