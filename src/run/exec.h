/* What the executor's parts share: a plan that is being carried out. */
#ifndef STRETTO_EXEC_H
#define STRETTO_EXEC_H

#include "run/engine.h"

typedef struct {
    stretto_comm *c;
    stretto_cached_plan *cached;
    const stretto_elements *e;
    const stretto_buffers *b;
    char *in, *out, *tmp;
} stretto_running;

typedef struct {
    char *at;
    size_t n; /* elements */
} stretto_piece;

/* Where a span lies in memory; nothing and 0 for an empty one. */
stretto_piece stretto_locate(const stretto_running *r, stretto_span span);
/* As many elements as both hold; an MPI error code. */
int stretto_copy_piece(const stretto_running *r, stretto_piece from, stretto_piece to);
/* Carries out a NODE_* action (exec_node.c). */
void stretto_node_action(const stretto_running *r, const stretto_action *a);

#endif
