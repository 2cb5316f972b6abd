/* The shared memory of the model: what a load may return, and which plain accesses race. */
#include "tests/c/node_model/internal.h"
#include "node/internal.h"

#include <stdio.h>
#include <stdlib.h>
#undef memcpy
#undef memmove
#undef memset

enum { LOCATIONS = 128, STORES = 512, WORD = 4, WORDS = 16384, SITES = 512 };

/* What a rank knows, and a release store carries: of each rank its time, of each location the
 * newest store. */
typedef struct {
    uint32_t time[MODEL_RANKS];
    uint16_t newest[LOCATIONS];
} view;

typedef struct {
    uint64_t value;
    bool release;
    view carried;
} stored;

static struct location {
    const void *at;
    int writer, n;
    stored store[STORES];
} locations[LOCATIONS];
static int nlocations;
static uint16_t index_of[WORDS / 2]; /* by 8 bytes; 0: none */

static view knows[MODEL_RANKS];
static const void *last_load[MODEL_RANKS];
static int missed;         /* whose flags a MODEL_MISS does not wait for */
static unsigned staleness; /* a load in so many is free to choose, 0: none */
static uint16_t inside[MODEL_RANKS][SITES];

/* Of each word of 4 bytes: who wrote it last and when, who read it when; and what it holds, which
 * shows a write that the model did not see. */
static struct {
    uint32_t written, read[MODEL_RANKS];
    int writer;
} words[WORDS];
static uint32_t contents[WORDS];

