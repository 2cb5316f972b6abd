/* The application's data as bytes.
 *
 * Whether a datatype is dense is no property of the call but of one rank's arguments: each rank
 * packs and unpacks for itself, and what travels is the same.
 */
#include "engine/call.h"
#include "engine/exec.h"

#include <string.h>

enum { SLICE = 1 << 30 }; /* bytes that one PMPI_Pack is given: its sizes are int */

long long stretto_type_bytes(MPI_Datatype type) {
    size_t dense = stretto_dense_size(type);
    MPI_Count size;
    if (dense)
        return (long long)dense;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return -1;
    return size;
}

/* An element of 2^31 bytes and more, which is beyond PMPI_Pack, goes to ourselves as a message;
 * those of several threads look alike, and go one after another. */
static int by_message(char *data, MPI_Datatype type, size_t bytes, char *packed, bool pack) {
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    const MPI_Comm self = stretto_the_world.self;
    MPI_Datatype whole;
    int count, rc = stretto_message_of(bytes, MPI_PACKED, 1, &count, &whole);
    if (rc != MPI_SUCCESS)
        return rc;
    pthread_mutex_lock(&one);
    if (pack)
        rc =
            PMPI_Sendrecv(data, 1, type, 0, 0, packed, count, whole, 0, 0, self, MPI_STATUS_IGNORE);
    else
        rc =
            PMPI_Sendrecv(packed, count, whole, 0, 0, data, 1, type, 0, 0, self, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&one);
    if (whole != MPI_PACKED)
        PMPI_Type_free(&whole);
    return rc;
}

static int one_slice(char *data, int n, MPI_Datatype type, int bytes, char *packed, bool pack) {
    const MPI_Comm self = stretto_the_world.self;
    int position = 0, rc = pack ? PMPI_Pack(data, n, type, packed, bytes, &position, self)
                                : PMPI_Unpack(packed, bytes, &position, data, n, type, self);
    return rc == MPI_SUCCESS && position != bytes ? MPI_ERR_INTERN : rc;
}

/* Packs or unpacks in slices. */
static int in_slices(char *data, long long count, MPI_Datatype type, size_t bytes, char *packed,
                     bool pack) {
    if (count == 0 || bytes == 0)
        return MPI_SUCCESS;
    const size_t each = bytes / (size_t)count;
    const long long most = each < SLICE ? (long long)(SLICE / each) : 1;
    MPI_Aint lb, extent = 0;
    int rc = count > most ? PMPI_Type_get_extent(type, &lb, &extent) : MPI_SUCCESS;
    for (long long i = 0; i < count && rc == MPI_SUCCESS; i += most) {
        const int n = (int)(count - i < most ? count - i : most);
        const size_t size = (size_t)n * each;
        char *at = data + (MPI_Aint)i * extent;
        rc = size > INT32_MAX ? by_message(at, type, size, packed, pack)
                              : one_slice(at, n, type, (int)size, packed, pack);
        packed += size;
    }
    return rc;
}

int stretto_pack(const void *data, long long count, MPI_Datatype type, size_t bytes, void *packed) {
    return in_slices((char *)(uintptr_t)data, count, type, bytes, packed, true);
}

int stretto_unpack(const void *packed, size_t bytes, void *data, long long count,
                   MPI_Datatype type) {
    return in_slices(data, count, type, bytes, (char *)(uintptr_t)packed, false);
}

int stretto_view_open(stretto_comm *c, int slot, stretto_view *view, const void *user,
                      long long count, MPI_Datatype type, size_t bytes, bool load) {
    *view = (stretto_view){.user = (void *)(uintptr_t)user,
                           .count = count,
                           .type = type,
                           .bytes = bytes,
                           .at = (char *)(uintptr_t)user};
    if (stretto_type_is_dense(type))
        return MPI_SUCCESS;
    if (type == MPI_DATATYPE_NULL) /* before anything is sent, as in the MPI */
        return MPI_ERR_TYPE;
    view->packed = true;
    view->at = stretto_comm_scratch(c, slot, bytes ? bytes : 1);
    return load ? stretto_pack(user, count, type, bytes, view->at) : MPI_SUCCESS;
}

int stretto_view_store(const stretto_view *view) {
    if (!view->packed)
        return MPI_SUCCESS;
    return stretto_unpack(view->at, view->bytes, view->user, view->count, view->type);
}

static long long count_of(const stretto_ragged *blocks, int r) {
    return blocks->large ? (long long)((const MPI_Count *)blocks->counts)[r]
                         : ((const int *)blocks->counts)[r];
}

static MPI_Aint displ_of(const stretto_ragged *blocks, int r) {
    return blocks->large ? ((const MPI_Aint *)blocks->displs)[r] : ((const int *)blocks->displs)[r];
}

static MPI_Datatype type_of(const stretto_ragged *blocks, int r) {
    return blocks->types ? blocks->types[r] : blocks->type;
}

long long stretto_ragged_total(const stretto_ragged *blocks, int nranks) {
    long long total = 0;
    for (int r = 0; r < nranks; r++) {
        long long count = count_of(blocks, r);
        if (count < 0)
            return -1;
        total += count;
    }
    return total;
}

