#include "tests/c/node_model/program.h"
#include "node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 4096, MEMORY = 64 * 1024 };

static program now;
static bool exhaustive; /* this execution */
static stretto_node *handles[MODEL_RANKS];
static uint32_t buffers[MODEL_RANKS][3][BUFFER];
static unsigned char memory[MEMORY] __attribute__((aligned(4096)));
static uint32_t *marks; /* a word of each rank behind the node's memory: what a barrier orders */

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* ---- operations: a sum, and x -> a x + b over 16 bits, which do not commute ---- */

static uint32_t combine(uint32_t l, uint32_t r) {
    if (now.commutes)
        return l + r;
    uint32_t a = (l >> 16) * (r >> 16), b = (r >> 16) * (l & 0xffff) + (r & 0xffff);
    return a << 16 | (b & 0xffff);
}

static void reduce_words(const void *left, const void *right, void *out, size_t n) {
    const uint32_t *l = left, *r = right;
    uint32_t *o = out;
    model_reads(l, 4 * n, "operation", 1);
    model_reads(r, 4 * n, "operation", 2);
    model_writes(o, 4 * n, "operation", 3);
    for (size_t i = 0; i < n; i++)
        o[i] = combine(l[i], r[i]);
    model_wrote(o, 4 * n);
}
static void reduce_16(const void *left, const void *right, void *out, size_t n) {
    reduce_words(left, right, out, 16 * n);
}
static void reduce_64(const void *left, const void *right, void *out, size_t n) {
    reduce_words(left, right, out, 64 * n);
}

/* ---- contributions and results ---- */

/* Word i of what `from` has for `to` (0 where all get the same). */
static uint32_t word(int index, int from, int to, size_t i) {
    return (uint32_t)mix(((uint64_t)index << 48) + ((uint64_t)from << 40) + ((uint64_t)to << 32) +
                         i);
}

static void fill(uint32_t *at, int index, int from, int to, size_t words) {
    for (size_t i = 0; i < words; i++)
        at[i] = word(index, from, to, i);
}

static void folded(uint32_t *at, int index, int last, size_t first, size_t words) {
    for (size_t i = 0; i < words; i++) {
        at[i] = word(index, 0, 0, first + i);
        for (int r = 1; r <= last; r++)
            at[i] = combine(at[i], word(index, r, 0, first + i));
    }
}

static void expect(const char *name, int index, const uint32_t *got, const uint32_t *want,
                   size_t words) {
    for (size_t i = 0; i < words; i++)
        if (got[i] != want[i])
            model_fail("call %d, %s: word %zu is %x and must be %x", index, name, i, got[i],
                       want[i]);
}

/* Words of the block from i to j, or of rank i's (j = 0). */
static size_t uneven(const call *c, int i, int j) {
    uint64_t x = mix(c->seed + (uint64_t)i * 64 + (uint64_t)j);
    return x % 4 == 0 ? 0 : x % 4 == 1 ? c->words : (x >> 8) % (c->words + 1);
}

static void barrier(stretto_node *node, int me, int index) {
    model_writes(&marks[me], 4, "barrier", 1);
    marks[me] = (uint32_t)index + 1;
    model_wrote(&marks[me], 4);
    stretto_node_barrier(node);
    for (int r = 0; r < now.ranks; r++) {
        model_reads(&marks[r], 4, "barrier", 2);
        if (marks[r] != (uint32_t)index + 1)
            model_fail("call %d, barrier: rank %d was not there", index, r);
    }
    stretto_node_barrier(node);
}

/* In steps on some ranks, and only in random executions: who peeks may do so for ever. */
static void in_steps_or_whole(stretto_node *node, int me, int index, const void *src, void *dst,
                              size_t count, size_t size, stretto_reduce_fn op) {
    const bool steps = !exhaustive && mix((uint64_t)index * MODEL_RANKS + (uint64_t)me) % 2;
    if (!steps || !count || !stretto_node_post(node, src, count * size)) {
        stretto_node_allreduce(node, src, dst, count, size, op);
        return;
    }
    while (!stretto_node_collect(node, src, dst, count, count * size, op, 1))
        ;
}

