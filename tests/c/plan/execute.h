/* Carries plans out on real data, all ranks in one process, under a random schedule: an independent
 * second opinion on the verifier, with which it shares no code.
 *
 * Messages are moved as late as a WAIT or FENCE allows, or earlier by chance; sends are synchronous
 * or buffered by chance. Elements are affine maps x -> a x + b modulo a prime, put together (which
 * is associative and not commutative), or added where the operation is commutative. */
#ifndef STRETTO_TEST_EXECUTE_H
#define STRETTO_TEST_EXECUTE_H

#include "cases.h"

#include <assert.h>

typedef uint64_t element;

#define EXEC_POISON 0xa5a5a5a5a5a5a5a5 /* what never written elements hold */
static const uint64_t prime = 2147483647;

typedef struct {
    int count;                /* vector: elements; allgather, alltoall: elements a block */
    unsigned seed;            /* of the schedule */
    unsigned haste;           /* 0..100: chance that a message moves before it must */
    bool buffered;            /* sends may complete early */
    struct exec_probe *probe; /* or NULL */
} execution;

/* Asks whether two spans of a rank hold the same when it comes to an action. */
typedef struct exec_probe {
    int rank, action;
    stretto_span a, b;
    bool equal;
} exec_probe;

typedef struct {
    element *data[3];
    int *start[3]; /* [blocks + 1] */
    int at;
    bool *moved;    /* by action: a message is complete */
    bool *started;  /* by action */
    element **held; /* by action: contents of a buffered send */
    element before; /* the first element of OUT when the call begins */
} exec_rank;

static inline element exec_combine(element left, element right, bool commutative) {
    if (commutative)
        return left + right;
    uint64_t a = left >> 32, b = left & 0xffffffff, c = right >> 32, d = right & 0xffffffff;
    return (a * c % prime) << 32 | (a * d + b) % prime;
}

/* What rank `rank` contributes as element i of its block for `peer` (0 for other collectives). */
static inline element exec_input(int rank, int peer, int i) {
    random_state r = {(uint64_t)rank * 1000003 + (uint64_t)peer * 10007 + (uint64_t)i + 17};
    random_below(&r, 2);
    uint64_t a = 1 + random_below(&r, 2147483645), b = random_below(&r, 2147483646);
    return a << 32 | b;
}

/* Set by a test that tells spans apart by what they hold: no block is empty. */
static bool exec_no_empty_blocks;

/* Elements that `source` has for `target` in alltoallv; in place both directions are equal. */
static inline int exec_ragged(const stretto_shape *s, int source, int target) {
    int low = source < target ? source : target, high = source + target - low;
    int n = s->in_place ? (high * 5 + low * 3) % 4 : (source * 7 + target * 3) % 5;
    return n + exec_no_empty_blocks;
}

/* Elements in rank r's share: equal, or by the rank in the forms that allow it. */
static inline int exec_share(const stretto_shape *s, int r, int count) {
    switch (s->collective) {
    case STRETTO_ALLGATHERV:
    case STRETTO_GATHERV:
    case STRETTO_SCATTERV:
    case STRETTO_REDUCE_SCATTER:
        return exec_no_empty_blocks ? 1 + r : (r * 7 + count) % 5 * (r % 3);
    default: return count;
    }
}

/* Elements in block `block` of the call. */
static inline int exec_call_size(const stretto_plan *plan, int block, int count) {
    const int p = plan->shape.nranks;
    if (plan->shape.collective == STRETTO_ALLTOALLV && block >= p) /* of any pair */
        return exec_ragged(&plan->shape, block / p - 1, block % p);
    if (plan->shape.collective == STRETTO_ALLTOALLV)
        return exec_ragged(&plan->shape, block, plan->shape.rank);
    if (!stretto_collective_vector(plan->shape.collective))
        return exec_share(&plan->shape, block, count);
    long n = plan->vector_blocks;
    return (int)((block + 1L) * count / n - (long)block * count / n);
}

/* Neighbourhoods: the edge behind slot b of OUT (-1: none), and elements of a block of the call. */
static inline int exec_edge(const stretto_shape *s, int b) {
    return s->graph->in_edge[s->graph->in_start[s->rank] + b];
}

static inline int exec_neighbor_size(const stretto_shape *s, int name, int count) {
    (void)s;
    return exec_no_empty_blocks ? 1 + name % 7 : (name * 7 + count) % 5 * (name % 3);
}

