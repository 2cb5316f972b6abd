/* Deliberate faults in a plan, and arguments, independent of the verifier, by which some of them do
 * no harm. */
#ifndef STRETTO_TEST_MUTATE_H
#define STRETTO_TEST_MUTATE_H

#include "cases.h"

typedef enum {
    DROP_SEND, /* and its wait */
    DROP_RECV, /* and its wait */
    DROP_BOTH, /* a message altogether, on both ranks */
    DROP_LOCAL,
    DROP_NODE,
    DROP_WAIT, /* or fence */
    LATE_WAIT, /* or fence: changes places with the action after it */
    SWAP_SIDE,
    OTHER_PEER,
    OTHER_ROOT,
    SRC_UP, /* spans one block further, back, longer, shorter */
    SRC_DOWN,
    SRC_LONGER,
    SRC_SHORTER,
    DST_UP,
    DST_DOWN,
    DST_LONGER,
    DST_SHORTER,
    BOTH_SHORTER, /* a message, on both ranks */
    REDUCE_TWICE,
    REDUCE_SELF, /* the operand is replaced by the partial result */
    MUTATIONS
} mutation;

static const char *const mutation_names[MUTATIONS] = {
    "drop send",         "drop receive",    "drop message",    "drop copy/reduce",
    "drop node action",  "drop wait/fence", "late wait/fence", "swap side",
    "other peer",        "other node root", "source +1",       "source -1",
    "source longer",     "source shorter",  "target +1",       "target -1",
    "target longer",     "target shorter",  "message shorter", "reduce twice",
    "reduce with itself"};

static inline bool is_message(const stretto_action *a) {
    return a->kind == STRETTO_SEND || a->kind == STRETTO_RECV;
}

static inline bool is_wait(const stretto_action *a) {
    return a->kind == STRETTO_WAIT || a->kind == STRETTO_FENCE;
}

/* Replaces action i, and the waits for it, by actions that do nothing. */
static inline void blank(stretto_plan *plan, int i) {
    const stretto_action nothing = {.kind = STRETTO_COPY};
    for (int j = i + 1; j < plan->nactions; j++)
        if (plan->actions[j].kind == STRETTO_WAIT && plan->actions[j].peer == i)
            plan->actions[j] = nothing;
    plan->actions[i] = nothing;
}

static inline void insert(stretto_plan *plan, int at, stretto_action action) {
    plan->capacity = plan->nactions + 1;
    plan->actions = realloc(plan->actions, (size_t)plan->capacity * sizeof action);
    memmove(plan->actions + at + 1, plan->actions + at,
            (size_t)(plan->nactions - at) * sizeof action);
    plan->nactions++;
    plan->actions[at] = action;
    for (int j = at + 1; j < plan->nactions; j++)
        if (plan->actions[j].kind == STRETTO_WAIT && plan->actions[j].peer >= at)
            plan->actions[j].peer++;
}

/* The action of the peer that message i of `rank` matches. */
static inline int find_partner(const stretto_plan *plans, int rank, int i) {
    const stretto_action *a = &plans[rank].actions[i];
    int number = 0;
    for (int j = 0; j < i; j++)
        number += plans[rank].actions[j].kind == a->kind && plans[rank].actions[j].peer == a->peer;
    for (int j = 0; j < plans[a->peer].nactions; j++) {
        const stretto_action *b = &plans[a->peer].actions[j];
        if (is_message(b) && b->kind != a->kind && b->peer == rank && number-- == 0)
            return j;
    }
    return -1;
}

/* What a node action does with the spans of a rank. */
static inline bool node_root(const stretto_plan *plan, const stretto_action *a) {
    return stretto_action_rooted(a->kind) &&
           plan->shape.layout->local_of[plan->shape.rank] == a->peer;
}

static inline bool node_reads_src(const stretto_plan *plan, const stretto_action *a) {
    return a->kind >= STRETTO_NODE_REDUCE &&
           (a->kind != STRETTO_NODE_SCATTER || node_root(plan, a));
}

