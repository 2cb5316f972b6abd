/* Closed formulas: T = alpha_times alpha + beta_bytes beta + gamma_bytes gamma of one call on the
 * plainest of networks: one rank a node, latency alpha, an interface that takes beta a byte each
 * way at the same time, gamma for each byte of a reduction, nothing else costs anything.
 *
 * They are the header comments of the algorithm files as functions, and tested against the
 * evaluation of the plans (tests/c/price/test_formula.c). One row each in formulas.def. */
#ifndef STRETTO_COLL_FORMULA_H
#define STRETTO_COLL_FORMULA_H

#include "coll/coll.h"

typedef struct {
    double alpha_times, beta_bytes, gamma_bytes;
} stretto_cost;

/* What a formula may depend on. */
typedef struct {
    double p, n, k; /* ranks; bytes of the vector or block; radix */
    double s, w, f; /* segments; window; fan-out */
} stretto_formula_call;

typedef struct {
    stretto_collective collective;
    const char *name;  /* of the algorithm */
    const char *text;  /* "log2 P (alpha + n beta + n gamma)" */
    const char *where; /* exact there: "P = 2^i", "P = k^i", "always" */
    stretto_cost (*cost)(const stretto_formula_call *call);
    bool (*exact)(const stretto_formula_call *call);
} stretto_formula;

/* NULL when the algorithm has none (shm, native, and what formulas.def names). */
const stretto_formula *stretto_formula_find(stretto_collective collective, const char *name);
const stretto_formula *stretto_formulas(int *n);
/* The formula's value for a flat choice; -1 when there is none. */
int stretto_formula_cost(stretto_collective collective, const stretto_choice *choice, int nranks,
                         size_t bytes, stretto_cost *cost, bool *exact);

#endif