static inline int exec_neighbor_block(const stretto_plan *plan, stretto_buffer buffer, int block,
                                      int count) {
    const stretto_shape *s = &plan->shape;
    const bool gathers = stretto_collective_neighbor_gathers(s->collective);
    int name = plan->tmp_shape && buffer == STRETTO_TMP ? plan->tmp_shape[block] : 0;
    if (buffer == STRETTO_IN)
        name = gathers ? s->rank : s->graph->out_start[s->rank] + block;
    if (buffer == STRETTO_OUT && (name = exec_edge(s, block)) < 0)
        return 3; /* to be left alone */
    if (buffer == STRETTO_OUT && gathers)
        name = stretto_graph_source(s->graph, name);
    return exec_neighbor_size(s, name, count);
}

static inline int exec_size(const stretto_plan *plan, stretto_buffer buffer, int block, int count) {
    if (stretto_collective_neighbor(plan->shape.collective))
        return exec_neighbor_block(plan, buffer, block, count);
    if (buffer == STRETTO_IN && plan->shape.collective == STRETTO_ALLTOALLV)
        return exec_ragged(&plan->shape, plan->shape.rank, block);
    if (buffer != STRETTO_TMP) {
        /* IN or OUT of a single block is my own share */
        bool own = stretto_plan_blocks_of(plan, buffer) == 1 &&
                   !stretto_collective_vector(plan->shape.collective);
        return exec_call_size(plan, own ? plan->shape.rank : block, count);
    }
    if (plan->tmp_shape[block] != STRETTO_SHAPE_LARGEST)
        return exec_call_size(plan, plan->tmp_shape[block], count);
    int largest = 0;
    for (int b = 0; b < stretto_plan_call_blocks(plan); b++)
        if (exec_call_size(plan, b, count) > largest)
            largest = exec_call_size(plan, b, count);
    return largest;
}

static inline element *exec_at(exec_rank *r, stretto_span span) {
    return r->data[span.buffer] + r->start[span.buffer][span.first];
}

static inline int exec_length(exec_rank *r, stretto_span span) {
    if (span.count == 0)
        return 0;
    const int *start = r->start[span.buffer];
    return start[span.first + span.count] - start[span.first];
}

/* Does a rank contribute one block to a collective whose call has one a rank? */
static inline bool exec_one_block(const stretto_shape *s) {
    return s->collective == STRETTO_ALLGATHER || s->collective == STRETTO_ALLGATHERV ||
           s->collective == STRETTO_GATHER || s->collective == STRETTO_GATHERV ||
           stretto_collective_neighbor_gathers(s->collective);
}

static inline void exec_prepare(exec_rank *r, const stretto_plan *plan, const execution *e) {
    const stretto_shape *s = &plan->shape;
    memset(r, 0, sizeof *r);
    for (int buffer = STRETTO_IN; buffer <= STRETTO_TMP; buffer++) {
        int n = stretto_plan_blocks_of(plan, (stretto_buffer)buffer);
        r->start[buffer] = calloc((size_t)n + 1, sizeof(int));
        for (int b = 0; b < n; b++)
            r->start[buffer][b + 1] =
                r->start[buffer][b] + exec_size(plan, (stretto_buffer)buffer, b, e->count);
        int total = r->start[buffer][n];
        r->data[buffer] = malloc(((size_t)total + 1) * sizeof(element));
        memset(r->data[buffer], EXEC_POISON & 0xff, ((size_t)total + 1) * sizeof(element));
    }
    r->moved = calloc((size_t)plan->nactions + 1, sizeof(bool));
    r->started = calloc((size_t)plan->nactions + 1, sizeof(bool));
    r->held = calloc((size_t)plan->nactions + 1, sizeof(element *));
    const bool one = exec_one_block(s);
    stretto_buffer mine = stretto_plan_mine(plan, 0, 0).buffer;
    if (s->collective == STRETTO_BCAST)
        mine = STRETTO_OUT;
    else if (s->collective == STRETTO_SCATTER || s->collective == STRETTO_SCATTERV)
        mine = STRETTO_IN;
    int first = one && mine == STRETTO_OUT ? s->rank : 0;
    int n = one ? 1 : stretto_plan_blocks_of(plan, mine);
    if (s->collective == STRETTO_BCAST && s->rank != s->root)
        n = 0;
    bool apart =
        !one && !stretto_collective_vector(s->collective); /* blocks count for themselves */
    for (int b = first; b < first + n; b++)
        for (int i = r->start[mine][b]; i < r->start[mine][b + 1]; i++)
            r->data[mine][i] =
                exec_input(s->rank, apart ? b : 0, i - r->start[mine][apart ? b : first]);
    r->before = r->start[STRETTO_OUT][stretto_plan_blocks_of(plan, STRETTO_OUT)] > 0
                    ? r->data[STRETTO_OUT][0]
                    : 0;
}

