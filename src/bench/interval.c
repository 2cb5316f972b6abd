/* The interval of a median from order statistics: no assumption on the distribution. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stretto_bench_half_interval(double *values, int n, double *median) {
    qsort(values, (size_t)n, sizeof *values, ascending);
    if (n == 0) {
        *median = 0;
        return 1e9;
    }
    *median = 0.5 * (values[(n - 1) / 2] + values[n / 2]);
    if (n < 6 || *median <= 0)
        return 1e9;
    /* The largest k with P(Binomial(n, 1/2) < k) <= 2.5%: the median lies between the k-th smallest
     * and the k-th largest with 95%. A term is part * 2^power: 2^-n underflows, and
     * exp and log need glibc 2.29. */
    double below = 0, part = 1;
    int k = 0, power = -n, more;
    while (k < n / 2 && below + ldexp(part, power) <= 0.025) {
        below += ldexp(part, power);
        part = frexp(part * (n - k) / (k + 1), &more);
        power += more;
        k++;
    }
    if (k == 0)
        return 1e9;
    return 0.5 * (values[n - k] - values[k - 1]) / *median;
}
