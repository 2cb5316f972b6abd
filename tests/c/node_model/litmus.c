/* The checker checked: litmus tests whose outcomes under C11 are known, all executions of each. An
 * outcome is what the loads returned, read as decimal digits. */
#include "tests/c/node_model/litmus.h"
#include "tests/c/node_model/model.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { FLAG = 8, TEXT = 128 }; /* 64-bit words from one location to the next; of an outcome list */

static _Atomic uint64_t memory[8 * FLAG] __attribute__((aligned(128)));
static uint32_t *const plain = (uint32_t *)(void *)&memory[7 * FLAG];
static int digits[MODEL_RANKS][2];
static int stores, loads; /* the orders of this variant */

static int load(int location) {
    return (int)model_load(&memory[location * FLAG], loads, "stretto_await");
}
static void await(int location) { /* until 1 */
    if (load(location) == 0)
        while (model_load(&memory[location * FLAG], loads, "await_litmus") == 0)
            continue;
}
static void store(int location, int value) {
    model_store(&memory[location * FLAG], (uint64_t)value, stores, __FILE__, __LINE__);
}

static void message(int me) { /* x = 1; y = 1 || y; x */
    if (me == 0) {
        model_store(&memory[0], 1, memory_order_relaxed, __FILE__, __LINE__);
        store(1, 1);
    } else {
        digits[1][0] = load(1);
        digits[1][1] = (int)model_load(&memory[0], memory_order_relaxed, "stretto_await");
    }
}
static void buffering(int me) { /* x = 1; y || y = 1; x */
    store(me, 1);
    digits[me][0] = load(1 - me);
}
static void coherence(int me) { /* x = 1; x = 2 || x; x */
    for (int i = 0; i < 2; i++)
        if (me == 0)
            store(0, i + 1);
        else
            digits[1][i] = load(0);
}
static void causality(int me) { /* x = 1 || await x; y = 1 || y; x */
    if (me == 0) {
        store(0, 1);
    } else if (me == 1) {
        await(0);
        store(1, 1);
    } else {
        digits[2][0] = load(1);
        digits[2][1] = load(0);
    }
}
static void independent(int me) { /* x = 1 || y = 1 || x; y || y; x */
    if (me < 2) {
        store(me, 1);
    } else {
        digits[me][0] = load(me - 2);
        digits[me][1] = load(3 - me);
    }
}
static void read_seen(int me) { /* x = 1 || await x; y = 1 || await y; x, which was read before */
    if (me == 0)
        model_store(&memory[0], 1, memory_order_relaxed, __FILE__, __LINE__);
    else if (me == 1) {
        await(0);
        store(1, 1);
    } else {
        await(1);
        digits[2][0] = load(0);
    }
}
static void payload(int me) { /* plain = 1; x = 1 || await x; plain */
    if (me == 0) {
        model_writes(plain, 4, __FILE__, __LINE__);
        *plain = 1;
        model_wrote(plain, 4);
        store(0, 1);
    } else {
        await(0);
        model_reads(plain, 4, __FILE__, __LINE__);
        digits[1][0] = (int)*plain;
    }
}
static void reuse(int me) { /* read plain; x = 1 || await x; plain = 1; the first owner's was 0 */
    if (me == 0) {
        model_writes(plain, 4, __FILE__, __LINE__);
        model_reads(plain, 4, __FILE__, __LINE__);
        store(0, 1);
    } else {
        await(0);
        model_writes(plain, 4, __FILE__, __LINE__);
    }
}
static void forgotten(int me) { /* await x, which nobody stores */
    if (me == 0)
        await(0);
}
static void two_writers(int me) {
    store(0, me + 1);
}

void __tsan_write4(void *at); /* unseen.c: as the compiler calls it */
static void unseen(int me) {
    if (me == 0)
        __tsan_write4(plain);
}

static const struct {
    const char *name;
    void (*run)(int me);
    int ranks, stores, loads;
    const char *outcomes; /* all of them, ascending; !: executions that fail among them */
} tests[] = {
    {"message passing", message, 2, memory_order_release, memory_order_acquire, "0 1 11"},
    {"message passing, relaxed store", message, 2, memory_order_relaxed, memory_order_acquire,
     "0 1 10 11"},
    {"message passing, relaxed load", message, 2, memory_order_release, memory_order_relaxed,
     "0 1 10 11"},
    {"store buffering", buffering, 2, memory_order_release, memory_order_acquire, "0 10 1000 1010"},
    {"coherence", coherence, 2, memory_order_relaxed, memory_order_relaxed, "0 1 2 11 12 22"},
    {"causality", causality, 3, memory_order_release, memory_order_acquire, "0 1 11"},
    {"causality, relaxed", causality, 3, memory_order_relaxed, memory_order_relaxed, "0 1 10 11"},
    {"independent reads", independent, 4, memory_order_release, memory_order_acquire,
     "0 1 10 11 100 101 110 111 1000 1001 1010 1011 1100 1101 1110 1111"},
    {"coherence through another rank", read_seen, 3, memory_order_release, memory_order_acquire,
     "10"},
    {"coherence, relaxed", read_seen, 3, memory_order_relaxed, memory_order_relaxed, "0 10"},
    {"payload", payload, 2, memory_order_release, memory_order_acquire, "10"},
    {"payload, relaxed store", payload, 2, memory_order_relaxed, memory_order_acquire, "!"},
    {"payload, relaxed load", payload, 2, memory_order_release, memory_order_relaxed, "!"},
    {"reuse", reuse, 2, memory_order_release, memory_order_acquire, "0"},
    {"reuse, relaxed store", reuse, 2, memory_order_relaxed, memory_order_acquire, "!"},
    {"reuse, relaxed load", reuse, 2, memory_order_release, memory_order_relaxed, "!"},
    {"a flag that nobody sets", forgotten, 2, memory_order_release, memory_order_acquire, "!"},
    {"an access that the model does not see", unseen, 2, memory_order_release, memory_order_acquire,
     "!"},
    {"two writers", two_writers, 2, memory_order_release, memory_order_acquire, "!"},
};

bool litmus(void) {
    enum { OUTCOMES = 10000 };
    static bool seen[OUTCOMES];
    bool right = true;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char found[TEXT] = "";
        bool failed = false;
        stores = tests[i].stores, loads = tests[i].loads;
        memset(seen, 0, sizeof seen);
        model_first();
        do {
            memset(digits, 0, sizeof digits);
            model_execution e = {.ranks = tests[i].ranks,
                                 .memory = memory,
                                 .bytes = sizeof memory,
                                 .stride = sizeof memory,
                                 .run = tests[i].run,
                                 .exhaustive = true,
                                 .mutant = {MODEL_SOUND, 0}};
            if (!model_run(&e)) {
                failed = true;
                continue;
            }
            int outcome = 0; /* of the ranks that load: all of the last two */
            for (int r = tests[i].ranks - 2; r < tests[i].ranks; r++)
                outcome = outcome * 100 + digits[r][0] * 10 + digits[r][1];
            seen[outcome] = true;
        } while (model_next());
        for (int o = 0; o < OUTCOMES; o++)
            if (seen[o])
                snprintf(found + strlen(found), TEXT - strlen(found), "%s%d", *found ? " " : "", o);
        if (failed)
            snprintf(found + strlen(found), TEXT - strlen(found), "!");
        if (strcmp(found, tests[i].outcomes) != 0) {
            printf("litmus, %s: %s instead of %s\n", tests[i].name, found, tests[i].outcomes);
            right = false;
        }
    }
    return right;
}
