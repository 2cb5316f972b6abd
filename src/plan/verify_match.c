/* What can be seen without running: actions that make no sense, messages that have no partner. */
#include "plan/verify_run.h"

#include <stdlib.h>

static int check_span(verify_state *v, int rank, int action, stretto_span span, const char *which) {
    const stretto_plan *plan = &v->plans[rank];
    if (span.count == 0)
        return 0;
    int blocks =
        (unsigned)span.buffer <= STRETTO_TMP ? stretto_plan_blocks_of(plan, span.buffer) : 0;
    if (span.count < 0 || span.first < 0 || span.first > blocks - span.count)
        return stretto_verify_fail(v, rank, action,
                                   "%s span [%d, %d) is outside its buffer of %d blocks", which,
                                   span.first, span.first + span.count, blocks);
    const stretto_collective c = plan->shape.collective;
    if (span.buffer == STRETTO_IN && stretto_plan_mine(plan, 0, 0).buffer == STRETTO_OUT &&
        c != STRETTO_SCATTER && c != STRETTO_SCATTERV)
        return stretto_verify_fail(v, rank, action, "touches IN, which is absent in place");
    const bool apart = stretto_collective_apart(c);
    const bool whole_node = plan->actions[action].kind >= STRETTO_NODE_BARRIER;
    if (span.count > 1 && span.buffer != STRETTO_TMP && apart && !whole_node)
        return stretto_verify_fail(v, rank, action,
                                   "%s span has several blocks, which need not be adjacent", which);
    for (int i = 0; span.count > 1 && span.buffer == STRETTO_TMP && i < span.count; i++)
        if (v->ranks[rank].blocks[STRETTO_TMP][span.first + i].size == ANY_SIZE)
            return stretto_verify_fail(
                v, rank, action, "%s span has a block of no certain size among others", which);
    return 0;
}

