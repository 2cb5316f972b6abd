/* What the executor's parts share: a plan that is being carried out. */
#ifndef STRETTO_EXEC_H
#define STRETTO_EXEC_H

#include "engine/engine.h"

/* A plan that carries blocks, carried out on the sizes of an earlier exchange (exec_carry.c). */
typedef struct {
    bool changed;  /* they are not this call's, as far as this rank knows */
    char *nothing; /* [actions] a byte for each message that would be empty */
} stretto_guess;

typedef struct {
    stretto_comm *c;
    stretto_cached_plan *cached;
    const stretto_elements *e;
    const stretto_buffers *b;
    char *in, *out, *tmp;
    const size_t *tmp_at; /* [tmp_blocks + 1] elements */
    stretto_guess *guess; /* or NULL */
    int truncated; /* the error of a message that was longer than its place, or MPI_SUCCESS */
} stretto_running;

typedef struct {
    char *at;
    size_t n; /* elements */
} stretto_piece;

/* So many items of a datatype, `stride` bytes apart, as arguments of a message. A count beyond 2^31
 * is put into a datatype of that length: where *type is not `of`, the caller frees it. */
int stretto_message_of(size_t items, MPI_Datatype of, ptrdiff_t stride, int *count,
                       MPI_Datatype *type);
/* Where a span lies in memory; nothing and 0 for an empty one. */
stretto_piece stretto_locate(const stretto_running *r, stretto_span span);
/* As many elements as both hold; an MPI error code. */
int stretto_copy_piece(const stretto_running *r, stretto_piece from, stretto_piece to);
/* Carries the plan out; tmp_at and, but for out_is_scratch, out are set. An MPI error code. */
int stretto_run_plan(stretto_running *r);
/* A plan that carries blocks: sizes first, unless they are known (exec_carry.c). */
int stretto_execute_carrying(stretto_comm *c, stretto_cached_plan *cached,
                             const stretto_elements *elements, const stretto_buffers *buffers);
/* The same for gatherv and scatterv: sizes are told in every call (exec_told.c). */
int stretto_execute_told(stretto_comm *c, stretto_cached_plan *cached,
                         const stretto_elements *elements, const stretto_buffers *buffers);
/* Carries out a NODE_* action (exec_node.c). */
void stretto_node_action(const stretto_running *r, const stretto_action *a);

#endif
