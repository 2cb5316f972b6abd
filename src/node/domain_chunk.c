/* Large messages between ranks in several domains. They go through the shared buffers as in
 * chunk.c, but each byte crosses between two domains only once, not once per receiving rank.
 *
 * Counters are posted and taken as in chunk.c (protocol 3 of internal.h). A rank in round i waits
 * only for actions of other ranks in rounds before i. So the rank in the earliest round can always
 * continue, and there is no deadlock. */
#include "node/chunk.h"
#include "node/domains.h"

/* The root fills its ring; of the others' domains one rank reads it, fills its own ring from it,
 * and the rest of that domain reads there. A slot is overwritten when its readers have taken it. */
void stretto_domain_chunk_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    const stretto_domains *d = node->domains;
    const size_t size = stretto_chunk(node, bytes);
    const int depth = (int)(node->area / size);
    const size_t n = (bytes + size - 1) / size;
    const int lead = stretto_domain_lead(d, d->mine, root);
    const bool fills = node->me == lead, is_root = node->me == root;
    const int inside = stretto_domain_size(d, d->mine);
    const int *near = stretto_domain_ranks(d, d->mine);
    uint64_t base = stretto_ring_begin(node, n, size, 1);
    stretto_area *mine = stretto_area_of(node, node->me);
    const stretto_area *source = stretto_area_of(node, fills ? root : lead);
    unsigned char *data = buffer;
    for (size_t c = 0; c < n; c++, data += size) {
        size_t part = stretto_least(size, bytes - c * size);
        if (!is_root) {
            stretto_await(node, &source->posted.value, base + c + 1);
            stretto_fetch(node, data,
                          stretto_slot(node, fills ? root : lead, base + c, size, depth), part);
            stretto_set(&mine->taken, base + c + 1);
        }
        if (!is_root && (!fills || inside == 1))
            continue;
        if (c >= (size_t)depth) {
            uint64_t old = base + c - (size_t)depth + 1;
            for (int i = 0; i < inside; i++)
                if (near[i] != node->me)
                    stretto_await(node, &stretto_area_of(node, near[i])->taken.value, old);
            for (int i = 0; i < d->n && is_root; i++)
                if (i != d->mine)
                    stretto_await(
                        node, &stretto_area_of(node, stretto_domain_lead(d, i, root))->taken.value,
                        old);
        }
        stretto_publish(node, stretto_slot(node, node->me, base + c, size, depth), data, part);
        stretto_set(&mine->posted, base + c + 1);
    }
    stretto_finish(node, false);
}

/* ---- reductions -------------------------------------------------------------------------------
 * Segment by segment, in five stages; in round s of its loop a rank does A of segment s, B of s - 1
 * and so on, so that what a stage waits for was done by the others a round ago:
 *   A  shows its operands to its domain;
 *   B  folds its part of the segment (one of as many as its domain has ranks) over its domain;
 *   C  folds its share of the segment (one of as many as there are ranks) over the domains' parts;
 *   D  fetches, of its part, the shares from all who have folded them, and shows it to its domain;
 *   E  collects the other parts from its domain.
 * Across domains go in C each domain's result and in D the whole one, each byte once to each other
 * domain. In a reduce the root fetches all shares itself in D, and there is no E.
 *
 * Event numbers: in round s, A sets posted to 2s + 1, D to 2s + 2; B sets taken to 2s + 1, C to
 * 2s + 2 (of a call's base). Slots: `depth` >= 3 segments have places of their own.
 *
 * Reuse. What lies in the slots of segment t is read: operands in B(t) by the domain; parts in
 * C(t) by whose share overlaps; shares in D(t) by whose part overlaps, or by the root; shown
 * parts in E(t) by the domain. Before a slot is written again for t + depth, those readers are
 * waited for: by the event of B, C, D; for E, which has none, by D(t + 2), which a rank does in the
 * round after E(t). With depth >= 3 all these lie in earlier rounds than the waiter's.
 *
 * In place: dst of a segment is written in D and E, after A (operands copied) and B (its own part
 * read where it lies). */

