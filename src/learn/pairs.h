/* The mean difference of pairs of blocks, native and another, and its uncertainty. No MPI. */
#ifndef STRETTO_PAIRS_H
#define STRETTO_PAIRS_H

/* Each weighed by the calls that it stands for. */
typedef struct {
    int n;
    double calls, calls2;             /* weights: sum, sum of squares */
    double native, other, difference; /* weighed sums, seconds */
    double last, steps2;              /* the last difference; sum of the squares of its steps */
} stretto_learn_pairs;

/* native, other: seconds of a call. calls: the weight. */
void stretto_learn_add_pair(stretto_learn_pairs *p, double native, double other, double calls);
/* Variance of one difference: from step to step, so that a slow drift is none. */
double stretto_learn_variance(const stretto_learn_pairs *p);
/* Half of the 95 % interval of the mean difference. */
double stretto_learn_half_interval(const stretto_learn_pairs *p);

#endif