static const char *base(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static size_t offset_of(const void *at) {
    return (size_t)((const unsigned char *)at - (const unsigned char *)model_now.memory);
}

static bool is_shared(const void *at) {
    return (uintptr_t)at - (uintptr_t)model_now.memory < model_now.bytes;
}

static int owner_of(const void *at) {
    return (int)(offset_of(at) / model_now.stride);
}

const char *model_name(const void *location) {
    static char name[4][80];
    static int turn;
    turn = (turn + 1) % 4;
    const size_t rank = (size_t)owner_of(location), at = offset_of(location) % model_now.stride;
    const char *part = at < offsetof(stretto_area, posted)   ? "done"
                       : at < offsetof(stretto_area, taken)  ? "posted"
                       : at < offsetof(stretto_area, tiny)   ? "taken"
                       : at < offsetof(stretto_area, small)  ? "tiny"
                       : at < offsetof(stretto_area, chunks) ? "small"
                                                             : "chunks";
    snprintf(name[turn], sizeof *name, "%s of rank %zu (+%zu)", part, rank, at);
    return name[turn];
}

void model_memory_begin(void) {
    if (model_now.bytes > sizeof contents)
        abort();
    const size_t n = model_now.bytes / WORD;
    memset(model_now.memory, 0, model_now.bytes);
    memset(words, 0, n * sizeof *words);
    memset(contents, 0, n * sizeof *contents);
    memset(index_of, 0, n / 2 * sizeof *index_of);
    memset(inside, 0, sizeof inside);
    memset(last_load, 0, sizeof last_load);
    memset(knows, 0, sizeof knows);
    nlocations = 1;
    for (int r = 0; r < model_now.ranks; r++)
        knows[r].time[r] = 1;
    static const unsigned chances[] = {0, 1, 2, 8};
    missed = (int)(model_now.seed % (uint64_t)model_now.ranks);
    if (!model_now.exhaustive)
        staleness = chances[model_choose(sizeof chances / sizeof *chances)];
}

static int locate(const void *at) {
    if (!is_shared(at))
        model_fail("an atomic access outside the shared memory");
    uint16_t *index = &index_of[offset_of(at) / 8];
    if (!*index) {
        if (nlocations == LOCATIONS)
            model_fail("too many locations for the model");
        struct location *l = &locations[nlocations];
        l->at = at, l->writer = -1, l->n = 1;
        l->store[0].value = model_now.past, l->store[0].release = false;
        *index = (uint16_t)nlocations++;
    }
    return *index;
}

static bool spoiled(model_kind kind) {
    return model_now.mutant.kind == kind && inside[model_me][model_now.mutant.site];
}

uint64_t model_load(const _Atomic uint64_t *address, int order, const char *function) {
    const void *at = (const void *)address;
    /* a load in a loop that waits, for what is not there yet: a wait that read the same again would
     * have changed nothing */
    const bool peek = strcmp(function, "stretto_peek") == 0; /* who peeks goes on either way */
    const bool again = !peek && strcmp(function, "stretto_await") != 0;
    if (again && strcmp(function, "stretto_await_slow") != 0 && strncmp(function, "await_", 6) != 0)
        model_fail("%s loads a flag by itself: the model must know whether it waits", function);
    if (order != memory_order_acquire && order != memory_order_relaxed)
        model_fail("%s: an order of loads that is not modelled", function);
    if (spoiled(MODEL_SKIP) || (spoiled(MODEL_MISS) && owner_of(at) == missed))
        return UINT64_MAX;
    model_switch();
    view *mine = &knows[model_me];
    const int l = locate(at);
    int from = mine->newest[l];
    if (again) {
        if (last_load[model_me] != at)
            model_fail("%s waits for another flag than was looked at", function);
        if (from == locations[l].n - 1)
            model_wait(at);
        from++;
    }
    last_load[model_me] = at;
    const unsigned to_choose_from = (unsigned)(locations[l].n - from);
    int read = locations[l].n - 1;
    if (model_now.exhaustive || (staleness && model_choose(staleness) == 0))
        read -= (int)model_choose(to_choose_from);
    const stored *s = &locations[l].store[read];
    mine->newest[l] = (uint16_t)read;
    if (order == memory_order_acquire && !spoiled(MODEL_RELAX) && s->release) {
        for (int r = 0; r < model_now.ranks; r++)
            if (mine->time[r] < s->carried.time[r])
                mine->time[r] = s->carried.time[r];
        for (int i = 1; i < nlocations; i++)
            if (mine->newest[i] < s->carried.newest[i])
                mine->newest[i] = s->carried.newest[i];
    }
    if (model_now.trace)
        printf("rank %d  load  %s: %llu, store %d of %d%s\n", model_me, model_name(at),
               (unsigned long long)s->value, read, locations[l].n - 1, again ? ", waiting" : "");
    return s->value + spoiled(MODEL_EARLY);
}

void model_store(_Atomic uint64_t *address, uint64_t value, int order, const char *file, int line) {
    const void *at = (const void *)address;
    if (order != memory_order_release && order != memory_order_relaxed)
        model_fail("%s:%d: an order of stores that is not modelled", base(file), line);
    const int l = locate(at);
    struct location *location = &locations[l];
    if (location->writer != model_me && location->writer >= 0)
        model_fail("%s:%d: a second writer of %s", base(file), line, model_name(at));
    location->writer = model_me;
    if (location->n == STORES)
        model_fail("too many stores for the model");
    if (value < location->store[location->n - 1].value)
        model_fail("%s:%d: %s goes back", base(file), line, model_name(at));
    value += spoiled(MODEL_EARLY);
    view *mine = &knows[model_me];
    stored *s = &location->store[location->n];
    mine->newest[l] = (uint16_t)location->n++;
    s->value = value;
    s->release = order == memory_order_release && !spoiled(MODEL_RELAX);
    if (s->release) {
        s->carried = *mine;
        mine->time[model_me]++;
    }
    if (model_now.trace)
        printf("rank %d  store %s: %llu (%s:%d)\n", model_me, model_name(at),
               (unsigned long long)value, base(file), line);
    model_wake(at);
}

static void span_of(const void *at, size_t bytes, size_t *first, size_t *last) {
    const size_t offset = offset_of(at);
    if (offset % WORD || bytes % WORD || offset + bytes > model_now.bytes)
        model_fail("a span that the model cannot follow: %zu bytes at %zu", bytes, offset);
    *first = offset / WORD;
    *last = *first + bytes / WORD;
}

void model_reads(const void *from, size_t bytes, const char *file, int line) {
    if (!is_shared(from) || !bytes)
        return;
    const view *mine = &knows[model_me];
    size_t first, last;
    span_of(from, bytes, &first, &last);
    if (model_now.trace)
        printf("rank %d  reads %zu bytes, %s (%s:%d)\n", model_me, bytes, model_name(from),
               base(file), line);
    for (size_t i = first; i < last; i++) {
        if (!words[i].written)
            model_fail("%s:%d: reads %s, which nobody wrote", base(file), line, model_name(from));
        if (words[i].written > mine->time[words[i].writer])
            model_fail("%s:%d: reads %s while rank %d may write there", base(file), line,
                       model_name(from), words[i].writer);
        if (memcmp(&contents[i], (unsigned char *)model_now.memory + i * WORD, WORD) != 0)
            model_fail("%s:%d: %s was written unseen", base(file), line, model_name(from));
        words[i].read[model_me] = mine->time[model_me];
    }
}

/* Checks, before the writing. */
void model_writes(const void *to, size_t bytes, const char *file, int line) {
    if (!is_shared(to) || !bytes)
        return;
    const view *mine = &knows[model_me];
    size_t first, last;
    span_of(to, bytes, &first, &last);
    if (model_now.trace)
        printf("rank %d  writes %zu bytes, %s (%s:%d)\n", model_me, bytes, model_name(to),
               base(file), line);
    for (size_t i = first; i < last; i++) {
        if (words[i].written > mine->time[words[i].writer])
            model_fail("%s:%d: writes %s while rank %d may write there", base(file), line,
                       model_name(to), words[i].writer);
        for (int r = 0; r < model_now.ranks; r++)
            if (words[i].read[r] > mine->time[r])
                model_fail("%s:%d: writes %s while rank %d may read there", base(file), line,
                           model_name(to), r);
        words[i].writer = model_me;
        words[i].written = mine->time[model_me];
    }
}

void model_wrote(const void *to, size_t bytes) {
    if (is_shared(to))
        memcpy((unsigned char *)contents + offset_of(to), to, bytes);
}

void *model_copy(void *to, const void *from, size_t bytes, const char *file, int line) {
    model_reads(from, bytes, file, line);
    model_writes(to, bytes, file, line);
    memmove(to, from, bytes);
    model_wrote(to, bytes);
    return to;
}

void *model_set(void *to, int byte, size_t bytes, const char *file, int line) {
    model_writes(to, bytes, file, line);
    memset(to, byte, bytes);
    model_wrote(to, bytes);
    return to;
}

int model_enter(int site) {
    inside[model_me][site]++;
    return site;
}

void model_leave(const int *site) {
    inside[model_me][*site]--;
}

bool model_pretends(int site) {
    return model_now.mutant.kind == MODEL_PRETEND && model_now.mutant.site == site;
}