typedef struct {
    stretto_node *node;
    const stretto_domains *d;
    uint64_t base;
    size_t size, count, segment; /* bytes of an element; elements; of a segment */
    size_t share;                /* elements of a rank's share */
    size_t depth;
    size_t parts, shares, shown; /* where in an area those slots begin; operands at 0 */
    size_t room, part_room;      /* bytes of a segment's operands, and of the largest part */
    int root;
} work;

typedef struct {
    size_t from, to; /* elements of the segment */
} span;

static size_t length(const work *w, size_t t) {
    return stretto_least(w->segment, w->count - t * w->segment);
}

/* The part of place i of a domain of k ranks. */
static span part_of(const work *w, size_t t, int i, int k) {
    size_t all = length(w, t), each = (all + (size_t)k - 1) / (size_t)k;
    size_t from = stretto_least((size_t)i * each, all);
    return (span){from, stretto_least(from + each, all)};
}

static span share_of(const work *w, size_t t, int rank) {
    size_t all = length(w, t), from = stretto_least((size_t)rank * w->share, all);
    return (span){from, stretto_least(from + w->share, all)};
}

static unsigned char *area_at(const work *w, int rank, size_t offset) {
    return stretto_area_of(w->node, rank)->chunks + offset;
}

static unsigned char *operands_at(const work *w, int rank, size_t t) {
    return area_at(w, rank, t % w->depth * w->room);
}
static unsigned char *part_at(const work *w, int rank, size_t t) {
    return area_at(w, rank, w->parts + t % w->depth * w->part_room);
}
static unsigned char *share_at(const work *w, int rank, size_t t) {
    return area_at(w, rank, w->shares + t % w->depth * w->share * w->size);
}
static unsigned char *shown_at(const work *w, int rank, size_t t) {
    return area_at(w, rank, w->shown + t % w->depth * w->part_room);
}

/* Stage X of segment t: how far behind the round it is done. */
enum { A, B, C, D, E };

static uint64_t event(const work *w, int stage, size_t t) {
    return w->base + 2 * (t + (size_t)stage) + (stage == A || stage == B ? 1 : 2);
}

static void await_stage(const work *w, int rank, int stage, size_t t) {
    if (rank == w->node->me)
        return;
    const stretto_area *area = stretto_area_of(w->node, rank);
    stretto_await(w->node, stage == A || stage == D ? &area->posted.value : &area->taken.value,
                  event(w, stage, t));
}

static void set_stage(const work *w, int stage, size_t t) {
    stretto_area *mine = stretto_area_of(w->node, w->node->me);
    stretto_set(stage == A || stage == D ? &mine->posted : &mine->taken, event(w, stage, t));
}

static void await_domain(const work *w, int stage, size_t t) {
    const int *near = stretto_domain_ranks(w->d, w->d->mine);
    for (int i = 0; i < stretto_domain_size(w->d, w->d->mine); i++)
        await_stage(w, near[i], stage, t);
}

/* The ranks whose shares overlap the span: first to last. */
static void sharers(const work *w, span s, int *first, int *last) {
    *first = (int)(s.from / w->share);
    *last = s.to > s.from ? (int)((s.to - 1) / w->share) : *first - 1;
}

/* Waits until those whose parts, in any domain, overlap this rank's share have done the stage. */
static void await_parts(const work *w, span own, int stage, size_t t) {
    for (int i = 0; i < w->d->n; i++) {
        const int k = stretto_domain_size(w->d, i);
        for (int place = 0; place < k; place++) {
            span part = part_of(w, t, place, k);
            if (part.from < own.to && own.from < part.to)
                await_stage(w, stretto_domain_ranks(w->d, i)[place], stage, t);
        }
    }
}