static void reduction(stretto_node *node, int me, int index, const call *c, uint32_t *src,
                      uint32_t *dst, uint32_t *want) {
    const stretto_reduce_fn op = c->element == 1    ? reduce_words
                                 : c->element == 16 ? reduce_16
                                                    : reduce_64;
    const size_t size = 4 * c->element, count = c->words / c->element, n = (size_t)now.ranks;
    if (c->in_place)
        dst = src;
    fill(src, index, me, 0, c->kind == REDUCE_SCATTER ? n * c->words : c->words);
    if (c->kind == REDUCE) {
        stretto_node_reduce(node, src, dst, count, size, op, c->root);
        folded(want, index, now.ranks - 1, 0, c->words);
        expect("reduce", index, dst, want, me == c->root ? c->words : 0);
    } else if (c->kind == ALLREDUCE) {
        in_steps_or_whole(node, me, index, src, dst, count, size, op);
        folded(want, index, now.ranks - 1, 0, c->words);
        expect("allreduce", index, dst, want, c->words);
    } else if (c->kind == REDUCE_SCATTER) {
        size_t counts[MODEL_RANKS], first = 0;
        for (int r = 0; r < now.ranks; r++) {
            counts[r] = uneven(c, r, 0) / c->element;
            first += r < me ? counts[r] * c->element : 0;
        }
        stretto_node_reduce_scatter(node, src, dst, counts, size, op);
        folded(want, index, now.ranks - 1, first, counts[me] * c->element);
        expect("reduce_scatter", index, dst, want, counts[me] * c->element);
    } else {
        const int last = c->kind == EXSCAN ? me - 1 : me;
        stretto_node_scan(node, src, dst, count, size, op, c->kind == EXSCAN);
        folded(want, index, last, 0, c->words);
        expect("scan", index, dst, want, last >= 0 ? c->words : 0);
    }
}

static void unequal(stretto_node *node, int me, int index, const call *c, uint32_t *src,
                    uint32_t *dst, uint32_t *want) {
    size_t sent[MODEL_RANKS], got[MODEL_RANKS], at[MODEL_RANKS], total = 0;
    for (int r = 0; r < now.ranks; r++) {
        at[r] = (size_t)r * c->words * 4;
        sent[r] = 4 * (c->kind == ALLTOALLV ? uneven(c, me, r) : uneven(c, r, 0));
        got[r] = 4 * (c->kind == ALLTOALLV ? uneven(c, r, me) : uneven(c, r, 0));
        total += sent[r];
        fill(src + at[r] / 4, index, me, r, c->words);
        fill(want + at[r] / 4, index, r, c->kind == ALLTOALLV ? me : 0, got[r] / 4);
    }
    if (c->kind == ALLTOALLV) {
        if (!stretto_node_alltoallv(node, src, at, sent, dst, at, NULL))
            model_fail("call %d, alltoallv: says that it has no room", index);
    } else if (total) {
        stretto_node_allgatherv(node, src, dst, at, got);
    }
    for (int r = 0; r < now.ranks; r++)
        expect(c->kind == ALLTOALLV ? "alltoallv" : "allgatherv", index, dst + at[r] / 4,
               want + at[r] / 4, got[r] / 4);
}

