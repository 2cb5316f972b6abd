/* Node phases: what src/node does in shared memory, by the same trees and pipelines.
 *
 * Small messages: lines, in groups of `fan` ranks, a tree of groups beyond that (small.c there).
 * Long ones: chunks through shared buffers, all ranks working at the same time (chunk.c there). */
#include "plan/price_state.h"

#include <stdlib.h>

enum { TINY = 56 }; /* bytes of a line */

typedef struct {
    price_state *s;
    price_node *node;
    price_phase *phase;
    int n, fan;
    double lines; /* writing, or reading, what a message has beyond its first line */
    double fold;  /* one reduction */
} work;

static const price_rank *local(const work *w, int i) {
    return &w->s->ranks[w->node->ranks[i]];
}

static double flag(const work *w, int a, int b) {
    const stretto_platform *p = w->s->platform;
    return local(w, a)->numa == local(w, b)->numa ? p->flag : p->flag_far;
}

static double farthest(const work *w) {
    return w->s->domains > 1 && local(w, 0)->numa != local(w, w->n - 1)->numa
               ? w->s->platform->flag_far
               : w->s->platform->flag;
}

/* The rank that acts for a unit: its first, or the root where that is in it. */
static int acting(int unit, int width, int root) {
    int first = unit * width;
    return root >= first && root < first + width ? root : first;
}

static void node_add(price_moment *m, double dt) {
    price_add(m, STRETTO_PART_NODE, dt);
}

/* Moment `to` of rank `me` once it has seen the lines of units first..last-1. */
static price_moment seen(const work *w, const price_moment *up, int me, int first, int last,
                         int width, int root, bool reduces) {
    price_moment to = w->phase->at[me];
    int others = 0;
    for (int unit = first; unit < last; unit++) {
        int who = acting(unit, width, root);
        if (who == me) {
            price_later(&to, &up[who]);
            continue;
        }
        price_moment line = up[who];
        node_add(&line, w->lines + flag(w, who, me));
        price_later(&to, &line);
        others++;
    }
    node_add(&to, others * (w->lines + (reduces ? w->fold : 0)) +
                      (others > 1 ? others - 1 : 0) * w->s->platform->flag_next);
    return to;
}

/* Contributions up the tree; each rank's moment in up[] is when its unit's value stands in it.
 * Returns the width of the topmost level. all: every rank acting there reads all others. */
static int up_tree(const work *w, price_moment *up, int root, bool all, bool reduces) {
    int width = 1;
    for (;; width *= w->fan) {
        const int units = (w->n + width - 1) / width;
        const bool top = units <= w->fan;
        price_moment *next = up + w->n;
        memcpy(next, up, (size_t)w->n * sizeof *up);
        for (int group = 0; group * w->fan < units; group++) {
            int first = group * w->fan, last = first + w->fan < units ? first + w->fan : units;
            for (int unit = first; unit < last; unit++) {
                int me = acting(unit, width, root);
                if ((top && all) || me == acting(group, width * w->fan, root))
                    next[me] = seen(w, up, me, first, last, width, root, reduces);
                else
                    node_add(&next[me], w->lines); /* it has only written */
            }
        }
        memcpy(up, next, (size_t)w->n * sizeof *up);
        if (top)
            return width;
    }
}

/* From the ranks acting at this width, which have it, down to all others. */
static void down_tree(const work *w, price_moment *at, int root, int width) {
    for (; width >= 1; width /= w->fan) {
        const int units = (w->n + width - 1) / width;
        for (int unit = 0; unit < units; unit++) {
            int me = acting(unit, width, root), from = acting(unit / w->fan, width * w->fan, root);
            if (me == from)
                continue;
            const int first = unit / w->fan * w->fan;
            const int readers = (first + w->fan < units ? first + w->fan : units) - first - 1;
            price_moment line = at[from];
            node_add(&line,
                     w->lines + flag(w, from, me) + (readers - 1) * w->s->platform->flag_next);
            price_later(&at[me], &line);
            node_add(&at[me], w->lines);
        }
        for (int unit = 0; unit < units; unit += w->fan)
            node_add(&at[acting(unit / w->fan, width * w->fan, root)], w->lines);
    }
}

static int top_width(const work *w) {
    int width = 1;
    while ((w->n + width - 1) / width > w->fan)
        width *= w->fan;
    return width;
}

