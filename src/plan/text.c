/* Readable text of a plan: one action a line, as `stretto plan show` prints it. */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const action_names[STRETTO_ACTION_KINDS] = {
    [STRETTO_SEND] = "send",
    [STRETTO_RECV] = "recv",
    [STRETTO_COPY] = "copy",
    [STRETTO_REDUCE_LOCAL] = "reduce",
    [STRETTO_WAIT] = "wait",
    [STRETTO_FENCE] = "fence",
    [STRETTO_NODE_BARRIER] = "node_barrier",
    [STRETTO_NODE_BCAST] = "node_bcast",
    [STRETTO_NODE_REDUCE] = "node_reduce",
    [STRETTO_NODE_ALLREDUCE] = "node_allreduce",
    [STRETTO_NODE_ALLGATHER] = "node_allgather",
    [STRETTO_NODE_GATHER] = "node_gather",
    [STRETTO_NODE_SCATTER] = "node_scatter",
    [STRETTO_NODE_ALLTOALL] = "node_alltoall",
    [STRETTO_NODE_REDUCE_SCATTER] = "node_reduce_scatter",
    [STRETTO_NODE_SCAN] = "node_scan",
    [STRETTO_NODE_EXSCAN] = "node_exscan",
};

const char *stretto_action_name(stretto_action_kind kind) {
    return (unsigned)kind < STRETTO_ACTION_KINDS ? action_names[kind] : "unknown";
}

bool stretto_action_rooted(stretto_action_kind kind) {
    return kind == STRETTO_NODE_BCAST || kind == STRETTO_NODE_REDUCE ||
           kind == STRETTO_NODE_GATHER || kind == STRETTO_NODE_SCATTER;
}

/* "OUT[3]", "TMP[0..7]", "-" for the empty span. */
static const char *span_text(stretto_span span, char text[48]) {
    static const char *const names[] = {"IN", "OUT", "TMP"};
    if (span.count <= 0)
        snprintf(text, 48, "-");
    else if (span.count == 1)
        snprintf(text, 48, "%s[%d]", names[span.buffer], span.first);
    else
        snprintf(text, 48, "%s[%d..%d]", names[span.buffer], span.first,
                 span.first + span.count - 1);
    return text;
}

static void print_action(FILE *out, int index, const stretto_action *a) {
    char src[48], dst[48];
    span_text(a->src, src);
    span_text(a->dst, dst);
    fprintf(out, "%4d  %3d  %-14s ", index, a->round, stretto_action_name(a->kind));
    switch (a->kind) {
    case STRETTO_SEND: fprintf(out, "%s -> rank %d", src, a->peer); break;
    case STRETTO_RECV: fprintf(out, "%s <- rank %d", dst, a->peer); break;
    case STRETTO_COPY: fprintf(out, "%s = %s", dst, src); break;
    case STRETTO_REDUCE_LOCAL:
        if (a->side == STRETTO_SRC_LEFT)
            fprintf(out, "%s = %s op %s", dst, src, dst);
        else
            fprintf(out, "%s = %s op %s", dst, dst, src);
        break;
    case STRETTO_WAIT: fprintf(out, "for action %d", a->peer); break;
    case STRETTO_NODE_BCAST: fprintf(out, "%s from local %d", dst, a->peer); break;
    case STRETTO_NODE_REDUCE: fprintf(out, "%s = op over %s at local %d", dst, src, a->peer); break;
    case STRETTO_NODE_ALLREDUCE: fprintf(out, "%s = op over %s", dst, src); break;
    case STRETTO_NODE_ALLGATHER: fprintf(out, "%s = all of %s", dst, src); break;
    case STRETTO_NODE_GATHER: fprintf(out, "%s = all of %s at local %d", dst, src, a->peer); break;
    case STRETTO_NODE_SCATTER:
        fprintf(out, "%s = part of %s of local %d", dst, src, a->peer);
        break;
    case STRETTO_NODE_ALLTOALL: fprintf(out, "%s = parts of all of %s", dst, src); break;
    case STRETTO_NODE_REDUCE_SCATTER: fprintf(out, "%s = part of op over %s", dst, src); break;
    case STRETTO_NODE_SCAN: fprintf(out, "%s = op over %s up to me", dst, src); break;
    case STRETTO_NODE_EXSCAN: fprintf(out, "%s = op over %s before me", dst, src); break;
    default: break;
    }
    fputc('\n', out);
}

char *stretto_plan_text(const stretto_plan *plan) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    const stretto_shape *shape = &plan->shape;
    fprintf(out, "rank %d of %d, %s", shape->rank, shape->nranks,
            stretto_collective_name(shape->collective));
    if (stretto_collective_rooted(shape->collective))
        fprintf(out, ", root %d", shape->root);
    fprintf(out, "%s: IN %d, OUT %d, TMP %d blocks, %d actions\n",
            shape->in_place ? ", in place" : "", stretto_plan_blocks_of(plan, STRETTO_IN),
            stretto_plan_blocks_of(plan, STRETTO_OUT), plan->tmp_blocks, plan->nactions);
    for (int i = 0; i < plan->nactions; i++)
        print_action(out, i, &plan->actions[i]);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
