/* See pairs.h. */
#include "learn/pairs.h"

/* Square root, 0 below 0: no libm in the process of an application. */
static double root_of(double x) {
    double r = x > 1 ? x : 1;
    if (!(x > 0))
        return 0;
    for (int i = 0; i < 200; i++) {
        const double next = (r + x / r) / 2;
        if (next >= r)
            break;
        r = next;
    }
    return r;
}

void stretto_learn_add_pair(stretto_learn_pairs *p, double native, double other, double calls) {
    const double d = native - other;
    if (p->n++)
        p->steps2 += (d - p->last) * (d - p->last);
    p->last = d;
    p->calls += calls;
    p->calls2 += calls * calls;
    p->native += native * calls;
    p->other += other * calls;
    p->difference += d * calls;
}

double stretto_learn_variance(const stretto_learn_pairs *p) {
    return p->steps2 / (2 * (p->n - 1));
}

/* 97.5 % of Student's t for it. Steps share values: m of them have 2 m^2 / (3 m - 1) degrees of
 * freedom (normal values); the series is that of Cornish and Fisher. */
static double student(const stretto_learn_pairs *p) {
    const double m = p->n - 1, f = 2 * m * m / (3 * m - 1);
    return 1.96 + 2.372 / f + 2.82 / (f * f) + 2.56 / (f * f * f);
}

double stretto_learn_half_interval(const stretto_learn_pairs *p) {
    return student(p) * root_of(stretto_learn_variance(p) * p->calls2) / p->calls;
}