static void one_call(stretto_node *node, int me, int index) {
    const call *c = &now.calls[index];
    const size_t bytes = 4 * c->words, all = c->words * (size_t)now.ranks;
    uint32_t *src = buffers[me][0], *dst = buffers[me][1], *want = buffers[me][2];
    memset(dst, 0xee, 4 * all);
    const bool top = me == c->root;
    switch (c->kind) {
    case BARRIER: barrier(node, me, index); break;
    case BCAST:
        fill(want, index, c->root, 0, c->words);
        if (top)
            fill(dst, index, c->root, 0, c->words);
        stretto_node_bcast(node, dst, bytes, c->root);
        expect("bcast", index, dst, want, c->words);
        break;
    case ALLGATHER:
    case GATHER:
        fill(src, index, me, 0, c->words);
        for (int r = 0; r < now.ranks; r++)
            fill(want + (size_t)r * c->words, index, r, 0, c->words);
        if (c->kind == ALLGATHER)
            stretto_node_allgather(node, src, dst, bytes);
        else
            stretto_node_gather(node, src, dst, bytes, c->root);
        expect("(all)gather", index, dst, want, c->kind == ALLGATHER || top ? all : 0);
        break;
    case SCATTER:
    case ALLTOALL:
        for (int r = 0; r < now.ranks; r++) {
            fill(src + (size_t)r * c->words, index, me, r, c->words);
            fill(want + (size_t)r * c->words, index, r, me, c->words);
        }
        if (c->kind == SCATTER)
            stretto_node_scatter(node, src, dst, bytes, c->root);
        else
            stretto_node_alltoall(node, src, dst, bytes);
        if (c->kind == SCATTER)
            expect("scatter", index, dst, want + (size_t)c->root * c->words, c->words);
        else
            expect("alltoall", index, dst, want, all);
        break;
    case ALLGATHERV:
    case ALLTOALLV: unequal(node, me, index, c, src, dst, want); break;
    default: reduction(node, me, index, c, src, dst, want);
    }
}

static void progress(void *arg) {
    (void)arg;
}

static void run_rank(int me) {
    const stretto_wait wait = {now.spins, now.yields, progress, NULL, false};
    stretto_node *node = stretto_node_attach(memory, now.ranks, me, now.area, NULL, &wait);
    if (node) /* as if the memory had been left so */
        stretto_node_enter(node, memory, now.area, (stretto_node_past){now.past, now.past});
    if (!node ||
        (now.domains && !stretto_node_use_domains(node, now.domain_of, now.commutes, now.any_size)))
        model_fail("out of memory");
    handles[me] = node;
    for (int i = 0; i < now.ncalls; i++)
        one_call(node, me, i);
}

bool program_run(const program *p, model_execution *execution) {
    now = *p;
    model_tuning = p->tuning;
    const size_t bytes = stretto_node_bytes(p->ranks, p->area);
    size_t offset;
    stretto_node_part(1, p->area, &offset, &execution->stride);
    marks = (uint32_t *)(memory + bytes);
    execution->past = p->past;
    execution->ranks = p->ranks;
    execution->memory = memory;
    execution->bytes = bytes + 64;
    if (execution->bytes > MEMORY)
        abort();
    execution->run = run_rank;
    exhaustive = execution->exhaustive;
    const bool right = model_run(execution);
    for (int r = 0; r < MODEL_RANKS; r++) {
        stretto_node_detach(handles[r]);
        handles[r] = NULL;
    }
    return right;
}

/* ---- random programs ---- */

static uint64_t drawing;
static unsigned draw(unsigned n) {
    drawing = mix(drawing);
    return (unsigned)(drawing % n);
}

/* Calls for a short piece; only: mostly those. */
static void shorten(program *p, kind only) {
    p->area = STRETTO_NODE_SHORT;
    for (int i = 0; i < p->ncalls; i++) {
        call *c = &p->calls[i];
        c->kind = only < KINDS && draw(4) ? only : (kind)draw(KINDS);
        if (c->kind == ALLTOALLV)
            c->kind = BCAST;
        c->root = (int)draw(draw(3) ? (unsigned)p->ranks : 1);
        c->seed = mix(drawing);
        c->in_place = c->kind <= EXSCAN && draw(3) == 0;
        c->element = 1;
        c->words = 1 + draw(STRETTO_NODE_SHORT_BYTES / 4 / (unsigned)p->ranks);
    }
}

