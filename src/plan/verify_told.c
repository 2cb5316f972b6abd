/* Neighbourhood collectives: sizes are known to the two ends of an edge only, and a rank through
 * which others' blocks pass must have been told theirs (plan.h: messages with an empty span). */
#include "plan/verify_run.h"

#include <stdlib.h>

/* The rank that a block of the call comes from. */
static int source_of(const verify_state *v, int name) {
    return stretto_collective_neighbor_gathers(v->shape->collective)
               ? name
               : stretto_graph_source(v->shape->graph, name);
}

static bool is_own(const verify_state *v, int rank, int name) {
    const stretto_graph *g = v->shape->graph;
    if (source_of(v, name) == rank)
        return true;
    if (!stretto_collective_neighbor_gathers(v->shape->collective))
        return g->out_to[name] == rank;
    for (int i = g->in_start[rank]; i < g->in_start[rank + 1]; i++)
        if (g->in_edge[i] >= 0 && stretto_graph_source(g, g->in_edge[i]) == name)
            return true;
    return false;
}

static bool is_told_of(const stretto_action *a) {
    return a->kind == STRETTO_RECV && a->dst.count == 0;
}

/* Marks what the messages between a rank and the peers that tell it say. */
static int check_rank(verify_state *v, int rank, bool *heard, bool *known) {
    const stretto_plan *plan = &v->plans[rank];
    bool begun = false;
    for (int i = 0; i < plan->nactions; i++) {
        const stretto_action *a = &plan->actions[i];
        const bool message = a->kind == STRETTO_SEND || a->kind == STRETTO_RECV;
        const bool tells = message && (a->kind == STRETTO_SEND ? a->src : a->dst).count == 0;
        if (tells && begun)
            return stretto_verify_fail(v, rank, i, "sends sizes after other messages");
        begun = begun || (message && !tells);
        if (is_told_of(a))
            heard[a->peer] = true;
    }
    for (int i = 0; i < plan->nactions; i++) {
        const stretto_action *a = &plan->actions[i];
        const bool sends = a->kind == STRETTO_SEND;
        const stretto_span span = sends ? a->src : a->dst;
        if ((!sends && a->kind != STRETTO_RECV) || span.buffer != STRETTO_TMP || !heard[a->peer])
            continue;
        for (int b = span.first; b < span.first + span.count; b++) {
            const int name = plan->tmp_shape[b];
            if (name >= 0 && (sends ? source_of(v, name) != rank : source_of(v, name) == a->peer))
                known[name] = true;
        }
    }
    int status = 0;
    for (int b = 0; b < plan->tmp_blocks && status == 0; b++) {
        const int name = plan->tmp_shape[b];
        if (name < 0)
            status = stretto_verify_fail(v, rank, -1, "TMP block %d has no certain size", b);
        else if (!known[name] && !is_own(v, rank, name))
            status = stretto_verify_fail(v, rank, -1, "never receives the size of TMP block %d", b);
    }
    for (int i = 0; i < plan->nactions; i++)
        if (is_told_of(&plan->actions[i]))
            heard[plan->actions[i].peer] = false;
    for (int b = 0; b < plan->tmp_blocks; b++)
        if (plan->tmp_shape[b] >= 0)
            known[plan->tmp_shape[b]] = false;
    return status;
}

int stretto_verify_told(verify_state *v) {
    if (!stretto_collective_neighbor(v->shape->collective))
        return 0;
    bool *heard = calloc((size_t)v->nranks, sizeof *heard);
    bool *known = calloc((size_t)stretto_plan_call_blocks(&v->plans[0]) + 1, sizeof *known);
    int status = heard && known ? 0 : stretto_verify_fail(v, -1, -1, "out of memory");
    for (int rank = 0; rank < v->nranks && status == 0; rank++)
        status = check_rank(v, rank, heard, known);
    free(heard);
    free(known);
    return status;
}