static void show_operands(work *w, size_t t, const unsigned char *src) {
    const int k = stretto_domain_size(w->d, w->d->mine);
    span own = part_of(w, t, w->d->inside, k);
    unsigned char *operands = operands_at(w, w->node->me, t);
    if (t >= w->depth)
        await_domain(w, B, t - w->depth);
    src += t * w->segment * w->size;
    stretto_publish(w->node, operands, src, own.from * w->size);
    stretto_publish(w->node, operands + own.to * w->size, src + own.to * w->size,
                    (length(w, t) - own.to) * w->size);
    set_stage(w, A, t);
}

static void fold_part(work *w, size_t t, const unsigned char *src, stretto_reduce_fn reduce) {
    const int k = stretto_domain_size(w->d, w->d->mine);
    const int *near = stretto_domain_ranks(w->d, w->d->mine);
    span own = part_of(w, t, w->d->inside, k);
    unsigned char *part = part_at(w, w->node->me, t);
    const void *operand[k];
    if (t >= w->depth) { /* who read the part that lay here */
        int first, last;
        sharers(w, part_of(w, t - w->depth, w->d->inside, k), &first, &last);
        for (int r = first; r <= last; r++)
            await_stage(w, r, C, t - w->depth);
    }
    await_domain(w, A, t);
    const size_t offset = (t * w->segment + own.from) * w->size;
    for (int i = 0; i < k; i++)
        operand[i] =
            near[i] == w->node->me ? src + offset : operands_at(w, near[i], t) + own.from * w->size;
    if (own.to > own.from && k > 1) {
        const uint64_t began = stretto_read_begins((own.to - own.from) * w->size * (size_t)(k - 1));
        stretto_fold(operand, k, 0, part, NULL, own.to - own.from, reduce);
        stretto_read_ends(w->node, began, (own.to - own.from) * w->size * (size_t)(k - 1));
    } else
        stretto_publish(w->node, part, operand[0], (own.to - own.from) * w->size);
    set_stage(w, B, t);
}

static void fold_share(work *w, size_t t, stretto_reduce_fn reduce) {
    span own = share_of(w, t, w->node->me);
    unsigned char *share = share_at(w, w->node->me, t);
    if (t >= w->depth) {
        if (w->root >= 0)
            await_stage(w, w->root, D, t - w->depth);
        else
            await_parts(w, share_of(w, t - w->depth, w->node->me), D, t - w->depth);
    }
    await_parts(w, own, B, t);
    /* a run of elements that lies in one part of every domain at a time */
    const void *operand[w->d->n];
    for (size_t at = own.from, to; at < own.to; at = to) {
        to = own.to;
        for (int i = 0; i < w->d->n; i++) {
            const int k = stretto_domain_size(w->d, i);
            const size_t each = (length(w, t) + (size_t)k - 1) / (size_t)k;
            const int place = (int)(at / each);
            span part = part_of(w, t, place, k);
            to = stretto_least(to, part.to);
            operand[i] =
                part_at(w, stretto_domain_ranks(w->d, i)[place], t) + (at - part.from) * w->size;
        }
        const uint64_t began = stretto_read_begins((to - at) * w->size * (size_t)(w->d->n - 1));
        stretto_fold(operand, w->d->n, 0, share + (at - own.from) * w->size, NULL, to - at, reduce);
        stretto_read_ends(w->node, began, (to - at) * w->size * (size_t)(w->d->n - 1));
    }
    set_stage(w, C, t);
}

/* Copies the folded shares of a span to `to`. */
static void fetch_shares(const work *w, size_t t, span s, unsigned char *to) {
    int first, last;
    sharers(w, s, &first, &last);
    for (int r = first; r <= last; r++) {
        span theirs = share_of(w, t, r);
        size_t from = theirs.from > s.from ? theirs.from : s.from;
        size_t end = stretto_least(theirs.to, s.to);
        await_stage(w, r, C, t);
        stretto_fetch(w->node, to + (from - s.from) * w->size,
                      share_at(w, r, t) + (from - theirs.from) * w->size, (end - from) * w->size);
    }
}