void program_random(program *p, uint64_t seed, int focus) {
    static const int sizes[] = {2, 2, 3, 3, 4, 4, 4, 5};
    static const int patterns[][MODEL_RANKS] = {
        {0, 0, 1, 1, 1}, {0, 1, 1, 1, 1}, {0, 0, 0, 1, 1}, {0, 1, 0, 1, 0}, {0, 1, 1, 2, 2}};
    drawing = mix(seed);
    memset(p, 0, sizeof *p);
    p->ranks = sizes[draw(8)];
    p->ncalls = 2 + (int)draw(5);
    /* rings of 3 chunks and more; exchange.c wants 128 bytes for each other rank, pair.c 8 chunks
     */
    p->area = (size_t)(p->ranks == 2   ? 1024
                       : p->ranks == 5 ? 512
                                       : 384) +
              128 * (draw(2) ? 0 : draw(4));
    p->yields = draw(2);
    p->spins = (int)draw(3);
    p->domains = p->ranks > 2 && draw(2);
    const unsigned pattern = draw(5);
    memcpy(p->domain_of, patterns[pattern], sizeof p->domain_of);
    p->commutes = pattern == 3 || draw(4) == 0;
    p->any_size = draw(2);
    p->tuning = (model_tuning_t){draw(2) ? 8 : 2, 2 + (int)draw(2), draw(3) ? 1024 : 64, draw(256)};
    /* every other call a short bcast of one root, which runs ahead where nothing stops it */
    const bool between = draw(4) == 0;
    const int ahead = (int)draw((unsigned)p->ranks);
    const size_t short_words = draw(2) ? 1 : 20; /* words: both rings of lines */
    const unsigned only = focus >= 0                ? (unsigned)focus
                          : between || draw(3) == 0 ? draw(KINDS)
                                                    : KINDS; /* any */
    const unsigned longs = draw(3);                          /* none, some, most */
    /* few elements, so that some ranks have no share; by domain they need room for 3 segments */
    const bool large = draw(between ? 2 : 8) == 0;
    if (large && p->domains)
        p->area = 2432;
    p->past = draw(2) ? draw(100) : 0;
    if (draw(8) == 0) {
        shorten(p, only < KINDS && only != ALLTOALLV ? (kind)only : KINDS);
        return;
    }
    for (int i = 0; i < p->ncalls; i++) {
        const unsigned length = draw(4);
        call *c = &p->calls[i];
        c->kind = (kind)(only < KINDS && draw(4) ? only : draw(KINDS));
        c->root = (int)draw(draw(3) ? (unsigned)p->ranks : 1);
        c->seed = seed * PROGRAM_CALLS + (uint64_t)i;
        c->in_place = c->kind <= EXSCAN && draw(3) == 0;
        c->element = 1;
        c->words = length < longs * 2 - (longs == 2) ? 29 + draw(draw(2) ? 400 : 100)
                   : length % 2                      ? 1 + draw(14)
                                                     : 1 + draw(28);
        if (large && draw(3)) {
            c->element = draw(3) ? 16 : 64;
            c->words = (1 + draw(4)) * c->element;
        }
        if (between && i % 2 == 0)
            *c = (call){.kind = BCAST, .root = ahead, .element = 1, .words = short_words};
    }
}

void program_print(const program *p) {
    static const char *const names[] = {
        "barrier", "bcast",   "reduce",   "allreduce",  "scan",      "exscan",        "allgather",
        "gather",  "scatter", "alltoall", "allgatherv", "alltoallv", "reduce_scatter"};
    printf("%d ranks, rings of %zu bytes, past %d, fan %d, fold_ranks %d, fold_all %zu, pair by "
           "string %02x, %s order",
           p->ranks, p->area, (int)p->past, p->tuning.fan, p->tuning.fold_ranks,
           p->tuning.fold_all_bytes, p->tuning.pair_string, p->commutes ? "any" : "fixed");
    for (int r = 0; p->domains && r < p->ranks; r++)
        printf("%s%d",
               r             ? " "
               : p->any_size ? ", domains (any size) "
                             : ", domains ",
               p->domain_of[r]);
    printf("\n");
    for (int i = 0; i < p->ncalls; i++)
        printf("  call %d: %s, root %d, %zu words, elements of %zu%s\n", i, names[p->calls[i].kind],
               p->calls[i].root, p->calls[i].words, p->calls[i].element,
               p->calls[i].in_place ? ", in place" : "");
}