static inline void exec_free(exec_rank *r, const stretto_plan *plan) {
    for (int i = 0; i < plan->nactions; i++)
        free(r->held[i]);
    for (int buffer = 0; buffer < 3; buffer++) {
        free(r->data[buffer]);
        free(r->start[buffer]);
    }
    free(r->moved);
    free(r->started);
    free(r->held);
}

/* The partner of message i of `rank`: the same one in the order of its pair; -1 when there is none.
 */
static inline int exec_partner(const stretto_plan *plans, int rank, int i) {
    const stretto_action *a = &plans[rank].actions[i];
    int number = 0;
    for (int j = 0; j < i; j++)
        number += plans[rank].actions[j].kind == a->kind && plans[rank].actions[j].peer == a->peer;
    const stretto_plan *peer = &plans[a->peer];
    stretto_action_kind other = a->kind == STRETTO_SEND ? STRETTO_RECV : STRETTO_SEND;
    for (int j = 0; j < peer->nactions; j++)
        if (peer->actions[j].kind == other && peer->actions[j].peer == rank && number-- == 0)
            return j;
    return -1;
}

/* Moves message i of `rank` if both sides have started; true when it is complete for this rank. */
static inline bool exec_move(exec_rank *ranks, const stretto_plan *plans, int rank, int i) {
    if (ranks[rank].moved[i])
        return true;
    const stretto_action *a = &plans[rank].actions[i];
    int j = exec_partner(plans, rank, i), peer = a->peer;
    if (j < 0 || !ranks[peer].started[j] || !ranks[rank].started[i])
        return false;
    bool sends = a->kind == STRETTO_SEND;
    exec_rank *from = &ranks[sends ? rank : peer], *to = &ranks[sends ? peer : rank];
    int s = sends ? i : j, d = sends ? j : i;
    stretto_span src = plans[sends ? rank : peer].actions[s].src;
    stretto_span dst = plans[sends ? peer : rank].actions[d].dst;
    int n = exec_length(from, src);
    if (n > exec_length(to, dst))
        return false; /* the MPI would report truncation: here it is stuck */
    if (to->moved[d])
        return true;
    memcpy(exec_at(to, dst), from->held[s] ? from->held[s] : exec_at(from, src),
           (size_t)n * sizeof(element));
    from->moved[s] = to->moved[d] = true;
    return true;
}

static inline void exec_local(exec_rank *r, const stretto_plan *plan, const stretto_action *a) {
    int n = exec_length(r, a->dst), other = exec_length(r, a->src);
    if (other < n)
        n = other;
    element *src = exec_at(r, a->src), *dst = exec_at(r, a->dst);
    for (int i = 0; i < n; i++) {
        if (a->kind == STRETTO_COPY)
            dst[i] = src[i];
        else if (a->side == STRETTO_SRC_LEFT)
            dst[i] = exec_combine(src[i], dst[i], plan->shape.commutative);
        else
            dst[i] = exec_combine(dst[i], src[i], plan->shape.commutative);
        if (a->kind == STRETTO_REDUCE_LOCAL)
            src[i] = 0x5a5a5a5a5a5a5a5a; /* as an executor may */
    }
}

/* Appends elements to a growing array. */
typedef struct {
    element *data;
    int n;
} exec_array;

static inline void exec_append(exec_array *a, const element *data, int n) {
    a->data = realloc(a->data, ((size_t)(a->n + n) + 1) * sizeof *a->data);
    memcpy(a->data + a->n, data, (size_t)n * sizeof *data);
    a->n += n;
}

/* Run `part` of `parts` of a rank's span. */
static inline void exec_append_run(exec_array *a, exec_rank *r, stretto_span span, int part,
                                   int parts) {
    int c = span.count / parts;
    stretto_span run = stretto_span_of(span.buffer, span.first + part * c, c);
    if (c > 0)
        exec_append(a, exec_at(r, run), exec_length(r, run));
}