static inline bool node_has_dst(const stretto_plan *plan, const stretto_action *a) {
    switch (a->kind) {
    case STRETTO_NODE_REDUCE:
    case STRETTO_NODE_GATHER: return node_root(plan, a);
    case STRETTO_NODE_EXSCAN: return plan->shape.layout->local_of[plan->shape.rank] > 0;
    default: return a->kind > STRETTO_NODE_BARRIER;
    }
}

static inline bool shift_span(stretto_span *span, int first, int count) {
    if (span->count == 0)
        return false;
    span->first += first;
    span->count += count;
    return true;
}

/* Applies the mutation to action i of a rank; false where it is not valid there. */
static inline bool mutate(stretto_plan *plans, int rank, int i, mutation m) {
    stretto_plan *plan = &plans[rank];
    stretto_action *a = &plan->actions[i];
    const stretto_shape *s = &plan->shape;
    bool local = a->kind == STRETTO_COPY || a->kind == STRETTO_REDUCE_LOCAL;
    bool node = a->kind >= STRETTO_NODE_BARRIER;
    bool has_src = a->kind == STRETTO_SEND || local || node_reads_src(plan, a);
    bool has_dst = a->kind == STRETTO_RECV || local || node_has_dst(plan, a);
    int nlocal = 0;
    if (node) {
        int n = s->layout->node_of[rank];
        nlocal = s->layout->node_start[n + 1] - s->layout->node_start[n];
    }
    switch (m) {
    case DROP_SEND:
    case DROP_RECV:
        if (a->kind != (m == DROP_SEND ? STRETTO_SEND : STRETTO_RECV))
            return false;
        blank(plan, i);
        return true;
    case DROP_BOTH:
        if (a->kind != STRETTO_SEND)
            return false;
        int peer = a->peer, partner = find_partner(plans, rank, i);
        blank(plan, i);
        blank(&plans[peer], partner);
        return true;
    case DROP_LOCAL:
        if (!local)
            return false;
        blank(plan, i);
        return true;
    case DROP_NODE:
        if (!node || nlocal < 2)
            return false;
        blank(plan, i);
        return true;
    case DROP_WAIT:
        if (!is_wait(a))
            return false;
        blank(plan, i);
        return true;
    case LATE_WAIT: {
        if (!is_wait(a) || i + 1 >= plan->nactions)
            return false;
        stretto_action next = plan->actions[i + 1];
        if (next.kind == STRETTO_WAIT && next.peer == i)
            return false;
        plan->actions[i + 1] = *a;
        plan->actions[i] = next;
        for (int j = i; j < plan->nactions; j++)
            if (plan->actions[j].kind == STRETTO_WAIT && plan->actions[j].peer == i + 1)
                plan->actions[j].peer = i;
        return true;
    }
    case SWAP_SIDE:
        if (a->kind != STRETTO_REDUCE_LOCAL)
            return false;
        a->side = a->side == STRETTO_SRC_LEFT ? STRETTO_SRC_RIGHT : STRETTO_SRC_LEFT;
        return true;
    case OTHER_PEER:
        if (!is_message(a) || s->nranks < 3)
            return false;
        do
            a->peer = (a->peer + 1) % s->nranks;
        while (a->peer == rank);
        return true;
    case OTHER_ROOT:
        if (!stretto_action_rooted(a->kind) || nlocal < 2)
            return false;
        a->peer = (a->peer + 1) % nlocal;
        return true;
    case SRC_UP: return has_src && shift_span(&a->src, 1, 0);
    case SRC_DOWN: return has_src && shift_span(&a->src, -1, 0);
    case SRC_LONGER: return has_src && shift_span(&a->src, 0, 1);
    case SRC_SHORTER: return has_src && shift_span(&a->src, 0, -1);
    case DST_UP: return has_dst && shift_span(&a->dst, 1, 0);
    case DST_DOWN: return has_dst && shift_span(&a->dst, -1, 0);
    case DST_LONGER: return has_dst && shift_span(&a->dst, 0, 1);
    case DST_SHORTER: return has_dst && shift_span(&a->dst, 0, -1);
    case BOTH_SHORTER: {
        if (a->kind != STRETTO_SEND || a->src.count == 0)
            return false;
        int j = find_partner(plans, rank, i);
        a->src.count--;
        plans[a->peer].actions[j].dst.count--;
        return true;
    }
    case REDUCE_TWICE:
        if (a->kind != STRETTO_REDUCE_LOCAL)
            return false;
        insert(plan, i, *a);
        return true;
    case REDUCE_SELF:
        if (a->kind != STRETTO_REDUCE_LOCAL)
            return false;
        insert(plan, i, (stretto_action){.kind = STRETTO_COPY, .src = a->dst, .dst = a->src});
        return true;
    default: return false;
    }
}

