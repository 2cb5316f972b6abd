/* See cache.h. */
#include "tests/c/node_traffic/cache.h"
#include "tests/c/node_model/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK = 128 * 1024, HELD = CACHE_RANKS / 64 };

static const double next = 20, stream_near = 3, stream_far = 6.4;

model_tuning_t model_tuning = {8, 3, 128 * 1024, 0};

/* What was last written there, and who has it since when: a rank, and an L3 cache. */
typedef struct {
    cache_path written;
    double serves; /* until then it is busy with other readers */
    int writer;    /* -1: nobody wrote */
    uint64_t held[HELD];
    float cached[CACHE_GROUPS];
} line;

typedef struct {
    ucontext_t context;
    bool over;
    const line *waits; /* NULL: can go on */
    cache_path path;
    bool overlaps; /* it has fetched a line since its last store */
    cache_lines lines;
    const void *looked; /* the flag that it saw last, and what */
    uint64_t seen;
} core;

static cache_machine machine;
static int ranks, me;
static unsigned char *memory;
static size_t memory_bytes;
static line *lines;
static core cores[CACHE_RANKS];
static char *stacks[CACHE_RANKS];
static ucontext_t main_context;
static void (*run_rank)(int);
static const line nothing; /* what cache_align waits for */
static double began;

