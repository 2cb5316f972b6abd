/* The closed formulas of formulas.def as functions. */
#include "coll/formula.h"

#include <string.h>

/* Rounds of an algorithm that multiplies by k in each. */
static double rounds(double p, double k) {
    double n = 0;
    for (double reach = 1; reach < p; reach *= k)
        n++;
    return n;
}

static bool is_power(double p, double k) {
    double reach = 1;
    while (reach < p)
        reach *= k;
    return reach == p;
}

/* Whether n bytes are `pieces` equal pieces of whole elements of 8 bytes. */
static bool is_even(double n, double pieces) {
    long long unit = 8 * (long long)pieces;
    return (long long)n % unit == 0;
}

/* The same, in between for p between two powers of k. */
static double partial_rounds(double p, double k) {
    double n = 0, reach = 1;
    for (; reach * k <= p; reach *= k)
        n++;
    return n + (p / reach - 1) / (k - 1);
}

static bool is_multiple(double a, double b) {
    return (long long)a % (long long)b == 0;
}

/* a/b, rounded up; of whole numbers. (The library that is preloaded has no libm.) */
static double quotient(double a, double b) {
    return (double)(((long long)a + (long long)b - 1) / (long long)b);
}

/* What block b of P has in base k: so many rounds of a Bruck exchange it travels in; of all b. */
static double digits(double p, double k) {
    double sum = 0;
    for (long long b = 1; b < (long long)p; b++)
        for (long long rest = b; rest; rest /= (long long)k)
            sum += rest % (long long)k != 0;
    return sum;
}

#define POWER(p, k) is_power(p, k)
#define EVEN(n, pieces) is_even(n, pieces)
#define P (call->p)
#define LOG2 rounds(call->p, 2)
#define LOGK rounds(call->p, call->k)
#define LNK partial_rounds(call->p, call->k)
#define MULTIPLE(a, b) is_multiple(a, b)
#define W call->w
#define F call->f
/* of a binary tree that is full: all levels have all their ranks */
#define FULL is_power(call->p + 1, 2)
#define DEPTH (rounds(call->p + 1, 2) - 1)
/* of two trees with half of the segments each */
#define S2 (call->s < 2 ? 2 : call->s)
/* of a P-th of the vector, at most 16 (allreduce/segmented_ring.c) */
#define RING_S (call->s > 16 * call->p ? 16 : quotient(call->s, call->p))
#define LONGEST quotient(call->p - 1, call->f)
#define EQUAL_CHAINS is_multiple(call->p - 1, call->f)
#define WINDOWS quotient(call->p - 1, call->w)
#define DIGITS digits(call->p, call->k)
#define FOLDED (is_power(call->p, 2) ? call->p - 1 : 2 * call->p - 1)
#define VARIABLES                                                                                  \
    const double n = call->n, k = call->k, S = call->s;                                            \
    (void)n, (void)k, (void)S

#define FORMULA(COLLECTIVE, name, text, where, is_exact, alpha, beta, gamma)                       \
    static stretto_cost cost_##COLLECTIVE##_##name(const stretto_formula_call *call) {             \
        VARIABLES;                                                                                 \
        return (stretto_cost){alpha, beta, gamma};                                                 \
    }                                                                                              \
    static bool exact_##COLLECTIVE##_##name(const stretto_formula_call *call) {                    \
        VARIABLES;                                                                                 \
        return is_exact;                                                                           \
    }
#include "coll/formulas.def"

static const stretto_formula rows[] = {
#define FORMULA(COLLECTIVE, name, text, where, is_exact, alpha, beta, gamma)                       \
    {STRETTO_##COLLECTIVE,       #name, text, where, cost_##COLLECTIVE##_##name,                   \
     exact_##COLLECTIVE##_##name},
#include "coll/formulas.def"
};

const stretto_formula *stretto_formulas(int *n) {
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}

const stretto_formula *stretto_formula_find(stretto_collective collective, const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].collective == collective && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

int stretto_formula_cost(stretto_collective collective, const stretto_choice *choice, int nranks,
                         size_t bytes, stretto_cost *cost, bool *exact) {
    const stretto_formula *row = choice->kind == STRETTO_CHOICE_FLAT
                                     ? stretto_formula_find(collective, choice->algorithm->name)
                                     : NULL;
    if (!row)
        return -1;
    const stretto_param param = choice->algorithm->param;
    const int others = nranks > 1 ? nranks - 1 : 1;
    stretto_formula_call call = {
        nranks, (double)bytes, 2, stretto_choice_segments(choice, bytes), others, 1};
    if (param == STRETTO_PARAM_RADIX)
        call.k = choice->param < nranks ? choice->param : nranks;
    if (param == STRETTO_PARAM_WINDOW)
        call.w = choice->param;
    if (param == STRETTO_PARAM_SEGMENT_FANOUT)
        call.f = choice->fanout < others ? choice->fanout : others;
    *cost = nranks == 1 ? (stretto_cost){0} : row->cost(&call);
    *exact = row->exact(&call);
    return 0;
}