/* The result of one local rank in a node action; n = -1: it has none. */
static inline exec_array exec_node_result(exec_rank *ranks, const stretto_plan *plans,
                                          const int *members, int n, int l) {
    const stretto_action *mine = &plans[members[l]].actions[ranks[members[l]].at];
    stretto_action_kind kind = mine->kind;
    exec_array result = {malloc(sizeof(element)), 0};
    bool root = l == mine->peer;
    if (kind == STRETTO_NODE_BARRIER || (kind == STRETTO_NODE_REDUCE && !root) ||
        (kind == STRETTO_NODE_GATHER && !root) || (kind == STRETTO_NODE_EXSCAN && l == 0) ||
        (kind == STRETTO_NODE_BCAST && root) ||
        (kind == STRETTO_NODE_SCATTER && mine->dst.count == 0)) {
        result.n = -1;
        return result;
    }
    int folded = 0, last = kind == STRETTO_NODE_SCAN ? l : kind == STRETTO_NODE_EXSCAN ? l - 1 : n;
    for (int other = 0; other < n; other++) {
        exec_rank *r = &ranks[members[other]];
        const stretto_action *a = &plans[members[other]].actions[r->at];
        exec_array part = {NULL, 0};
        switch (kind) {
        case STRETTO_NODE_BCAST:
            if (other == a->peer)
                exec_append_run(&result, r, a->dst, 0, 1);
            break;
        case STRETTO_NODE_SCATTER:
            if (other == a->peer)
                exec_append_run(&result, r, a->src, l, n);
            break;
        case STRETTO_NODE_ALLTOALL: exec_append_run(&result, r, a->src, l, n); break;
        case STRETTO_NODE_ALLGATHER:
        case STRETTO_NODE_GATHER: exec_append_run(&result, r, a->src, 0, 1); break;
        default:
            if (other > last)
                break;
            bool shares = kind == STRETTO_NODE_REDUCE_SCATTER;
            exec_append_run(&part, r, a->src, shares ? l : 0, shares ? n : 1);
            if (folded++ == 0)
                exec_append(&result, part.data, part.n);
            else
                for (int i = 0; i < part.n && i < result.n; i++)
                    result.data[i] = exec_combine(result.data[i], part.data[i],
                                                  plans[members[0]].shape.commutative);
            free(part.data);
        }
    }
    return result;
}

/* The node action at which all ranks of a node stand. Works on copies: nothing can overlap. */
static inline void exec_node(exec_rank *ranks, const stretto_plan *plans, const int *members,
                             int n) {
    exec_array results[MOST_RANKS];
    for (int l = 0; l < n; l++)
        results[l] = exec_node_result(ranks, plans, members, n, l);
    for (int l = 0; l < n; l++) {
        exec_rank *r = &ranks[members[l]];
        const stretto_action *a = &plans[members[l]].actions[r->at++];
        int room = results[l].n < 0 ? -1 : exec_length(r, a->dst);
        int length = results[l].n < room ? results[l].n : room;
        if (length > 0)
            memcpy(exec_at(r, a->dst), results[l].data, (size_t)length * sizeof(element));
        free(results[l].data);
    }
}

static inline void exec_compare(exec_rank *r, const stretto_plan *plan, exec_probe *p) {
    p->equal = p->a.first >= 0 && p->b.first >= 0 &&
               p->a.first + p->a.count <= stretto_plan_blocks_of(plan, p->a.buffer) &&
               p->b.first + p->b.count <= stretto_plan_blocks_of(plan, p->b.buffer);
    if (!p->equal)
        return;
    int n = exec_length(r, p->a);
    p->equal = n > 0 && n == exec_length(r, p->b) &&
               memcmp(exec_at(r, p->a), exec_at(r, p->b), (size_t)n * sizeof(element)) == 0 &&
               *exec_at(r, p->a) != EXEC_POISON;
}

/* One step of a rank; false when it cannot move. */
static inline bool exec_step(exec_rank *ranks, const stretto_plan *plans, int rank,
                             const execution *e, random_state *random) {
    exec_rank *r = &ranks[rank];
    const stretto_plan *plan = &plans[rank];
    if (r->at >= plan->nactions)
        return false;
    const stretto_action *a = &plan->actions[r->at];
    if (e->probe && e->probe->rank == rank && e->probe->action == r->at)
        exec_compare(r, plan, e->probe);
    switch (a->kind) {
    case STRETTO_SEND:
    case STRETTO_RECV:
        r->started[r->at] = true;
        if (a->kind == STRETTO_SEND && e->buffered && random_below(random, 2)) {
            size_t n = (size_t)exec_length(r, a->src);
            r->held[r->at] = malloc((n + 1) * sizeof(element));
            memcpy(r->held[r->at], exec_at(r, a->src), n * sizeof(element));
        } else if (random_below(random, 100) < e->haste) {
            exec_move(ranks, plans, rank, r->at);
        }
        break;
    case STRETTO_COPY:
    case STRETTO_REDUCE_LOCAL: exec_local(r, plan, a); break;
    case STRETTO_WAIT:
        if (!r->held[a->peer] && !exec_move(ranks, plans, rank, a->peer))
            return false;
        break;
    case STRETTO_FENCE:
        for (int i = 0; i < r->at; i++)
            if (r->started[i] && !r->held[i] && !exec_move(ranks, plans, rank, i))
                return false;
        break;
    default: {
        const stretto_layout *layout = plan->shape.layout;
        int node = layout->node_of[rank];
        const int *members = layout->node_ranks + layout->node_start[node];
        int n = layout->node_start[node + 1] - layout->node_start[node];
        for (int l = 0; l < n; l++) {
            const stretto_plan *other = &plans[members[l]];
            int at = ranks[members[l]].at;
            if (at >= other->nactions || other->actions[at].kind != a->kind)
                return false;
        }
        exec_node(ranks, plans, members, n);
        return true;
    }
    }
    r->at++;
    return true;
}

