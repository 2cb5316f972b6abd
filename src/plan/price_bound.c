/* What no algorithm can beat. The proofs stand in docs/explanation/model.md; each function here is
 * one of them.
 */
#include "plan/price.h"

#include <stdlib.h>

static double least(double a, double b) {
    return a < b ? a : b;
}

static double most(double a, double b) {
    return a > b ? a : b;
}

/* The cheapest of what any message of the network, or between ranks of a node, can meet. */
typedef struct {
    double send, recv, gap, latency, flow, send_byte, recv_byte;
} cheapest;

static cheapest over(const stretto_platform *p, int from, int to) {
    const stretto_link *l = &p->level[from];
    cheapest c = {l->send_overhead, l->recv_overhead, l->gap_message, l->latency,
                  l->gap_byte,      l->send_byte,     l->recv_byte};
    for (int i = from + 1; i <= to; i++) {
        l = &p->level[i];
        c.send = least(c.send, l->send_overhead);
        c.recv = least(c.recv, l->recv_overhead);
        c.gap = least(c.gap, l->gap_message);
        c.latency = least(c.latency, l->latency);
        c.flow = least(c.flow, l->gap_byte);
        c.send_byte = least(c.send_byte, l->send_byte);
        c.recv_byte = least(c.recv_byte, l->recv_byte);
    }
    return c;
}

/* The rails that n ranks of a node have between them, at most. */
static double rails_of(const stretto_platform *p, double n) {
    if ((stretto_rail_use)p->rail_use == STRETTO_RAILS_STRIPED)
        return p->rails;
    if ((stretto_rail_use)p->rail_use == STRETTO_RAILS_BY_LOCAL_RANK || p->spread > 0 ||
        n > p->cores)
        return least(p->rails, n);
    return least(n, stretto_platform_rail(p, (int)n - 1, (int)n) + 1.0);
}

/* From one rank of a node to another, at least. */
static double inside(const stretto_platform *p) {
    double hop = least(p->flag, p->flag_far);
    for (int l = STRETTO_LEVEL_CACHE; l <= STRETTO_LEVEL_NODE; l++) {
        const stretto_link *link = &p->level[l];
        hop = least(hop, link->send_overhead + link->latency + link->recv_overhead);
    }
    return hop;
}

/* ---- spreading: how soon can all nodes know what one rank knows? -------------------------------
 */

typedef struct {
    double since, next; /* informed; its next message is there */
    long long first, others, sent;
} teller;

typedef struct {
    double interval, inside, nic, hop; /* a rank's, to the other ranks, an interface's, a message */
    double others, rails;
} telling;

static void plan_next(teller *t, const telling *how) {
    double own = (double)t->first * how->interval, rank = own;
    if (how->others > 0) {
        double other = how->inside + (double)(t->others / (long long)how->others) * how->interval;
        rank = least(own, other);
        if (other < own)
            t->others++;
        else
            t->first++;
    } else {
        t->first++;
    }
    double nic = (double)(t->sent / (long long)how->rails) * how->nic;
    t->sent++;
    t->next = t->since + most(rank, nic) + how->hop;
}

static void sift(teller *heap, long n, long i) {
    for (;;) {
        long child = 2 * i + 1;
        if (child >= n)
            return;
        if (child + 1 < n && heap[child + 1].next < heap[child].next)
            child++;
        if (heap[i].next <= heap[child].next)
            return;
        teller t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
        i = child;
    }
}

/* Every node that knows tells one that does not, as soon and as often as it can: nothing is faster
 * (an exchange argument). -1 without memory. */
static double spread(long nodes, const telling *how) {
    teller *heap = malloc((size_t)nodes * sizeof *heap);
    if (!heap)
        return -1;
    double last = 0;
    heap[0] = (teller){0};
    plan_next(&heap[0], how);
    for (long n = 1; n < nodes; n++) {
        last = heap[0].next;
        plan_next(&heap[0], how);
        sift(heap, n, 0);
        heap[n] = (teller){.since = last};
        plan_next(&heap[n], how);
        for (long i = n; i > 0 && heap[i].next < heap[(i - 1) / 2].next; i = (i - 1) / 2) {
            teller t = heap[i];
            heap[i] = heap[(i - 1) / 2];
            heap[(i - 1) / 2] = t;
        }
    }
    free(heap);
    return last;
}

/* ---- the bound --------------------------------------------------------------------------------
 */

static void raise_to(double *bound, double value, const char **why, const char *reason) {
    if (value > *bound) {
        *bound = value;
        if (why)
            *why = reason;
    }
}

static int ranks_on(const stretto_price_call *call, int node) {
    return call->layout ? call->layout->node_start[node + 1] - call->layout->node_start[node] : 1;
}