static void small(const work *w, price_moment *up) {
    price_phase *phase = w->phase;
    memcpy(up, phase->at, (size_t)w->n * sizeof *up);
    switch (phase->kind) {
    case STRETTO_NODE_BCAST: down_tree(w, up, phase->root, top_width(w)); break;
    case STRETTO_NODE_REDUCE: up_tree(w, up, phase->root, false, true); break;
    case STRETTO_NODE_ALLREDUCE:
    case STRETTO_NODE_BARRIER: {
        int width = up_tree(w, up, 0, true, phase->kind == STRETTO_NODE_ALLREDUCE);
        if (width > 1)
            down_tree(w, up, 0, width / w->fan);
        break;
    }
    case STRETTO_NODE_GATHER:
        up[phase->root] = seen(w, up, phase->root, 0, w->n, 1, -1, false);
        break;
    case STRETTO_NODE_SCATTER:
        for (int i = 0; i < w->n; i++) {
            price_moment line = phase->at[phase->root];
            node_add(&line, w->n * w->lines + flag(w, phase->root, i));
            if (i != phase->root) {
                price_later(&up[i], &line);
                node_add(&up[i], w->lines);
            }
        }
        break;
    default: { /* everybody reads everybody; in a scan, those before */
        const bool scans = phase->kind == STRETTO_NODE_SCAN || phase->kind == STRETTO_NODE_EXSCAN;
        const bool reduces = scans || phase->kind == STRETTO_NODE_REDUCE_SCATTER;
        for (int i = 0; i < w->n; i++)
            up[w->n + i] = seen(w, up, i, 0, scans ? i + 1 : w->n, 1, -1, reduces);
        memcpy(up, up + w->n, (size_t)w->n * sizeof *up);
    }
    }
    memcpy(phase->at, up, (size_t)w->n * sizeof *up);
}

/* Bytes that each rank copies and reduces, all at once, within their memories' bandwidth. */
static double together(const work *w, double copied, double reduced) {
    const stretto_platform *p = w->s->platform;
    double cores = copied * p->copy_byte + reduced * p->reduce_byte;
    double per_domain = (double)((w->n + w->s->domains - 1) / w->s->domains);
    bool cached = (double)w->phase->bytes < p->cache_bytes;
    double memory = cached ? 0 : per_domain * (copied + reduced) * p->memory_byte;
    return cores > memory ? cores : memory;
}

static void large(const work *w) {
    const stretto_platform *p = w->s->platform;
    price_phase *phase = w->phase;
    const double bytes = (double)phase->bytes, n = w->n, far = farthest(w);
    const double chunk = bytes < p->chunk_bytes ? bytes : p->chunk_bytes;
    price_moment all = phase->at[0];
    for (int i = 1; i < w->n; i++)
        price_later(&all, &phase->at[i]);
    if (phase->kind == STRETTO_NODE_BCAST) {
        price_moment first = phase->at[phase->root];
        node_add(&first, p->copy + chunk * p->copy_byte + far);
        for (int i = 0; i < w->n; i++) {
            if (i != phase->root)
                price_later(&phase->at[i], &first);
            node_add(&phase->at[i],
                     i == phase->root ? p->copy + bytes * p->copy_byte : together(w, bytes, 0));
        }
        return;
    }
    if (phase->kind == STRETTO_NODE_SCATTER) {
        price_moment *root = &phase->at[phase->root];
        for (int i = 0; i < w->n; i++) {
            price_moment there = *root;
            node_add(&there, p->copy + (i + 1) * chunk * p->copy_byte + far);
            if (i != phase->root) {
                price_later(&phase->at[i], &there);
                node_add(&phase->at[i], together(w, bytes, 0));
            }
        }
        return; /* the root went at once */
    }
    const double share = (n - 1) / n * bytes;
    for (int i = 0; i < w->n; i++) {
        price_moment *at = &phase->at[i];
        *at = all;
        switch (phase->kind) {
        case STRETTO_NODE_REDUCE:
        case STRETTO_NODE_ALLREDUCE:
        case STRETTO_NODE_REDUCE_SCATTER: {
            bool wants = phase->kind == STRETTO_NODE_ALLREDUCE ||
                         (phase->kind == STRETTO_NODE_REDUCE && i == phase->root);
            node_add(at, 2 * far + p->copy + p->reduce +
                             together(w, bytes + (wants ? share : 0), share));
            break;
        }
        case STRETTO_NODE_SCAN:
        case STRETTO_NODE_EXSCAN: /* a chain of ranks, chunk by chunk */
            node_add(at, i * (far + p->reduce + chunk * p->reduce_byte) + p->copy +
                             together(w, bytes, bytes));
            break;
        case STRETTO_NODE_ALLTOALL:
            node_add(at, far + p->copy + chunk * p->copy_byte + together(w, 2 * bytes, 0));
            break;
        case STRETTO_NODE_GATHER: /* the others went at once */
            node_add(at, far + p->copy + chunk * p->copy_byte + together(w, n * bytes, 0));
            break;
        default: node_add(at, far + p->copy + chunk * p->copy_byte + together(w, n * bytes, 0));
        }
    }
}