static void fetch_part(work *w, size_t t, unsigned char *dst) {
    dst += t * w->segment * w->size;
    if (w->root >= 0) {
        if (w->root == w->node->me)
            fetch_shares(w, t, (span){0, length(w, t)}, dst);
    } else {
        const int k = stretto_domain_size(w->d, w->d->mine);
        span own = part_of(w, t, w->d->inside, k);
        fetch_shares(w, t, own, dst + own.from * w->size);
        if (k > 1) {
            if (t >= w->depth)
                await_domain(w, D, t - w->depth + 2);
            stretto_publish(w->node, shown_at(w, w->node->me, t), dst + own.from * w->size,
                            (own.to - own.from) * w->size);
        }
    }
    set_stage(w, D, t);
}

static void collect_parts(const work *w, size_t t, unsigned char *dst) {
    const int k = stretto_domain_size(w->d, w->d->mine);
    dst += t * w->segment * w->size;
    for (int i = 1; i < k && w->root < 0; i++) {
        const int place = (w->d->inside + i) % k;
        const int rank = stretto_domain_ranks(w->d, w->d->mine)[place];
        span part = part_of(w, t, place, k);
        await_stage(w, rank, D, t);
        stretto_fetch(w->node, dst + part.from * w->size, shown_at(w, rank, t),
                      (part.to - part.from) * w->size);
    }
}

/* Whether the segments fit; the same on all ranks. */
static bool lay_out(work *w) {
    const size_t n = (size_t)w->node->nlocal, k = (size_t)w->d->smallest;
    size_t share = STRETTO_NODE_SEGMENT / (n * w->size);
    if (share < STRETTO_NODE_SHARE / w->size)
        share = STRETTO_NODE_SHARE / w->size;
    if (share == 0)
        share = 1;
    /* a segment of n shares, two parts of it (the smallest domain's are the largest), a share */
    for (;; share = (share + 1) / 2) {
        size_t segments = (w->count + n * share - 1) / (n * share);
        w->share = (w->count + n * segments - 1) / (n * segments);
        w->segment = n * w->share;
        w->room = w->segment * w->size;
        w->part_room = (w->segment + k - 1) / k * w->size;
        size_t all = w->room + 2 * w->part_room + w->share * w->size;
        w->depth = w->node->area / all;
        if (w->depth >= STRETTO_NODE_DEPTH)
            break;
        if (share == 1)
            return false;
    }
    w->parts = w->depth * w->room;
    w->shown = w->parts + w->depth * w->part_room;
    w->shares = w->shown + w->depth * w->part_room;
    return true;
}

void stretto_domain_chunk_reduce(stretto_node *node, const void *src, void *dst, size_t count,
                                 size_t size, stretto_reduce_fn reduce, int root) {
    work w = {.node = node, .d = node->domains, .size = size, .count = count, .root = root};
    if (!lay_out(&w)) {
        stretto_chunk_reduce(node, src, dst, count, size, reduce, root);
        return;
    }
    const size_t segments = (count + w.segment - 1) / w.segment;
    w.base = stretto_chunk_begin(node, 2 * (segments + E));
    for (size_t s = 0; s < segments + E; s++) {
        if (s < segments)
            show_operands(&w, s, src);
        if (s >= B && s - B < segments)
            fold_part(&w, s - B, src, reduce);
        if (s >= C && s - C < segments)
            fold_share(&w, s - C, reduce);
        if (s >= D && s - D < segments)
            fetch_part(&w, s - D, dst);
        if (s >= E)
            collect_parts(&w, s - E, dst);
    }
    /* whoever has an element of the result has heard of all */
    stretto_finish(node, root < 0 || root == node->me);
}
