/* Calls to try: layouts, parameter values, and the plans of all ranks of one call. */
#ifndef STRETTO_TEST_CASES_H
#define STRETTO_TEST_CASES_H

#include "coll/coll.h"
#include "plan/verify.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64 };

/* Faults of memory show in any case of a kind: under AddressSanitizer, which makes everything
 * several times slower, one in so many is tried. What is proven is proven without it. */
#ifdef __SANITIZE_ADDRESS__
enum { ONE_IN = 4 };
#else
enum { ONE_IN = 1 };
#endif

/* ---- a small random generator with a seed, the same everywhere --------------------------------
 */
typedef struct {
    uint64_t state;
} random_state;

static inline unsigned random_below(random_state *r, unsigned limit) {
    r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(r->state >> 33) % limit;
}

/* ---- layouts ----------------------------------------------------------------------------------
 */
typedef struct {
    stretto_layout layout;
    int node_of[MOST_RANKS], local_of[MOST_RANKS], node_start[MOST_RANKS + 1];
    int node_ranks[MOST_RANKS], lane_ranks[MOST_RANKS];
} layout_store;

/* From the host of each rank (any numbers below MOST_RANKS). */
static inline const stretto_layout *layout_from(layout_store *s, int nranks, const int *host) {
    int node_of_host[MOST_RANKS], count[MOST_RANKS] = {0}, nnodes = 0;
    for (int h = 0; h < MOST_RANKS; h++)
        node_of_host[h] = -1;
    for (int r = 0; r < nranks; r++) {
        if (node_of_host[host[r]] < 0)
            node_of_host[host[r]] = nnodes++;
        s->node_of[r] = node_of_host[host[r]];
        s->local_of[r] = count[s->node_of[r]]++;
    }
    s->node_start[0] = 0;
    for (int n = 0; n < nnodes; n++)
        s->node_start[n + 1] = s->node_start[n] + count[n];
    bool consecutive = true;
    for (int r = 0; r < nranks; r++) {
        s->node_ranks[s->node_start[s->node_of[r]] + s->local_of[r]] = r;
        consecutive = consecutive && (r == 0 || s->node_of[r] >= s->node_of[r - 1]);
    }
    for (int n = 0; n < nnodes; n++) /* not in the order of their ranks */
        for (int i = s->node_start[n]; i < s->node_start[n + 1]; i++)
            s->lane_ranks[i] = s->node_ranks[s->node_start[n] + s->node_start[n + 1] - 1 - i];
    s->layout = (stretto_layout){nranks,        nnodes,        s->node_of,  s->local_of,
                                 s->node_start, s->node_ranks, consecutive, s->lane_ranks};
    return &s->layout;
}

/* nranks ranks on nodes of ppn, blockwise or round-robin; the last node may be smaller. */
static inline const stretto_layout *layout_regular(layout_store *s, int nranks, int ppn,
                                                   bool round_robin) {
    int host[MOST_RANKS], nodes = (nranks + ppn - 1) / ppn;
    for (int r = 0; r < nranks; r++)
        host[r] = round_robin ? r % nodes : r / ppn;
    return layout_from(s, nranks, host);
}

static inline const stretto_layout *layout_random(layout_store *s, int nranks, bool consecutive,
                                                  random_state *random) {
    int host[MOST_RANKS];
    int nodes = 1 + (int)random_below(random, (unsigned)nranks);
    for (int r = 0; r < nranks; r++)
        host[r] = !consecutive                   ? (int)random_below(random, (unsigned)nodes)
                  : r == 0                       ? 0
                  : random_below(random, 3) == 0 ? host[r - 1] + 1
                                                 : host[r - 1];
    return layout_from(s, nranks, host);
}

/* ---- graphs of neighbourhood collectives -----------------------------------------------------
 */
