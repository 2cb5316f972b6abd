/* node_traffic: hops and lines of small collectives on nodes of many cores, counted by cache.h.
 *
 *   node_traffic          prints a table
 *   node_traffic check    and compares it with what the documentation promises
 * (docs/explanation/node-cores.md)
 *
 * Next to src/node stand two of Open MPI's components, by their structure only: which rank reads
 * which line, in which order. */
#include "tests/c/node_model/model.h"
#include "tests/c/node_traffic/cache.h"
#include "node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cores as the instances' descriptions have them (python/stretto/platforms); hops assumed. */
static const cache_machine machines[] = {
    {"hpc7g", 64, 64, 64, 64, 80, 80, 80},       {"c5n", 36, 18, 18, 18, 60, 60, 150},
    {"64 cores", 64, 8, 16, 64, 55, 150, 250},   {"hpc6a", 96, 8, 24, 48, 55, 150, 250},
    {"128 cores", 128, 8, 32, 64, 55, 150, 250}, {"hpc7a", 192, 8, 24, 96, 55, 150, 250},
};

typedef enum { BARRIER, BCAST, REDUCE, ALLREDUCE, XHC, ACOLL, DOUBLING } what;
typedef enum { FLAT, BY_MEMORY, BY_CACHE, NONE } domains;

static const char *const names[] = {"barrier",           "bcast",         "reduce",
                                    "allreduce",         "xhc allreduce", "acoll barrier",
                                    "recursive doubling"};
static const char *const domain_names[] = {"one domain", "by NUMA domain", "by L3 cache", ""};

enum { WARM = 3, LEVELS = 4 };

static const cache_machine *m;
static what kind;
static domains by;
static unsigned char *memory;
static size_t node_bytes;
static stretto_node *nodes[CACHE_RANKS];

static void sum(const void *left, const void *right, void *out, size_t n) {
    model_reads(left, 8 * n, "", 0);
    model_reads(right, 8 * n, "", 0);
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)out)[i] = ((const uint64_t *)left)[i] + ((const uint64_t *)right)[i];
}

static void progress(void *arg) {
    (void)arg;
}

/* ---- others' protocols: lines of a rank, each with one flag ---- */

enum { UP, DOWN = UP + LEVELS, ACK = DOWN + LEVELS, FREE = ACK + LEVELS, FLAGS = FREE + LEVELS };

static _Atomic uint64_t *flag(int rank, int which) {
    return (_Atomic uint64_t *)(void *)(memory + node_bytes +
                                        ((size_t)rank * FLAGS + (size_t)which) * 128);
}

/* The first rank of the group of this width; a level's members are the first ranks of the groups
 * below. */
static int first_of(int rank, int width) {
    return rank / width * width;
}

/* coll/xhc, messages that fit in the line of the flag: leaders of L3 cache, NUMA domain, socket
 * and node fold their members' lines; a bcast by NUMA domain, socket and node brings the result
 * down; leaders then wait until all members have it. */
static void xhc(int me, uint64_t call) {
    const int up[] = {1, m->cache, m->memory, m->socket, m->ranks};
    const int down[] = {1, m->memory, m->socket, m->ranks};
    for (int l = 0; l < 4 && me == first_of(me, up[l]); l++) {
        const int lead = first_of(me, up[l + 1]);
        if (me == lead)
            for (int r = me + up[l]; r < me + up[l + 1] && r < m->ranks; r += up[l])
                cache_await(flag(r, UP + l), call);
        else
            cache_set(flag(me, UP + l), call);
    }
    int top = 0; /* of the bcast's levels: those that this rank leads */
    while (top < 3 && me == first_of(me, down[top + 1]))
        top++;
    if (top < 3)
        cache_await(flag(first_of(me, down[top + 1]), DOWN + top), call);
    for (int l = top - 1; l >= 0; l--)
        cache_set(flag(me, DOWN + l), call);
    for (int l = 0; l < top; l++)
        for (int r = me + down[l]; r < me + down[l + 1] && r < m->ranks; r += down[l])
            cache_await(flag(r, ACK + l), call);
    if (top < 3)
        cache_set(flag(me, ACK + top), call);
}

/* coll/acoll's barrier in shared memory: NUMA domains, then their first ranks and rank 0. */
static void acoll(int me, uint64_t call) {
    const int lead = first_of(me, m->memory);
    if (me == 0)
        for (int r = m->memory; r < m->ranks; r += m->memory)
            cache_await(flag(r, UP + 1), call);
    if (me == lead)
        for (int r = me + 1; r < me + m->memory && r < m->ranks; r++)
            cache_await(flag(r, UP), call);
    else
        cache_set(flag(me, UP), call);
    if (me == lead && me) {
        cache_set(flag(me, UP + 1), call);
        cache_await(flag(0, DOWN), call);
    }
    if (me == lead)
        cache_set(flag(me, DOWN), call);
    else
        cache_await(flag(lead, DOWN), call);
}

/* Rounds of messages between pairs, if a message were one line: what coll/acoll and coll/tuned
 * take for an allreduce of 8 B. Ranks beyond a power of two take part by a neighbour. */
