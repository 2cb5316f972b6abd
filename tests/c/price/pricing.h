/* Prices a choice of the registry, or plans that a test writes by hand. */
#ifndef STRETTO_TEST_PRICING_H
#define STRETTO_TEST_PRICING_H

#include "coll/coll.h"
#include "plan/price.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    stretto_collective collective;
    stretto_choice choice;
    stretto_layout layout;
    stretto_price_call call;
    int *numbers;
    stretto_platform platform;
    void (*write)(stretto_plan *plan, int rank); /* by hand, instead of a choice */
    stretto_price_result kept[4];                /* the last results of a test */
    int nresults;
} pricing;

/* `nodes` nodes of `ppn` consecutive ranks; freed by pricing_free. */
static inline void pricing_init(pricing *p, int nodes, int ppn, size_t bytes) {
    const int n = nodes * ppn;
    memset(p, 0, sizeof *p);
    stretto_platform_init(&p->platform);
    int *a = p->numbers = malloc(((size_t)n * 3 + (size_t)nodes + 1) * sizeof *a);
    for (int r = 0; r < n; r++)
        a[r] = r / ppn, a[n + r] = r % ppn, a[2 * n + r] = r;
    for (int i = 0; i <= nodes; i++)
        a[3 * n + i] = i * ppn;
    p->layout = (stretto_layout){n, nodes, a, a + n, a + 3 * n, a + 2 * n, true, NULL};
    p->call = (stretto_price_call){.platform = &p->platform,
                                   .layout = &p->layout,
                                   .nranks = n,
                                   .bytes = bytes,
                                   .element = bytes % 8 ? 1 : 8,
                                   .calls = 1,
                                   .seed = 1};
}

static inline void pricing_free(pricing *p) {
    for (int i = 0; i < p->nresults && i < 4; i++)
        stretto_price_free(&p->kept[i]);
    free(p->numbers);
}

static inline int pricing_source(void *arg, int rank, stretto_plan *plan, char *error,
                                 size_t size) {
    pricing *p = arg;
    stretto_shape shape = {.collective = p->collective,
                           .rank = rank,
                           .nranks = p->call.nranks,
                           .commutative = true,
                           .layout = &p->layout};
    if (!p->write)
        return stretto_plan_build(plan, &p->choice, &shape, p->call.bytes, error, size);
    stretto_plan_init(plan, &shape);
    p->write(plan, rank);
    stretto_plan_finish(plan);
    return 0;
}

/* The choice of the registry; -1 with the reason printed. */
static inline int pricing_choose(pricing *p, stretto_collective collective, const char *text) {
    char error[500];
    p->collective = collective;
    if (stretto_choice_parse(collective, text, &p->choice, error, sizeof error) == 0)
        return 0;
    fprintf(stderr, "%s\n", error);
    return -1;
}

/* A Hockney platform: latency alpha, an interface with beta a byte each way, gamma a byte reduced.
 */
static inline void pricing_hockney(stretto_platform *p, double alpha, double beta, double gamma) {
    stretto_platform_init(p);
    for (int l = 0; l < STRETTO_LEVELS; l++) {
        p->level[l].latency = alpha;
        p->level[l].eager_bytes = 1e15;
    }
    p->nic_gap_byte = beta;
    p->packet_bytes = 1e15; /* the formulas give an interface out in whole messages */
    p->reduce_byte = gamma;
}

#endif
