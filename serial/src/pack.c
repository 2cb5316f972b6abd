/* MPI_Pack and MPI_Unpack, as the process has the data and in the representation external32: big
 * endian, of fixed sizes (MPI-3.1 section 13.5.2). */
#include "internal.h"

#include <limits.h>
#include <stdlib.h>

int MPI_Pack_size(int count, MPI_Datatype handle, MPI_Comm comm, int *size) {
    CHECK_TYPE(type, handle, "MPI_Pack_size");
    (void)comm;
    *size = (int)type->size * count;
    return MPI_SUCCESS;
}

int MPI_Pack(const void *data, int count, MPI_Datatype handle, void *packed, int size,
             int *position, MPI_Comm comm) {
    CHECK_TYPE(type, handle, "MPI_Pack");
    size_t bytes = type->size * (size_t)count;
    if (count < 0 || *position < 0 || *position > size || bytes > (size_t)size - (size_t)*position)
        return serial_error(comm, MPI_ERR_TRUNCATE, "MPI_Pack",
                            "%zu bytes do not fit behind %d of %d", bytes, *position, size);
    serial_pack(type, data, count, (char *)packed + *position);
    *position += (int)bytes;
    return MPI_SUCCESS;
}

int MPI_Unpack(const void *packed, int size, int *position, void *data, int count,
               MPI_Datatype handle, MPI_Comm comm) {
    CHECK_TYPE(type, handle, "MPI_Unpack");
    size_t bytes = type->size * (size_t)count;
    if (count < 0 || *position < 0 || *position > size || bytes > (size_t)size - (size_t)*position)
        return serial_error(comm, MPI_ERR_TRUNCATE, "MPI_Unpack",
                            "there are no %zu bytes behind %d of %d", bytes, *position, size);
    serial_unpack(type, (const char *)packed + *position, bytes, data, count);
    *position += (int)bytes;
    return MPI_SUCCESS;
}
