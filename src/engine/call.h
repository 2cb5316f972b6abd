/* What the calls of all families share; between call*.c. */
#ifndef STRETTO_CALL_H
#define STRETTO_CALL_H

#include "engine/engine.h"

/* The end of a call: gives large memory back and raises an error on the application's communicator.
 * Returns rc. */
int stretto_call_end(stretto_comm *c, int rc);
/* Builds the plan of the decision's choice and runs it; errors are not raised yet. */
int stretto_call_plan(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                      const stretto_elements *e, const stretto_buffers *b, int root, bool in_place,
                      bool commutative);

/* Data that is only moved travels as bytes. */
static inline stretto_elements stretto_as_bytes(void) {
    return (stretto_elements){MPI_BYTE, 1, 1, NULL, MPI_OP_NULL};
}

/* ---- pack.c: the application's data as bytes ------------------------------------------------- */

/* Bytes of one element of any valid datatype; -1 when the MPI does not tell. */
long long stretto_type_bytes(MPI_Datatype type);
/* Whether elements lie as their bytes travel, one after another: nothing to pack (dense.c). */
bool stretto_type_is_dense(MPI_Datatype type);
int stretto_pack(const void *data, long long count, MPI_Datatype type, size_t bytes, void *packed);
int stretto_unpack(const void *packed, size_t bytes, void *data, long long count,
                   MPI_Datatype type);

/* A buffer of `count` elements as bytes: where they lie when they are dense, or in scratch. */
typedef struct {
    void *user;
    long long count;
    MPI_Datatype type;
    size_t bytes;
    char *at;
    bool packed;
} stretto_view;

/* slot: of the scratch. load: what lies in the buffer is needed. */
int stretto_view_open(stretto_comm *c, int slot, stretto_view *view, const void *user,
                      long long count, MPI_Datatype type, size_t bytes, bool load);
/* Brings what was received to the application. */
int stretto_view_store(const stretto_view *view);

/* Blocks of any sizes as bytes: block r = n[r] bytes at base + at[r]. */
typedef struct {
    void *user;
    const stretto_ragged *blocks;
    int nranks; /* blocks */
    char *base;
    size_t *at, *n;
    size_t total, largest;
    bool packed;
} stretto_blocks;

/* The arrays at, n of a call's two sides, in scratch; side 0 or 1. */
size_t *stretto_blocks_memory(stretto_comm *c, int side);
/* memory: 2 x ranks of them. adjacent: the blocks must lie one after another. Blocks are loaded
 * when load, or only block `one` of them when that is not negative. STRETTO_PASS: the arguments are
 * wrong (a negative count, no datatype), and the MPI is to say so. */
int stretto_blocks_open(stretto_comm *c, int slot, stretto_blocks *b, const void *user,
                        const stretto_ragged *blocks, size_t *memory, bool adjacent, bool load,
                        int one);
/* The same for n blocks, whatever the number of ranks; memory: 2 x n. */
int stretto_blocks_open_n(stretto_comm *c, int n, int slot, stretto_blocks *b, const void *user,
                          const stretto_ragged *blocks, size_t *memory, bool adjacent, bool load,
                          int one);
int stretto_blocks_store(const stretto_blocks *b);

#endif