/* Bytes that a node must take in (in) or give out, whatever the algorithm. */
static double must_move(const stretto_price_call *call, stretto_collective c, double nnodes,
                        double n, bool has_root, bool in) {
    const double p = call->nranks, bytes = (double)call->bytes;
    switch (c) {
    case STRETTO_BCAST: return has_root == in ? 0 : bytes * (in || nnodes > 1);
    case STRETTO_REDUCE: return has_root == in ? bytes : 0;
    case STRETTO_ALLREDUCE: return 2 * (nnodes - 1) / nnodes * bytes; /* the busiest node */
    case STRETTO_ALLGATHER: return in ? (p - n) * bytes : n * bytes;
    case STRETTO_ALLTOALL: return n * (p - n) * bytes;
    case STRETTO_GATHER: return in ? (has_root ? (p - n) * bytes : 0) : (has_root ? 0 : n * bytes);
    case STRETTO_SCATTER: return in ? (has_root ? 0 : n * bytes) : (has_root ? (p - n) * bytes : 0);
    case STRETTO_REDUCE_SCATTER_BLOCK: return in ? n * bytes : (p - n) * bytes;
    default: return 0;
    }
}

static bool spreads(stretto_collective c) { /* all must hear of one rank */
    return c == STRETTO_BCAST || c == STRETTO_ALLREDUCE || c == STRETTO_ALLGATHER ||
           c == STRETTO_BARRIER || c == STRETTO_ALLTOALL || c == STRETTO_SCATTER ||
           c == STRETTO_REDUCE_SCATTER_BLOCK;
}

static bool collects(stretto_collective c) { /* one rank must hear of all */
    return c == STRETTO_REDUCE || c == STRETTO_ALLREDUCE || c == STRETTO_ALLGATHER ||
           c == STRETTO_BARRIER || c == STRETTO_ALLTOALL || c == STRETTO_GATHER ||
           c == STRETTO_REDUCE_SCATTER_BLOCK;
}

/* The busiest interface, core or flow of a node of n ranks. Which node has the root is not asked:
 * of two nodes or more one has it and one has not; the root's is taken to be the one where that
 * costs least. */
static double through(const stretto_price_call *call, stretto_collective c, const cheapest *net,
                      double nnodes, double n, double widest, double narrowest) {
    const stretto_platform *p = call->platform;
    const double ranks = call->nranks, hop = net->send + net->latency + net->recv;
    double bound = 0;
    for (int in = 0; in < 2; in++) {
        for (int root = 0; root < 2; root++) {
            double own = !stretto_collective_rooted(c) ? n : root ? widest : narrowest;
            double bytes = must_move(call, c, nnodes, own, root, in);
            double core = (in ? net->recv_byte : net->send_byte) / own;
            double rails = rails_of(p, own);
            const bool stripes = (stretto_rail_use)p->rail_use == STRETTO_RAILS_STRIPED;
            double flow = net->flow / (own * (ranks - own) * (stripes ? rails : 1));
            double each = most(p->nic_gap_byte / rails, most(core, flow));
            if (bytes > 0)
                bound = most(bound, hop + bytes * each);
        }
    }
    return bound;
}

double stretto_price_bound(const stretto_price_call *call, stretto_collective c, const char **why) {
    const stretto_platform *p = call->platform;
    const int nnodes = call->layout ? call->layout->nnodes : call->nranks;
    const double ranks = call->nranks;
    double bound = 0;
    if (why)
        *why = "nothing: there is one rank";
    if (!spreads(c) && !collects(c))
        return -1;
    /* data, not only word, must flow: zero bytes ask for nothing but a barrier does */
    if (call->nranks == 1 || (call->bytes == 0 && c != STRETTO_BARRIER))
        return 0;
    int widest = 0, narrowest = call->nranks;
    for (int i = 0; i < nnodes; i++) {
        widest = ranks_on(call, i) > widest ? ranks_on(call, i) : widest;
        narrowest = ranks_on(call, i) < narrowest ? ranks_on(call, i) : narrowest;
    }
    if (widest > 1)
        raise_to(&bound, inside(p), why, "one hop between two ranks of a node");
    if (nnodes > 1) {
        cheapest net =
            over(p, STRETTO_LEVEL_RAIL, p->rails > 1 ? STRETTO_LEVEL_NETWORK : STRETTO_LEVEL_RAIL);
        telling how = {.interval = most(net.send, net.gap),
                       .inside = inside(p),
                       .nic = p->nic_gap_message,
                       .hop = net.send + net.latency + net.recv,
                       .others = widest - 1,
                       .rails = rails_of(p, widest)};
        double out = spreads(c) ? spread(nnodes, &how) : 0;
        /* collecting is spreading, seen backwards in time */
        how.interval = net.recv;
        how.nic = p->nic_recv_gap_message;
        double in = collects(c) ? spread(nnodes, &how) : 0;
        if (out < 0 || in < 0)
            return -1;
        raise_to(&bound, out, why,
                 "the minimum time to spread information from one rank to all nodes");
        raise_to(&bound, in, why, "the minimum time to collect information from all nodes");
        for (int i = 0; i < nnodes; i++)
            raise_to(&bound, through(call, c, &net, nnodes, ranks_on(call, i), widest, narrowest),
                     why, "the bytes that one node must send or receive");
    }
    if (c == STRETTO_ALLREDUCE || c == STRETTO_REDUCE)
        raise_to(&bound, (ranks - 1) / ranks * (double)call->bytes * p->reduce_byte, why,
                 "the reductions, shared by all ranks");
    return bound;
}