/* The i-th to try; NULL: no more. */
static inline const char *graph_case(int i) {
    static const char *const names[] = {"torus2",    "grid2",     "random(1)", "star",  "all",
                                        "random(2)", "grid3",     "torus3",    "cycle", "torus1",
                                        "random(3)", "random(4)", "grid1",     "none"};
    return i < (int)(sizeof names / sizeof *names) ? names[i] : NULL;
}

/* ---- calls ------------------------------------------------------------------------------------
 */
static inline bool reduces(stretto_collective c) {
    return stretto_collective_reduces(c);
}

static inline bool rooted(stretto_collective c) {
    return stretto_collective_rooted(c);
}

static inline bool knows_in_place(stretto_collective c) {
    return stretto_shape_in_place(&(stretto_shape){.collective = c, .in_place = true});
}

/* The i-th value to try of an algorithm's parameter, in the choice and `bytes`; false: no more. */
static inline bool parameter_case(const stretto_algorithm *a, int i, stretto_choice *choice,
                                  size_t *bytes) {
    static const int segments[] = {1, 2, 3, 4, 5, 9, 17}, windows[] = {1, 2, 3, 7, 1000};
    static const int fanouts[] = {1, 2, 4, 3, 5, 7, 64};
    *choice = stretto_choice_of(a);
    *bytes = 8;
    switch (a->param) {
    case STRETTO_PARAM_NONE: return i < 1;
    case STRETTO_PARAM_RADIX: choice->param = 2 + i; return choice->param <= 16;
    case STRETTO_PARAM_SEGMENT:
    case STRETTO_PARAM_SEGMENT_FANOUT:
        if (i >= 7)
            return false;
        if (choice->fanout)
            choice->fanout = fanouts[i];
        choice->param = 1024;
        *bytes = (size_t)segments[i] * 1024 - 1;
        return true;
    default:
        if (i >= 5)
            return false;
        choice->param = windows[i];
        return true;
    }
}

/* The plans of all ranks of one call. */
typedef struct {
    stretto_choice choice;
    stretto_shape shape; /* of rank 0 */
    size_t bytes;
    bool mixed; /* every third rank is in place, whatever the shape says */
    stretto_plan plans[MOST_RANKS];
    char error[1000];
    char text[300]; /* names the case */
} call_case;

static inline void name_case(call_case *c) {
    char choice[300];
    const stretto_shape *s = &c->shape;
    snprintf(c->text, sizeof c->text, "%s %.80s P=%d nodes=%d%s root=%d%s%s bytes=%zu",
             stretto_collective_name(s->collective),
             stretto_choice_format(&c->choice, choice, sizeof choice), s->nranks,
             s->layout ? s->layout->nnodes : 0,
             s->layout && !s->layout->consecutive ? " scattered" : "", s->root,
             s->in_place ? " in-place" : "", s->commutative ? "" : " ordered", c->bytes);
}

static inline void free_plans(call_case *c) {
    for (int r = 0; r < c->shape.nranks; r++)
        stretto_plan_free(&c->plans[r]);
}

/* 0: all built; 1: refused on all ranks with the same reason (in error); -1: ranks disagree. */
static inline int build_plans(call_case *c) {
    char error[1000];
    int refused = 0;
    name_case(c);
    for (int r = 0; r < c->shape.nranks; r++) {
        stretto_shape shape = c->shape;
        shape.rank = r;
        if (c->mixed)
            shape.in_place = r % 3 == shape.nranks % 3;
        memset(&c->plans[r], 0, sizeof c->plans[r]);
        if (stretto_plan_build(&c->plans[r], &c->choice, &shape, c->bytes, error, sizeof error)) {
            if (refused++ && strcmp(error, c->error) != 0)
                refused = -1000;
            strcpy(c->error, error);
        }
    }
    if (refused == 0)
        return 0;
    free_plans(c);
    snprintf(c->error, sizeof c->error, "%s", error);
    return refused == c->shape.nranks ? 1 : -1;
}

#endif