_Noreturn void model_fail(const char *what, ...) {
    va_list arguments;
    va_start(arguments, what);
    vfprintf(stderr, what, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static line *line_of(const void *at) {
    const size_t offset = (size_t)((const unsigned char *)at - memory);
    return offset < memory_bytes ? &lines[offset / CACHE_LINE] : NULL;
}

/* The rank with the least clock goes on. */
static void yield(void) {
    int best = -1;
    for (int r = 0; r < ranks; r++)
        if (!cores[r].over && !cores[r].waits &&
            (best < 0 || cores[r].path.ns < cores[best].path.ns))
            best = r;
    const int from = me;
    if (best == from)
        return;
    if (best < 0) {
        for (int r = 0; r < ranks; r++)
            if (!cores[r].over)
                model_fail("rank %d waits for ever", r);
        setcontext(&main_context);
    }
    me = best;
    swapcontext(&cores[from].context, &cores[best].context);
}

static bool holds(const line *l, int rank) {
    return l->writer < 0 || l->writer == rank || l->held[rank / 64] >> rank % 64 & 1;
}

static double hop(int a, int b) {
    return a / machine.cache == b / machine.cache     ? machine.near
           : a / machine.socket == b / machine.socket ? machine.far
                                                      : machine.farther;
}

/* This rank reads the line; in_row: it follows another one of the same copy. */
static void fetch(line *l, bool in_row) {
    core *c = &cores[me];
    if (!l || holds(l, me))
        return;
    const int group = me / machine.cache;
    const bool inside = group == l->writer / machine.cache || l->cached[group] > 0;
    const double distance = inside ? machine.near : hop(me, l->writer);
    double ready = l->written.ns;
    if (inside && l->cached[group] > ready)
        ready = l->cached[group];
    else if (l->serves > ready)
        ready = l->serves;
    *(inside ? &c->lines.near : &c->lines.far) += 1;
    if (in_row)
        c->path.ns += inside ? stream_near : stream_far;
    else if (c->overlaps && ready + distance <= c->path.ns + next)
        c->path.ns += next;
    else {
        if (c->overlaps || ready > c->path.ns) /* it waits for who wrote: his path goes on here */
            c->path = (cache_path){ready, l->written.near, l->written.far};
        c->path.ns += distance;
        *(inside ? &c->path.near : &c->path.far) += 1;
    }
    if (!inside)
        l->serves = ready + next;
    c->overlaps = true;
    l->held[me / 64] |= UINT64_C(1) << me % 64;
    if (l->cached[group] <= 0)
        l->cached[group] = (float)c->path.ns;
}

static void written(line *l) {
    *l = (line){.written = cores[me].path, .writer = me};
    cores[me].overlaps = false;
    for (int r = 0; r < ranks; r++)
        if (cores[r].waits == l)
            cores[r].waits = NULL;
}

uint64_t model_load(const _Atomic uint64_t *at, int order, const char *function) {
    (void)order;
    core *c = &cores[me];
    const bool again = strcmp(function, "stretto_await_slow") == 0;
    line *l = line_of((const void *)at);
    if (!l)
        model_fail("a flag outside the shared memory");
    if (again && c->looked == (const void *)at && *(const uint64_t *)(const void *)at == c->seen)
        c->waits = l;
    yield();
    fetch(l, false);
    c->looked = (const void *)at;
    c->seen = *(const uint64_t *)(const void *)at;
    return c->seen;
}

void model_store(_Atomic uint64_t *at, uint64_t value, int order, const char *file, int line_at) {
    (void)order, (void)file, (void)line_at;
    line *l = line_of((const void *)at);
    if (!l)
        model_fail("a flag outside the shared memory");
    *(uint64_t *)(void *)at = value;
    written(l);
}

void model_reads(const void *from, size_t bytes, const char *file, int line_at) {
    (void)file, (void)line_at;
    const unsigned char *at = from, *end = at + bytes;
    for (bool row = false; at < end && line_of(at); row = true) {
        fetch(line_of(at), row);
        at += CACHE_LINE - (uintptr_t)at % CACHE_LINE;
    }
}

void model_writes(const void *to, size_t bytes, const char *file, int line_at) {
    (void)file, (void)line_at;
    const unsigned char *at = to, *end = at + bytes;
    for (bool row = false; at < end && line_of(at); row = true) {
        if (row)
            cores[me].path.ns += stream_near;
        written(line_of(at));
        at += CACHE_LINE - (uintptr_t)at % CACHE_LINE;
    }
}

void *model_copy(void *to, const void *from, size_t bytes, const char *file, int line_at) {
    model_reads(from, bytes, file, line_at);
    model_writes(to, bytes, file, line_at);
    return memmove(to, from, bytes);
}

void *model_set(void *to, int byte, size_t bytes, const char *file, int line_at) {
    model_writes(to, bytes, file, line_at);
    return memset(to, byte, bytes);
}

int model_enter(int site) {
    return site;
}
void model_leave(const int *site) {
    (void)site;
}
bool model_pretends(int site) {
    (void)site;
    return false;
}

void cache_set(_Atomic uint64_t *flag, uint64_t value) {
    model_store(flag, value, 0, __FILE__, __LINE__);
}

void cache_await(const _Atomic uint64_t *flag, uint64_t value) {
    uint64_t seen = model_load(flag, 0, "cache_await");
    while (seen < value)
        seen = model_load(flag, 0, "stretto_await_slow");
}

void cache_align(void) {
    double latest = 0;
    cores[me].waits = &nothing;
    for (int r = 0; r < ranks; r++) {
        if (cores[r].waits != &nothing) {
            yield();
            return;
        }
        if (cores[r].path.ns > latest)
            latest = cores[r].path.ns;
    }
    began = latest;
    for (int r = 0; r < ranks; r++) {
        cores[r].waits = NULL;
        cores[r].path = (cache_path){latest, 0, 0};
        cores[r].lines = (cache_lines){0, 0};
        cores[r].overlaps = false;
    }
    yield();
}

cache_path cache_path_of(int rank) {
    cache_path path = cores[rank].path;
    path.ns -= began;
    return path;
}

cache_lines cache_lines_of(int rank) {
    return cores[rank].lines;
}

static void entry(void) {
    run_rank(me);
    cores[me].over = true;
    yield();
}

void cache_run(const cache_machine *described, int nranks, void *shared, size_t bytes,
               void (*run)(int)) {
    machine = *described, ranks = nranks, memory = shared, memory_bytes = bytes, run_rank = run;
    memset(memory, 0, bytes);
    lines = calloc(bytes / CACHE_LINE, sizeof *lines);
    if (!lines || (size_t)ranks > (size_t)described->cache * CACHE_GROUPS)
        model_fail("out of memory");
    for (size_t i = 0; i < bytes / CACHE_LINE; i++)
        lines[i].writer = -1;
    for (int r = 0; r < ranks; r++) {
        if (!stacks[r])
            stacks[r] = malloc(STACK);
        cores[r] = (core){0};
        if (!stacks[r] || getcontext(&cores[r].context))
            model_fail("out of memory");
        cores[r].context.uc_stack.ss_sp = stacks[r];
        cores[r].context.uc_stack.ss_size = STACK;
        makecontext(&cores[r].context, entry, 0);
    }
    me = 0;
    swapcontext(&main_context, &cores[0].context);
    free(lines);
}