static bool overlap(stretto_span a, stretto_span b) {
    return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

/* Does the action write dst? Of node actions all but those whose result is elsewhere. */
static bool writes(const stretto_plan *plan, const stretto_action *a) {
    const stretto_shape *s = &plan->shape;
    switch (a->kind) {
    case STRETTO_SEND:
    case STRETTO_WAIT:
    case STRETTO_FENCE:
    case STRETTO_NODE_BARRIER: return false;
    case STRETTO_NODE_REDUCE:
    case STRETTO_NODE_GATHER: return s->layout && s->layout->local_of[s->rank] == a->peer;
    case STRETTO_NODE_EXSCAN: return s->layout && s->layout->local_of[s->rank] > 0;
    default: return true;
    }
}

static int check_action(verify_state *v, int rank, int i) {
    const stretto_plan *plan = &v->plans[rank];
    const stretto_action *a = &plan->actions[i];
    if ((unsigned)a->kind >= STRETTO_ACTION_KINDS)
        return stretto_verify_fail(v, rank, i, "there is no action of kind %d", (int)a->kind);
    if (check_span(v, rank, i, a->src, "source") || check_span(v, rank, i, a->dst, "destination"))
        return -1;
    if (writes(plan, a) && a->dst.count > 0 && a->dst.buffer == STRETTO_IN)
        return stretto_verify_fail(v, rank, i, "writes IN");
    if (writes(plan, a) && a->dst.count > 0 && a->dst.buffer == STRETTO_OUT && rank == 0 &&
        plan->shape.collective == STRETTO_EXSCAN)
        return stretto_verify_fail(v, rank, i, "writes OUT, which rank 0 must leave as it is");
    switch (a->kind) {
    case STRETTO_SEND:
    case STRETTO_RECV:
        if (a->peer < 0 || a->peer >= v->nranks || a->peer == rank)
            return stretto_verify_fail(v, rank, i, "there is no peer %d", a->peer);
        break;
    case STRETTO_WAIT:
        if (a->peer < 0 || a->peer >= i || plan->actions[a->peer].kind > STRETTO_RECV)
            return stretto_verify_fail(v, rank, i, "waits for %d, which is not an earlier message",
                                       a->peer);
        break;
    case STRETTO_REDUCE_LOCAL:
        if (a->src.buffer != STRETTO_TMP)
            return stretto_verify_fail(v, rank, i, "its source, which it may destroy, is not TMP");
        if (a->side != STRETTO_SRC_LEFT && a->side != STRETTO_SRC_RIGHT)
            return stretto_verify_fail(v, rank, i, "has no operand side");
        /* fall through */
    case STRETTO_COPY:
        if (a->src.count != a->dst.count)
            return stretto_verify_fail(v, rank, i, "source has %d blocks, destination %d",
                                       a->src.count, a->dst.count);
        if (overlap(a->src, a->dst))
            return stretto_verify_fail(v, rank, i, "source and destination overlap");
        break;
    default: break;
    }
    if (a->kind >= STRETTO_NODE_BARRIER && plan->carries &&
        plan->shape.collective == STRETTO_ALLTOALLV)
        return stretto_verify_fail(v, rank, i, "a node action in a plan that carries blocks");
    if (a->kind >= STRETTO_NODE_BARRIER && !plan->shape.layout)
        return stretto_verify_fail(v, rank, i, "a node action, but no layout is known");
    return 0;
}

int stretto_verify_static(verify_state *v) {
    for (int rank = 0; rank < v->nranks; rank++)
        for (int i = 0; i < v->plans[rank].nactions; i++)
            if (check_action(v, rank, i) != 0)
                return -1;
    return 0;
}

static int match_pair(verify_state *v, int sender, int send, int receiver, int recv) {
    verify_rank *s = &v->ranks[sender], *r = &v->ranks[receiver];
    const stretto_span src = s->plan->actions[send].src, dst = r->plan->actions[recv].dst;
    v->actions[s->base + send].partner = r->base + recv;
    v->actions[r->base + recv].partner = s->base + send;
    if (src.count != dst.count)
        return stretto_verify_fail(v, receiver, recv,
                                   "receives %d blocks, but rank %d sends %d (its action %d)",
                                   dst.count, sender, src.count, send);
    for (int b = 0; b < src.count; b++) {
        int sent = stretto_verify_blocks(s, src)[b].size;
        int expected = stretto_verify_blocks(r, dst)[b].size;
        if (sent == ANY_SIZE)
            return stretto_verify_fail(v, sender, send, "sends a block of no certain size");
        if (sent != expected && expected != ANY_SIZE)
            return stretto_verify_fail(
                v, receiver, recv,
                "block %d differs in size from what rank %d sends (its action %d)", b, sender,
                send);
    }
    return 0;
}

/* Sends waiting for their receives, found by sender, for one receiver at a time: memory grows with
 * the messages and the ranks, not with the pairs of ranks. */
typedef struct {
    int *start;         /* [nranks + 1] where each receiver's sends begin in `sends` */
    int *sends;         /* all sends, by receiver, then by sender, then in issue order */
    int *sender;        /* [the same] who sends it */
    int *next, *behind; /* [nranks] by sender: its first send not yet matched, and the end */
} match_table;

static bool make_table(verify_state *v, match_table *t) {
    const int n = v->nranks;
    t->start = calloc((size_t)n + 2, sizeof *t->start);
    t->sends = calloc((size_t)v->nactions + 1, sizeof *t->sends);
    t->sender = calloc((size_t)v->nactions + 1, sizeof *t->sender);
    t->next = calloc((size_t)n, sizeof *t->next);
    t->behind = calloc((size_t)n, sizeof *t->behind);
    if (!t->start || !t->sends || !t->sender || !t->next || !t->behind)
        return false;
    /* a counting sort; start[r + 1] is where receiver r's next send goes, and in the end its end */
    for (int rank = 0; rank < n; rank++)
        for (int i = 0; i < v->plans[rank].nactions; i++)
            if (v->plans[rank].actions[i].kind == STRETTO_SEND)
                t->start[v->plans[rank].actions[i].peer + 2]++;
    for (int r = 0; r < n; r++)
        t->start[r + 2] += t->start[r + 1];
    for (int rank = 0; rank < n; rank++)
        for (int i = 0; i < v->plans[rank].nactions; i++)
            if (v->plans[rank].actions[i].kind == STRETTO_SEND) {
                int at = t->start[v->plans[rank].actions[i].peer + 1]++;
                t->sends[at] = i;
                t->sender[at] = rank;
            }
    return true;
}

static int match_receiver(verify_state *v, match_table *t, int rank) {
    const int end = t->start[rank + 1];
    for (int at = t->start[rank]; at < end; at++) {
        if (at == t->start[rank] || t->sender[at] != t->sender[at - 1])
            t->next[t->sender[at]] = at;
        t->behind[t->sender[at]] = at + 1;
    }
    for (int i = 0; i < v->plans[rank].nactions; i++) {
        const stretto_action *a = &v->plans[rank].actions[i];
        if (a->kind != STRETTO_RECV)
            continue;
        if (t->next[a->peer] == t->behind[a->peer])
            return stretto_verify_fail(v, rank, i,
                                       "receives from rank %d, which sends nothing more", a->peer);
        if (match_pair(v, a->peer, t->sends[t->next[a->peer]++], rank, i) != 0)
            return -1;
    }
    for (int at = t->start[rank]; at < end; at++) {
        int sender = t->sender[at];
        if (t->next[sender] < t->behind[sender])
            return stretto_verify_fail(v, sender, t->sends[t->next[sender]],
                                       "is never received by rank %d", rank);
        t->next[sender] = t->behind[sender] = 0;
    }
    return 0;
}

int stretto_verify_match(verify_state *v) {
    match_table t = {0};
    int status = 0;
    if (!make_table(v, &t))
        status = stretto_verify_fail(v, -1, -1, "out of memory");
    for (int rank = 0; rank < v->nranks && status == 0; rank++)
        status = match_receiver(v, &t, rank);
    free(t.start);
    free(t.sends);
    free(t.sender);
    free(t.next);
    free(t.behind);
    return status;
}