bool stretto_ragged_has_empty(const stretto_ragged *blocks, int nranks) {
    for (int r = 0; r < nranks; r++)
        if (count_of(blocks, r) == 0)
            return true;
    return false;
}

size_t *stretto_blocks_memory(stretto_comm *c, int side) {
    size_t *memory =
        stretto_comm_scratch(c, STRETTO_SCRATCH_SIZES, 4 * (size_t)c->nranks * sizeof *memory);
    return memory + 2 * (size_t)side * (size_t)c->nranks;
}

/* Fills n and where the application has its blocks, in bytes: displacement of block r. */
static int measure(stretto_blocks *b, bool *dense) {
    *dense = true;
    long long size = -1;
    for (int r = 0; r < b->nranks; r++) {
        long long count = count_of(b->blocks, r);
        if (count ==
            0) { /* the datatype of nothing is not asked: MPIs take MPI_DATATYPE_NULL there */
            b->n[r] = 0;
            continue;
        }
        if (size < 0 || b->blocks->types) {
            MPI_Datatype type = type_of(b->blocks, r);
            size = stretto_type_bytes(type);
            *dense = *dense && (size == 0 || stretto_type_is_dense(type));
        }
        if (count < 0 || size < 0)
            return STRETTO_PASS;
        b->n[r] = (size_t)size * (size_t)count;
        b->total += b->n[r];
        if (b->n[r] > b->largest)
            b->largest = b->n[r];
    }
    return MPI_SUCCESS;
}

/* Bytes from the start of the buffer to block r. */
static MPI_Aint place_of(const stretto_blocks *b, int r, MPI_Aint extent) {
    return displ_of(b->blocks, r) * (b->blocks->types ? 1 : extent);
}

static int move(const stretto_blocks *b, int r, bool pack) {
    MPI_Datatype type = type_of(b->blocks, r);
    MPI_Aint lb, extent = 1;
    if (b->n[r] == 0)
        return MPI_SUCCESS;
    int rc = b->blocks->types ? MPI_SUCCESS : PMPI_Type_get_extent(type, &lb, &extent);
    if (rc != MPI_SUCCESS)
        return rc;
    char *user = (char *)b->user + place_of(b, r, extent);
    long long count = count_of(b->blocks, r);
    if (pack)
        return stretto_pack(user, count, type, b->n[r], b->base + b->at[r]);
    return stretto_unpack(b->base + b->at[r], b->n[r], user, count, type);
}

int stretto_blocks_open_n(stretto_comm *c, int n, int slot, stretto_blocks *b, const void *user,
                          const stretto_ragged *blocks, size_t *memory, bool adjacent, bool load,
                          int one) {
    *b = (stretto_blocks){.user = (void *)(uintptr_t)user, .blocks = blocks, .nranks = n};
    bool dense;
    b->at = memory;
    b->n = memory + n;
    int rc = measure(b, &dense);
    if (rc != MPI_SUCCESS || n == 0)
        return rc;
    if (dense) { /* offsets from the lowest block on: they are not negative then */
        MPI_Aint lowest = 0, next = 0, size = 1; /* the extent, too */
        if (!blocks->types && b->total)
            size = (MPI_Aint)stretto_type_bytes(blocks->type);
        bool any = false, in_order = true;
        for (int r = 0; r < n; r++) {
            if (b->n[r] == 0)
                continue;
            MPI_Aint place = place_of(b, r, size);
            if (!any || place < lowest)
                lowest = place;
            in_order = in_order && (!any || place == next);
            next = place + (MPI_Aint)b->n[r];
            any = true;
        }
        b->base = (char *)b->user + lowest;
        size_t at = 0; /* empty blocks: anywhere, but in order */
        for (int r = 0; r < n; r++) {
            b->at[r] = b->n[r] ? (size_t)(place_of(b, r, size) - lowest) : at;
            at = b->at[r] + b->n[r];
        }
        if (in_order || !adjacent)
            return MPI_SUCCESS;
    }
    b->packed = true;
    b->base = stretto_comm_scratch(c, slot, b->total ? b->total : 1);
    size_t at = 0;
    for (int r = 0; r < n; r++) {
        b->at[r] = at;
        at += b->n[r];
    }
    for (int r = 0; load && r < n && rc == MPI_SUCCESS; r++)
        if (one < 0 || r == one)
            rc = move(b, r, true);
    return rc;
}

int stretto_blocks_open(stretto_comm *c, int slot, stretto_blocks *b, const void *user,
                        const stretto_ragged *blocks, size_t *memory, bool adjacent, bool load,
                        int one) {
    return stretto_blocks_open_n(c, c->nranks, slot, b, user, blocks, memory, adjacent, load, one);
}

int stretto_blocks_store(const stretto_blocks *b) {
    int rc = MPI_SUCCESS;
    for (int r = 0; b->packed && r < b->nranks && rc == MPI_SUCCESS; r++)
        rc = move(b, r, false);
    return rc;
}