/* ---- why a missing or late wait may do no harm ------------------------------------------------
 */

static inline bool meets(stretto_span a, stretto_span b) {
    return a.count > 0 && b.count > 0 && a.buffer == b.buffer && a.first < b.first + b.count &&
           b.first < a.first + a.count;
}

/* Would action j be wrong while message m of the same plan is under way? */
static inline bool disturbs(const stretto_plan *plan, int j, const stretto_action *m) {
    const stretto_action *a = &plan->actions[j];
    bool root_has_it = a->kind == STRETTO_NODE_BCAST && node_root(plan, a);
    bool reads_src = a->kind == STRETTO_SEND || a->kind == STRETTO_COPY ||
                     a->kind == STRETTO_REDUCE_LOCAL || node_reads_src(plan, a);
    bool reads_dst = a->kind == STRETTO_REDUCE_LOCAL || root_has_it;
    bool writes_src = a->kind == STRETTO_REDUCE_LOCAL; /* destroys it */
    bool writes_dst = a->kind == STRETTO_RECV || a->kind == STRETTO_COPY ||
                      a->kind == STRETTO_REDUCE_LOCAL || (node_has_dst(plan, a) && !root_has_it);
    if (m->kind == STRETTO_SEND)
        return (writes_src && meets(a->src, m->src)) || (writes_dst && meets(a->dst, m->src));
    return (reads_src && meets(a->src, m->dst)) ||
           ((reads_dst || writes_dst) && meets(a->dst, m->dst));
}

static inline bool covers(const stretto_plan *plan, int w, int message) {
    const stretto_action *a = &plan->actions[w];
    return w > message &&
           (a->kind == STRETTO_FENCE || (a->kind == STRETTO_WAIT && a->peer == message));
}

/* In the unchanged plan: may the wait or fence w be left out (late = false), or come after the
 * action that follows it (late = true)? Every message that ends at w must end later, with nothing
 * disturbing it until then. */
static inline bool wait_is_idle(const stretto_plan *plan, int w, bool late) {
    for (int m = 0; m < w; m++) {
        if (!is_message(&plan->actions[m]) || !covers(plan, w, m))
            continue;
        int before = m + 1;
        while (!covers(plan, before, m))
            before++;
        if (before < w)
            continue; /* had ended already */
        int end = w + 1;
        while (!late && end < plan->nactions && !covers(plan, end, m))
            end++;
        if (!late && end == plan->nactions)
            return false;
        for (int j = w + 1; j <= end && j < plan->nactions; j++)
            if (disturbs(plan, j, &plan->actions[m]))
                return false;
    }
    return true;
}

/* ---- neighbourhoods: does every rank still know the sizes of its TMP? --------------------------
 */

static inline int from_rank(const stretto_shape *s, int name) {
    return stretto_collective_neighbor_gathers(s->collective)
               ? name
               : stretto_graph_source(s->graph, name);
}

/* Name of block b of a span as a rank has it. */
static inline int name_of(const stretto_plan *plan, stretto_span span, int b) {
    const stretto_shape *s = &plan->shape;
    const bool gathers = stretto_collective_neighbor_gathers(s->collective);
    if (span.buffer == STRETTO_TMP)
        return plan->tmp_shape[span.first + b];
    if (span.buffer == STRETTO_IN)
        return gathers ? s->rank : s->graph->out_start[s->rank] + span.first + b;
    const int edge = s->graph->in_edge[s->graph->in_start[s->rank] + span.first + b];
    return edge < 0 ? -1 : gathers ? stretto_graph_source(s->graph, edge) : edge;
}

