/* Fibres: many at once, deep stacks, reuse, hopping between threads, floating-point modes, what is
 * kept in registers. */
#include "engine/fibre.h"

#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { FIBRES = 50 };

typedef struct {
    int steps, done;
    uint64_t sum;
    double product;
} job;

/* Values in registers of both kinds must outlive the yields. */
static void count(void *argument) {
    job *j = argument;
    uint64_t a = (uint64_t)j->steps, b = 3, c = 5, d = 7, e = 11, f = 13;
    double x = 1.5, y = 0.25, z = j->steps;
    for (int i = 0; i < j->steps; i++) {
        CHECK(stretto_fibre_here());
        stretto_fibre_yield();
        a = a * 3 + b, b += c ^ i, c += d, d = d * 5 + e, e ^= f + a, f += b;
        x = x * 1.0001 + y, y += z * 0.001;
        j->done++;
    }
    j->sum = a + b + c + d + e + f;
    j->product = x + y;
}

static void expect(const job *j) {
    uint64_t a = (uint64_t)j->steps, b = 3, c = 5, d = 7, e = 11, f = 13;
    double x = 1.5, y = 0.25, z = j->steps;
    for (int i = 0; i < j->steps; i++) {
        a = a * 3 + b, b += c ^ i, c += d, d = d * 5 + e, e ^= f + a, f += b;
        x = x * 1.0001 + y, y += z * 0.001;
    }
    CHECK(j->done == j->steps);
    CHECK(j->sum == a + b + c + d + e + f);
    CHECK(j->product == x + y);
}

static void many(void) {
    job jobs[FIBRES];
    stretto_fibre *fibres[FIBRES];
    for (int round = 0; round < 3; round++) { /* the later rounds use the first one's stacks */
        int left = FIBRES;
        memset(jobs, 0, sizeof jobs);
        for (int i = 0; i < FIBRES; i++) {
            jobs[i].steps = i * 7 % 23;
            fibres[i] = stretto_fibre_new(count, &jobs[i]);
            CHECK(fibres[i]);
        }
        while (left)
            for (int i = 0; i < FIBRES; i++)
                if (fibres[i] && stretto_fibre_resume(fibres[i])) {
                    expect(&jobs[i]);
                    fibres[i] = NULL;
                    left--;
                }
        CHECK(!stretto_fibre_here());
    }
}

static int depth(int n) {
    volatile char frame[1000];
    memset((char *)(uintptr_t)frame, n, sizeof frame);
    int below = n ? depth(n - 1) : 0;
    if (n % 100 == 0)
        stretto_fibre_yield();
    CHECK(frame[999] == (char)n && frame[0] == (char)n);
    return below + 1;
}

static void deep(void *argument) {
    *(int *)argument = depth(500);
}

static void round_up(void *argument) {
    volatile double one = 1, three = 3;
    volatile double *results = argument;
    results[0] = one / three;
    stretto_fibre_yield();
    results[1] = one / three;
}

static void modes(void) {
    volatile double one = 1, three = 3, results[2], nearest = one / three;
    fesetround(FE_UPWARD);
    double upward = one / three;
    CHECK(upward > nearest);
    stretto_fibre *f = stretto_fibre_new(round_up, (void *)(uintptr_t)results);
    CHECK(f && !stretto_fibre_resume(f));
    fesetround(FE_TONEAREST);
    CHECK(stretto_fibre_resume(f));
    CHECK(results[0] == upward && results[1] == upward); /* as when it was started */
    CHECK(one / three == nearest);
    const uint64_t before = stretto_modes_now();
    CHECK(fetestexcept(FE_INEXACT)); /* a flag is no mode */
    feclearexcept(FE_INEXACT);
    CHECK(stretto_modes_now() == before);
    fesetround(FE_UPWARD);
    const uint64_t other = stretto_modes_now();
    CHECK(other != before);
    stretto_modes_set(before);
    CHECK(!fetestexcept(FE_INEXACT) && one / three == nearest);
    stretto_modes_set(other);
    CHECK(fetestexcept(FE_INEXACT) && one / three == upward);
    stretto_modes_set(before);
}

static stretto_fibre *hopping;

static void *hop(void *argument) {
    (void)argument;
    return stretto_fibre_resume(hopping) ? &hopping : NULL;
}

static void threads(void) {
    job j = {.steps = 40};
    hopping = stretto_fibre_new(count, &j);
    CHECK(hopping);
    void *ended = NULL;
    while (!ended) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, hop, NULL) && !pthread_join(thread, &ended));
        ended = ended ? ended : stretto_fibre_resume(hopping) ? &hopping : NULL;
    }
    expect(&j);
}

int main(void) {
    many();
    int reached = 0;
    stretto_fibre *f = stretto_fibre_new(deep, &reached);
    CHECK(f);
    while (!stretto_fibre_resume(f))
        CHECK(reached == 0);
    CHECK(reached == 501);
    threads();
    modes();
    stretto_fibres_free();
    printf("fibres: done\n");
    return 0;
}
