/* Contents of the buffers: small whole numbers, so that every sum is exact in float and in every
 * order of operands, and any deviation is a fault of the collective. */
#include "bench/bench.h"

#include <stdint.h>
#include <string.h>

typedef enum { AS_INT8, AS_INT32, AS_INT64, AS_FLOAT, AS_DOUBLE } representation;

static const struct {
    const char *name;
    representation as;
    size_t size;
} types[] = {
    {"MPI_BYTE", AS_INT8, 1},       {"MPI_CHAR", AS_INT8, 1},
    {"MPI_INT", AS_INT32, 4},       {"MPI_LONG", AS_INT64, 8},
    {"MPI_FLOAT", AS_FLOAT, 4},     {"MPI_DOUBLE", AS_DOUBLE, 8},
    {"MPI_UNSIGNED", AS_INT32, 4},  {"MPI_UNSIGNED_LONG", AS_INT64, 8},
    {"MPI_LONG_LONG", AS_INT64, 8},
};
enum { TYPES = sizeof types / sizeof types[0] };

static const char *const operations[] = {"MPI_SUM",  "MPI_MAX", "MPI_MIN",  "MPI_PROD",
                                         "MPI_LAND", "MPI_LOR", "MPI_BAND", "MPI_BOR"};
enum { SUM, MAX, MIN, PROD, LAND, LOR, BAND, BOR, OPERATIONS };

int stretto_bench_datatype_index(const char *name) {
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    return -1;
}

const char *stretto_bench_datatype_name(int index) {
    return types[index].name;
}
size_t stretto_bench_datatype_size(int index) {
    return types[index].size;
}

/* Handles are not constants in every MPI (Open MPI's are addresses in its library). */
MPI_Datatype stretto_bench_datatype(int index) {
    switch (index) {
    case 0: return MPI_BYTE;
    case 1: return MPI_CHAR;
    case 2: return MPI_INT;
    case 3: return MPI_LONG;
    case 4: return MPI_FLOAT;
    case 5: return MPI_DOUBLE;
    case 6: return MPI_UNSIGNED;
    case 7: return MPI_UNSIGNED_LONG;
    default: return MPI_LONG_LONG;
    }
}

int stretto_bench_operation_index(const char *name) {
    for (int i = 0; i < OPERATIONS; i++)
        if (strcmp(operations[i], name) == 0)
            return i;
    return -1;
}

const char *stretto_bench_operation_name(int index) {
    return operations[index];
}

MPI_Op stretto_bench_operation(int index) {
    switch (index) {
    case SUM: return MPI_SUM;
    case MAX: return MPI_MAX;
    case MIN: return MPI_MIN;
    case PROD: return MPI_PROD;
    case LAND: return MPI_LAND;
    case LOR: return MPI_LOR;
    case BAND: return MPI_BAND;
    default: return MPI_BOR;
    }
}

bool stretto_bench_operation_on(int operation, int datatype) {
    /* arithmetic on all types but the character ones, logic and bits on whole numbers only */
    bool whole = types[datatype].as == AS_INT32 || types[datatype].as == AS_INT64;
    return operation >= LAND ? whole : types[datatype].size > 1;
}

/* Products stay at 1 or 2: one rank alone gives a 2 for each element. */
int stretto_bench_value(int operation, int from, int to, size_t i, int nranks, int generation) {
    if (operation == PROD)
        return (i + (size_t)generation) % (size_t)nranks == (size_t)from ? 2 : 1;
    int value = (int)((7 * (size_t)from + 5 * (size_t)to + 3 * i + (size_t)generation) % 13) + 1;
    return operation == LAND || operation == LOR ? value % 3 / 2 * 5 : value; /* 0 or 5 */
}

long stretto_bench_reduced(int operation, int to, size_t i, int upto, int nranks, int generation) {
    long result = stretto_bench_value(operation, 0, to, i, nranks, generation);
    for (int rank = 1; rank < upto; rank++) {
        long value = stretto_bench_value(operation, rank, to, i, nranks, generation);
        switch (operation) {
        case SUM: result += value; break;
        case PROD: result *= value; break;
        case MAX: result = value > result ? value : result; break;
        case MIN: result = value < result ? value : result; break;
        case LAND: result = result && value; break;
        case LOR: result = result || value; break;
        case BAND: result &= value; break;
        default: result |= value; break;
        }
    }
    /* one operand alone is not made 0 or 1 */
    return upto > 1 && (operation == LAND || operation == LOR) ? result != 0 : result;
}

void stretto_bench_put(int datatype, void *buffer, size_t i, long value) {
    switch (types[datatype].as) {
    case AS_INT8: ((int8_t *)buffer)[i] = (int8_t)value; break;
    case AS_INT32: ((int32_t *)buffer)[i] = (int32_t)value; break;
    case AS_INT64: ((int64_t *)buffer)[i] = value; break;
    case AS_FLOAT: ((float *)buffer)[i] = (float)value; break;
    case AS_DOUBLE: ((double *)buffer)[i] = (double)value; break;
    }
}

bool stretto_bench_is(int datatype, const void *buffer, size_t i, long value) {
    switch (types[datatype].as) {
    case AS_INT8: return ((const int8_t *)buffer)[i] == (int8_t)value;
    case AS_INT32: return ((const int32_t *)buffer)[i] == (int32_t)value;
    case AS_INT64: return ((const int64_t *)buffer)[i] == value;
    case AS_FLOAT: return ((const float *)buffer)[i] == (float)value;
    case AS_DOUBLE: return ((const double *)buffer)[i] == (double)value;
    }
    return false;
}
