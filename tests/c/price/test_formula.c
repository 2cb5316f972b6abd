/* The closed formulas against the evaluation of the plans, on a Hockney platform: equal to 1e-9
 * where they are exact, and within the stated factor elsewhere. */
#include "coll/formula.h"
#include "../check.h"
#include "pricing.h"

#include <math.h>

/* Off powers, rounds are not full or need a step more: by so much at most. */
static const double DEVIATION = 2.1;
static int equal; /* cases of a row in which equality was asked for */

/* What has no formula, and why not (src/coll/formulas.def). */
static bool without(const stretto_algorithm *a) {
    return (a->needs & STRETTO_NEEDS_NODES) || stretto_collective_neighbor(a->collective);
}

static void compare(const stretto_formula *row, int p, size_t bytes, const char *parameters) {
    const double alpha = 3e-6, beta = 2e-9, gamma = 5e-10;
    char text[100], error[500];
    snprintf(text, sizeof text, "%s%s", row->name, parameters);
    pricing a;
    pricing_init(&a, p, 1, row->collective == STRETTO_BARRIER ? 0 : bytes);
    pricing_hockney(&a.platform, alpha, beta, gamma);
    stretto_price_result result;
    stretto_cost cost;
    bool exact;
    if (pricing_choose(&a, row->collective, text) == 0 &&
        stretto_formula_cost(row->collective, &a.choice, p, a.call.bytes, &cost, &exact) == 0) {
        int status = stretto_price(&a.call, pricing_source, &a, &result, error, sizeof error);
        CHECK_MSG(status == 0, "%s, %d ranks: %s", text, p, error);
        if (status == 0) {
            double closed =
                cost.alpha_times * alpha + cost.beta_bytes * beta + cost.gamma_bytes * gamma;
            double ratio = result.last / closed;
            equal += exact;
            CHECK_MSG(!exact || fabs(ratio - 1) < 1e-9,
                      "%s %s, %d ranks, %zu bytes: evaluated %.12g, closed %.12g",
                      stretto_collective_name(row->collective), text, p, bytes, result.last,
                      closed);
            CHECK_MSG(ratio < DEVIATION && ratio > 1 / DEVIATION,
                      "%s %s, %d ranks, %zu bytes: evaluated / closed = %g",
                      stretto_collective_name(row->collective), text, p, bytes, ratio);
            stretto_price_free(&result);
        }
    } else {
        CHECK_MSG(false, "%s cannot be priced", text);
    }
    pricing_free(&a);
}

/* All rank counts, with a short and a long vector, and parameters of the row's kind. */
static void compare_all(const stretto_formula *row, const stretto_algorithm *a, int most) {
    static const char *parameters[STRETTO_PARAM_SEGMENT_FANOUT + 1][6] = {
        [STRETTO_PARAM_NONE] = {""},
        [STRETTO_PARAM_RADIX] = {"(2)", "(3)", "(4)", "(8)"},
        [STRETTO_PARAM_WINDOW] = {"", "(8)", "(1048576)"},
        [STRETTO_PARAM_SEGMENT] = {"(256)", "(4K)", "(64M)"},
        [STRETTO_PARAM_SEGMENT_FANOUT] = {"(256,1)", "(256,2)", "(4K,4)", "(64M,4)"},
    };
    equal = 0;
    for (int p = 2; p <= most; p++) {
        if (((a->needs & STRETTO_NEEDS_POWER_OF_TWO) && (p & (p - 1))) ||
            ((a->needs & STRETTO_NEEDS_EVEN) && p % 2))
            continue;
        for (int i = 0; i < 6 && parameters[a->param][i]; i++) {
            compare(row, p, 8, parameters[a->param][i]);
            compare(row, p, 64 * 8 * (size_t)p, parameters[a->param][i]);
        }
    }
    /* powers of two are few where the emulator is given few ranks */
    CHECK_MSG(equal >= (most < 64 ? 3 : 5), "%s %s: equal in %d cases only",
              stretto_collective_name(row->collective), row->name, equal);
}

int main(int argc, char **argv) {
    const int most = argc > 1 ? atoi(argv[1]) : 64;
    int n, formulas;
    const stretto_algorithm *algorithms = stretto_algorithms(&n);
    stretto_formulas(&formulas);
    for (int i = 0; i < n; i++) {
        const stretto_algorithm *a = &algorithms[i];
        const stretto_formula *row = stretto_formula_find(a->collective, a->name);
        CHECK_MSG(!row == without(a), "%s %s: %s", stretto_collective_name(a->collective), a->name,
                  row ? "has a formula" : "has no formula");
        formulas -= row != NULL;
        if (row)
            compare_all(row, a, most);
    }
    CHECK_MSG(formulas == 0, "%d formulas are of no algorithm", formulas);
    return check_report("closed formulas");
}