/* From the side of those who tell: what a rank's TMP names is its own, or in what somebody says. */
static inline bool sizes_are_known(const stretto_plan *plans, int n) {
    static bool known[1 << 16];
    for (int r = 0; r < n; r++) {
        const stretto_plan *plan = &plans[r];
        memset(known, 0, sizeof known);
        for (int buffer = STRETTO_IN; buffer <= STRETTO_OUT; buffer++)
            for (int b = 0; b < stretto_plan_blocks_of(plan, (stretto_buffer)buffer); b++) {
                int own = name_of(plan, stretto_span_of((stretto_buffer)buffer, b, 1), 0);
                if (own >= 0)
                    known[own] = true;
            }
        for (int p = 0; p < n; p++) {
            bool tells = false;
            for (int i = 0; i < plans[p].nactions; i++) {
                const stretto_action *a = &plans[p].actions[i];
                tells = tells || (a->kind == STRETTO_SEND && a->peer == r && a->src.count == 0);
            }
            for (int i = 0; tells && i < plans[p].nactions; i++) {
                const stretto_action *a = &plans[p].actions[i];
                const stretto_span span = a->kind == STRETTO_SEND ? a->src : a->dst;
                if (!is_message(a) || a->peer != r)
                    continue;
                for (int b = 0; b < span.count; b++) {
                    const int name = name_of(&plans[p], span, b);
                    const int whose = from_rank(&plan->shape, name);
                    if (a->kind == STRETTO_SEND ? whose == p : whose != r)
                        known[name] = true;
                }
            }
        }
        for (int b = 0; b < plan->tmp_blocks; b++)
            if (!known[plan->tmp_shape[b]])
                return false;
    }
    return true;
}

/* ---- is it still a barrier? -------------------------------------------------------------------
 */

/* Does every rank's end happen after every rank's beginning? By walking the graph whose edges are
 * each rank's order, messages (from the send to the wait for the receive), and node barriers. */
static inline bool is_barrier(const stretto_plan *plans, int n) {
    enum { MOST_ACTIONS = 512 };
    static bool seen[MOST_RANKS][MOST_ACTIONS];
    static int stack[MOST_RANKS * MOST_ACTIONS];
    for (int start = 0; start < n; start++) {
        int top = 0;
        memset(seen, 0, sizeof seen);
#define VISIT(r, i)                                                                                \
    do {                                                                                           \
        if (!seen[r][i]) {                                                                         \
            seen[r][i] = true;                                                                     \
            stack[top++] = (r)*MOST_ACTIONS + (i);                                                 \
        }                                                                                          \
    } while (0)
        VISIT(start, 0);
        while (top > 0) {
            int at = stack[--top], r = at / MOST_ACTIONS, i = at % MOST_ACTIONS;
            const stretto_plan *plan = &plans[r];
            if (i == plan->nactions)
                continue;
            const stretto_action *a = &plan->actions[i];
            VISIT(r, i + 1);
            if (a->kind == STRETTO_SEND) {
                int j = find_partner(plans, r, i), w = j + 1;
                while (w < plans[a->peer].nactions && !covers(&plans[a->peer], w, j))
                    w++;
                VISIT(a->peer, w);
            } else if (a->kind == STRETTO_NODE_BARRIER) {
                const stretto_layout *layout = plan->shape.layout;
                int number = 0;
                for (int j = 0; j < i; j++)
                    number += plan->actions[j].kind == STRETTO_NODE_BARRIER;
                for (int other = 0; other < n; other++) {
                    if (layout->node_of[other] != layout->node_of[r])
                        continue;
                    int j = 0, left = number;
                    while (plans[other].actions[j].kind != STRETTO_NODE_BARRIER || left-- > 0)
                        j++;
                    VISIT(other, j + 1);
                }
            }
        }
#undef VISIT
        for (int r = 0; r < n; r++)
            if (!seen[r][plans[r].nactions])
                return false;
    }
    return true;
}

#endif
