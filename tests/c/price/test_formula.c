/* The closed formulas against the evaluation of the plans, on a Hockney platform: equal to 1e-9
 * where they are exact, and within the stated factor elsewhere. */
#include "coll/formula.h"
#include "../check.h"
#include "pricing.h"

#include <math.h>

/* Off powers, rounds are not full or need a step more: by so much at most. */
static const double DEVIATION = 2.1;

static void compare(const stretto_formula *row, int p, size_t bytes, int radix) {
    const double alpha = 3e-6, beta = 2e-9, gamma = 5e-10;
    const stretto_algorithm *algorithm = stretto_algorithm_find(row->collective, row->name);
    char text[100], error[500];
    CHECK_MSG(algorithm, "%s: there is a formula, but no algorithm", row->name);
    if (!algorithm)
        return;
    if (algorithm->param == STRETTO_PARAM_RADIX)
        snprintf(text, sizeof text, "%s(%d)", row->name, radix);
    else
        snprintf(text, sizeof text, "%s", row->name);
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

int main(int argc, char **argv) {
    static const int radices[] = {2, 3, 4, 8};
    const int most = argc > 1 ? atoi(argv[1]) : 64;
    int n;
    const stretto_formula *rows = stretto_formulas(&n);
    for (int i = 0; i < n; i++) {
        const stretto_algorithm *algorithm =
            stretto_algorithm_find(rows[i].collective, rows[i].name);
        int tries = algorithm && algorithm->param == STRETTO_PARAM_RADIX ? 4 : 1;
        for (int p = 2; p <= most; p++)
            for (int r = 0; r < tries; r++) {
                compare(&rows[i], p, 8, radices[r]);
                compare(&rows[i], p, 64 * 8 * (size_t)p, radices[r]);
            }
    }
    return check_report("closed formulas");
}
