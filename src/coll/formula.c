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

#define POWER(p, k) is_power(p, k)
#define EVEN(n, pieces) is_even(n, pieces)
#define P (call->p)
#define LOG2 rounds(call->p, 2)
#define LOGK rounds(call->p, call->k)
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
    stretto_formula_call call = {nranks, (double)bytes, 2, stretto_choice_segments(choice, bytes)};
    if (choice->algorithm->param == STRETTO_PARAM_RADIX)
        call.k = choice->param < nranks ? choice->param : nranks;
    *cost = nranks == 1 ? (stretto_cost){0} : row->cost(&call);
    *exact = row->exact(&call);
    return 0;
}
