/* Coroutines, their scheduling, and the choices. The memory is in memory.c.
 *
 * Ranks change at loads only, before them. That loses nothing: a store done earlier than it might
 * have been takes no choice away from a load, which may still return an older one. */
#include "tests/c/node_model/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK = 256 * 1024, STEPS = 200000, CHOICES = 4096 };

model_tuning_t model_tuning = {8, 3, 1024, 0};
model_execution model_now;
int model_me;

typedef struct {
    jmp_buf at;
    bool begun, over;
    const void *waits; /* location, NULL: runnable */
    int priority;
} coroutine;

static coroutine ranks[MODEL_RANKS];
static char stacks[MODEL_RANKS][STACK] __attribute__((aligned(64)));
static ucontext_t main_context, first_context[MODEL_RANKS];
static jmp_buf main_at;
static char what[1024];
static bool failed;
static uint64_t random_state, steps, all_steps;
static unsigned patience; /* stays with a rank but for one load in so many; 0: by priorities */

static struct { unsigned taken, of; } choices[CHOICES];
static size_t chosen, known;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545F4914F6CDD1D) >> 20;
}

unsigned model_choose(unsigned n) {
    if (!model_now.exhaustive)
        return (unsigned)(next_random() % n);
    if (n == 1)
        return 0;
    if (chosen == CHOICES)
        model_fail("too many choices for an exhaustive search");
    if (chosen == known) {
        choices[known].taken = 0;
        choices[known++].of = n;
    } else if (choices[chosen].of != n) {
        model_fail("the model is not deterministic");
    }
    return choices[chosen++].taken;
}

void model_first(void) {
    known = 0;
}

bool model_next(void) {
    while (known && choices[known - 1].taken + 1 == choices[known - 1].of)
        known--;
    if (known)
        choices[known - 1].taken++;
    return known > 0;
}

uint64_t model_steps(void) {
    return all_steps + steps;
}

const char *model_what(void) {
    return what;
}

_Noreturn void model_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(what, sizeof what, "rank %d: ", model_me);
    vsnprintf(what + n, sizeof what - (size_t)n, format, arguments);
    va_end(arguments);
    failed = true;
    _longjmp(main_at, 1);
}

static void entry(void) {
    model_now.run(model_me);
    ranks[model_me].over = true;
    model_switch();
    abort();
}

static void go_to(int rank) {
    model_me = rank;
    if (ranks[rank].begun)
        _longjmp(ranks[rank].at, 1);
    ranks[rank].begun = true;
    setcontext(&first_context[rank]);
    abort();
}

/* Who goes on; -1 when nobody can. Not inlined: its variables need not survive a longjmp. */
static __attribute__((noinline)) int pick(void) {
    int able[MODEL_RANKS], n = 0, best = -1;
    if (!ranks[model_me].over && !ranks[model_me].waits)
        able[n++] = model_me; /* the first choice of a search: no change */
    for (int r = 0; r < model_now.ranks; r++)
        if (r != model_me && !ranks[r].over && !ranks[r].waits)
            able[n++] = r;
    if (n == 0)
        return -1;
    if (model_now.exhaustive)
        return able[model_choose((unsigned)n)];
    if (patience)
        return able[0] == model_me && model_choose(patience) ? model_me
                                                             : able[model_choose((unsigned)n)];
    if (model_choose(24) == 0) /* falls behind all others */
        ranks[model_me].priority -= MODEL_RANKS;
    for (int i = 0; i < n; i++)
        if (best < 0 || ranks[able[i]].priority > ranks[best].priority)
            best = able[i];
    return best;
}

void model_switch(void) {
    if (++steps > STEPS)
        model_fail("goes on for ever");
    int next = pick();
    if (next < 0) {
        for (int r = 0; r < model_now.ranks; r++)
            if (!ranks[r].over) {
                model_me = r;
                model_fail("waits for ever, for %s", model_name(ranks[r].waits));
            }
        _longjmp(main_at, 1);
    }
    if (next == model_me)
        return;
    if (ranks[model_me].over || !_setjmp(ranks[model_me].at))
        go_to(next);
}

void model_wait(const void *location) {
    ranks[model_me].waits = location;
    model_switch();
}

void model_wake(const void *location) {
    for (int r = 0; r < model_now.ranks; r++)
        if (ranks[r].waits == location)
            ranks[r].waits = NULL;
}

bool model_run(const model_execution *execution) {
    static const unsigned patiences[] = {0, 0, 2, 8, 64};
    model_now = *execution;
    random_state = (execution->seed + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (int i = 0; i < 4; i++)
        next_random();
    all_steps += steps;
    steps = chosen = 0;
    failed = false;
    what[0] = 0;
    model_memory_begin();
    if (!execution->exhaustive)
        patience = patiences[model_choose(sizeof patiences / sizeof *patiences)];
    for (int r = 0; r < execution->ranks; r++) {
        ranks[r] = (coroutine){.priority = execution->exhaustive ? 0 : (int)model_choose(64)};
        if (getcontext(&first_context[r]))
            abort();
        first_context[r].uc_stack.ss_sp = stacks[r];
        first_context[r].uc_stack.ss_size = STACK;
        first_context[r].uc_link = &main_context;
        makecontext(&first_context[r], entry, 0);
    }
    if (!_setjmp(main_at))
        go_to(execution->exhaustive ? 0 : (int)model_choose((unsigned)execution->ranks));
    return !failed;
}