static void doubling(int me, uint64_t call) {
    int power = 1;
    while (2 * power <= m->ranks)
        power *= 2;
    const int extra = m->ranks - power;
    int number = me < 2 * extra ? (me % 2 ? me / 2 : -1) : me - extra;
    if (number < 0) {
        cache_set(flag(me, 0), call);
        cache_await(flag(me + 1, FLAGS - 1), call);
        return;
    }
    if (me < 2 * extra)
        cache_await(flag(me - 1, 0), call);
    int round = 1;
    for (int mask = 1; mask < power; mask *= 2, round++) {
        const int other = number ^ mask, peer = other < extra ? 2 * other + 1 : other + extra;
        cache_set(flag(me, round), call);
        cache_await(flag(peer, round), call);
    }
    if (me < 2 * extra)
        cache_set(flag(me, FLAGS - 1), call);
}

/* ---- runs ---- */

static void one_call(int me, uint64_t call) {
    uint64_t src = (uint64_t)me, dst = 0;
    const int root = 0;
    switch (kind) {
    case BARRIER: stretto_node_barrier(nodes[me]); break;
    case BCAST: stretto_node_bcast(nodes[me], me == root ? &src : &dst, 8, root); break;
    case REDUCE: stretto_node_reduce(nodes[me], &src, &dst, 1, 8, sum, root); break;
    case ALLREDUCE:
        stretto_node_allreduce(nodes[me], &src, &dst, 1, 8, sum);
        if (dst != (uint64_t)m->ranks * (uint64_t)(m->ranks - 1) / 2)
            model_fail("allreduce: wrong result");
        break;
    case XHC: xhc(me, call); break;
    case ACOLL: acoll(me, call); break;
    case DOUBLING: doubling(me, call); break;
    }
}

static void run_rank(int me) {
    const stretto_wait wait = {100, false, progress, NULL, false};
    int domain_of[CACHE_RANKS];
    for (int r = 0; r < m->ranks; r++)
        domain_of[r] = r / (by == BY_CACHE ? m->cache : m->memory);
    nodes[me] = stretto_node_attach(memory, m->ranks, me, STRETTO_NODE_SHORT, NULL, &wait);
    if (!nodes[me] ||
        (by != FLAT && by != NONE && !stretto_node_use_domains(nodes[me], domain_of, true, false)))
        model_fail("out of memory");
    for (uint64_t call = 1; call <= WARM; call++) {
        one_call(me, call);
        if (kind == BCAST || kind == REDUCE)
            stretto_node_barrier(nodes[me]);
    }
    cache_align();
    one_call(me, WARM + 1);
}

typedef struct {
    cache_path last; /* of the rank that ends last */
    cache_lines most, all;
} counts;

static counts count(const cache_machine *machine, what collective, domains order) {
    m = machine, kind = collective, by = order;
    node_bytes = stretto_node_bytes(m->ranks, STRETTO_NODE_SHORT);
    const size_t bytes = node_bytes + (size_t)m->ranks * FLAGS * 128;
    memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory)
        model_fail("out of memory");
    cache_run(m, m->ranks, memory, bytes, run_rank);
    counts c = {0};
    for (int r = 0; r < m->ranks; r++) {
        const cache_path path = cache_path_of(r);
        const cache_lines lines = cache_lines_of(r);
        if (path.ns > c.last.ns)
            c.last = path;
        c.most.near = lines.near > c.most.near ? lines.near : c.most.near;
        c.most.far = lines.far > c.most.far ? lines.far : c.most.far;
        c.all.near += lines.near;
        c.all.far += lines.far;
        stretto_node_detach(nodes[r]);
    }
    free(memory);
    return c;
}

static void print(const cache_machine *machine, what collective, domains order) {
    const counts c = count(machine, collective, order);
    printf("%-9s %3d  %-18s %-14s %4d %4d %5.0f  %6llu %4llu  %6llu %6llu\n", machine->name,
           machine->ranks, names[collective], domain_names[order], c.last.near, c.last.far,
           c.last.ns, (unsigned long long)c.most.near, (unsigned long long)c.most.far,
           (unsigned long long)c.all.near, (unsigned long long)c.all.far);
}

/* Two levels of far hops: up, across the top, down. A bcast or a reduce goes one way. */
static bool as_documented(const cache_machine *machine, what collective, domains order) {
    const counts c = count(machine, collective, order), other = count(machine, XHC, NONE);
    const int most = collective == BCAST || collective == REDUCE ? 2 : 3;
    const bool well = c.last.far <= most && (collective != ALLREDUCE || order != BY_MEMORY ||
                                             (c.all.far < other.all.far || !other.all.far));
    if (!well)
        printf("NOT AS DOCUMENTED: %s of %s, %s\n", names[collective], machine->name,
               domain_names[order]);
    return well;
}

int main(int argc, char **argv) {
    const bool check = argc > 1 && strcmp(argv[1], "check") == 0;
    bool well = true;
    if (!check)
        printf("%39s  hops       time  most of a rank  all ranks\n%39s  near  far    ns    near  "
               "far    near    far\n",
               "", "");
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const bool memories = machines[i].memory < machines[i].ranks;
        const bool caches = machines[i].cache < machines[i].memory;
        for (what w = BARRIER; w <= ALLREDUCE; w++)
            for (domains d = FLAT; d < NONE; d++)
                if (d != FLAT && !(d == BY_MEMORY ? memories : caches))
                    continue;
                else if (check)
                    well &= as_documented(&machines[i], w, d);
                else
                    print(&machines[i], w, d);
        for (what w = XHC; w <= DOUBLING && !check; w++)
            print(&machines[i], w, NONE);
    }
    return !well;
}