/* What the result should be: element i of OUT block b. */
static inline element exec_expected(const stretto_shape *s, int b, int i, int start) {
    int block = 0, last = s->nranks - 1;
    if (stretto_collective_neighbor(s->collective)) {
        const int edge = exec_edge(s, b);
        if (edge < 0)
            return EXEC_POISON;
        const int source = stretto_graph_source(s->graph, edge);
        const bool one = stretto_collective_neighbor_gathers(s->collective);
        return exec_input(source, one ? 0 : edge - s->graph->out_start[source], i);
    }
    switch (s->collective) {
    case STRETTO_BCAST: return exec_input(s->root, 0, start + i);
    case STRETTO_ALLGATHER:
    case STRETTO_ALLGATHERV:
    case STRETTO_GATHER:
    case STRETTO_GATHERV: return exec_input(b, 0, i);
    case STRETTO_SCATTER:
    case STRETTO_SCATTERV: return exec_input(s->root, s->rank, i);
    case STRETTO_ALLTOALL:
    case STRETTO_ALLTOALLV: return exec_input(b, s->rank, i);
    case STRETTO_REDUCE_SCATTER_BLOCK:
    case STRETTO_REDUCE_SCATTER: block = s->rank; break;
    case STRETTO_SCAN: last = s->rank; break;
    case STRETTO_EXSCAN: last = s->rank - 1; break;
    default: break;
    }
    element all = exec_input(0, block, start + i);
    for (int r = 1; r <= last; r++)
        all = exec_combine(all, exec_input(r, block, start + i), s->commutative);
    return all;
}

/* NULL when all ranks have the right result (barrier: all end), else what is wrong. */
static inline const char *execute(const stretto_plan *plans, int nranks, const execution *e) {
    static exec_rank ranks[MOST_RANKS];
    const char *wrong = NULL;
    random_state random = {e->seed};
    for (int r = 0; r < nranks; r++)
        exec_prepare(&ranks[r], &plans[r], e);
    int left = nranks;
    while (left > 0) {
        /* a random rank goes on for a random while; when it cannot, the others are tried in turn */
        int rank = (int)random_below(&random, (unsigned)nranks), tried = 0;
        unsigned steps = 1 + random_below(&random, 8);
        while (tried < nranks && !exec_step(ranks, plans, rank, e, &random)) {
            rank = (rank + 1) % nranks;
            tried++;
        }
        if (tried == nranks)
            break;
        while (--steps > 0 && exec_step(ranks, plans, rank, e, &random))
            ;
        left = 0;
        for (int r = 0; r < nranks; r++)
            left += ranks[r].at < plans[r].nactions;
    }
    for (int r = 0; r < nranks; r++)
        if (ranks[r].at < plans[r].nactions)
            wrong = "stuck";
    for (int r = 0; r < nranks && !wrong; r++) {
        const stretto_shape *s = &plans[r].shape;
        int blocks = stretto_plan_blocks_of(&plans[r], STRETTO_OUT);
        if (s->collective == STRETTO_REDUCE && r != s->root)
            continue;
        if (s->collective == STRETTO_EXSCAN && r == 0) {
            if (ranks[0].start[STRETTO_OUT][blocks] > 0 &&
                *ranks[0].data[STRETTO_OUT] != ranks[0].before)
                wrong = "rank 0 of exscan writes";
            continue;
        }
        for (int b = 0; b < blocks; b++) {
            int start = ranks[r].start[STRETTO_OUT][b], end = ranks[r].start[STRETTO_OUT][b + 1];
            for (int i = start; i < end; i++)
                if (ranks[r].data[STRETTO_OUT][i] != exec_expected(s, b, i - start, start))
                    wrong = "wrong result";
        }
    }
    for (int r = 0; r < nranks; r++)
        exec_free(&ranks[r], &plans[r]);
    return wrong;
}

#endif