/* When a rank that nobody holds up goes on; alone on its node, at once. */
static double early(const work *w, bool is_small) {
    const stretto_platform *p = w->s->platform;
    const double blocks = w->phase->kind == STRETTO_NODE_SCATTER ? w->n : 1;
    return is_small ? blocks * w->lines : p->copy + blocks * (double)w->phase->bytes * p->copy_byte;
}

static void release(const work *w, int i, const price_moment *until) {
    price_state *s = w->s;
    price_rank *r = &s->ranks[w->node->ranks[i]];
    double begin = r->clock.t;
    price_waited(s, r, until);
    if (price_traced(s, r) && w->phase->open > begin && r->clock.t >= w->phase->open) {
        price_span(s, STRETTO_SPAN_WAIT, w->node->ranks[i], -1, 0, -1, 0, 0, begin, w->phase->open);
        begin = w->phase->open;
    }
    if (price_traced(s, r) && r->clock.t > begin)
        price_span(s, STRETTO_SPAN_NODE, w->node->ranks[i], -1, 0, -1, (int)w->phase->kind,
                   (double)w->phase->bytes, begin, r->clock.t);
    r->in_node = false;
    w->phase->released[i] = true;
}

/* Runs ahead: a bcast's root, and in a reduce of lines whoever leads no group. */
static bool goes_at_once(const work *w, int i, bool is_small) {
    if (w->phase->kind == STRETTO_NODE_BCAST || w->phase->kind == STRETTO_NODE_SCATTER)
        return i == w->phase->root;
    if (w->phase->kind == STRETTO_NODE_GATHER)
        return i != w->phase->root;
    return w->phase->kind == STRETTO_NODE_REDUCE && is_small && i != w->phase->root &&
           acting(i / w->fan, w->fan, w->phase->root) != i;
}

static price_phase *phase_of(price_state *s, price_node *node, price_rank *r, const price_op *op) {
    price_phase **at = &node->phases;
    while (*at && (*at)->number != r->phase)
        at = &(*at)->next;
    if (!*at) {
        const size_t n = (size_t)node->nlocal;
        price_phase *fresh = calloc(1, sizeof *fresh + n * (sizeof *fresh->at + sizeof(bool)));
        if (!fresh) {
            s->failed = true;
            return NULL;
        }
        fresh->number = r->phase;
        fresh->kind = (stretto_action_kind)op->kind;
        fresh->root = op->peer >= 0 && op->peer < node->nlocal ? op->peer : 0;
        fresh->released = (bool *)&fresh->at[n];
        *at = fresh;
    }
    return *at;
}

static void close_phase(price_node *node, price_phase *phase) {
    price_phase **at = &node->phases;
    while (*at != phase)
        at = &(*at)->next;
    *at = phase->next;
    free(phase);
}

void price_node_arrive(price_state *s, int rank, const price_op *op) {
    const stretto_platform *p = s->platform;
    price_rank *r = &s->ranks[rank];
    price_node *node = &s->nodes[r->node];
    price_phase *phase = phase_of(s, node, r, op);
    if (!phase)
        return;
    r->phase++;
    phase->arrived++;
    phase->at[r->local] = r->clock;
    if (op->bytes > phase->bytes)
        phase->bytes = op->bytes;
    const double more = phase->bytes > TINY ? (double)(phase->bytes - TINY) : 0;
    const bool is_small = (double)phase->bytes <= p->small_bytes;
    work w = {s,
              node,
              phase,
              node->nlocal,
              (int)p->fan,
              more * p->line_byte,
              p->reduce + (double)phase->bytes * p->reduce_byte};
    if (node->nlocal == 1 || goes_at_once(&w, r->local, is_small)) {
        price_moment until = r->clock;
        node_add(&until, node->nlocal == 1 ? 0 : early(&w, is_small));
        release(&w, r->local, &until);
    }
    if (phase->arrived < node->nlocal)
        return;
    if (node->nlocal > 1) {
        phase->open = phase->at[phase->root].t;
        if (phase->kind != STRETTO_NODE_BCAST && phase->kind != STRETTO_NODE_SCATTER)
            for (int i = 0; i < w.n; i++)
                phase->open = phase->at[i].t > phase->open ? phase->at[i].t : phase->open;
        price_moment *up = NULL;
        if (is_small && !(up = malloc(2 * (size_t)w.n * sizeof *up))) {
            s->failed = true;
            return;
        }
        if (is_small)
            small(&w, up);
        else
            large(&w);
        free(up);
        for (int i = 0; i < w.n; i++) {
            if (!phase->released[i]) {
                release(&w, i, &phase->at[i]);
                if (node->ranks[i] != rank)
                    price_wake(s, node->ranks[i]);
            }
        }
    }
    close_phase(node, phase);
}
