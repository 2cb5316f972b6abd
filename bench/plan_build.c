/* What it costs to build plans, and to find one again: microseconds a plan of one rank (median of
 * ranks 0, P/2 and P - 1, each the fastest of several builds), and nanoseconds a look-up.
 *
 *   cc -O3 -D_GNU_SOURCE -DSTRETTO_ABI_OPENMPI -Isrc bench/plan_build.c src/engine/plans.c \
 *      src/plan/[a-z]*.c src/coll/[a-z]*.c src/coll/[a-z]*[a-z]/[a-z]*.c -o plan_build -lm
 *   ./plan_build [COLLECTIVE]
 *
 * The look-up is the engine's own (src/engine/plans.c): all plans kept, one after the other. */
#include "coll/coll.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUILDS = 15, MOST_ACTIONS = 2000000 };

/* No plan is carried out here, so no sizes of exchanges are kept (src/engine/exec_carry.c). */
void stretto_exchanges_forget(stretto_comm *c) {
    (void)c;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* The fastest build of a rank's plan in us; -1: refused. *actions of it. */
static double fastest(const stretto_choice *choice, const stretto_shape *shape, int *actions) {
    double best = -1;
    for (int i = 0; i < BUILDS; i++) {
        stretto_plan plan;
        char error[300];
        const double start = now();
        if (stretto_plan_build(&plan, choice, shape, 1 << 20, error, sizeof error) != 0)
            return -1;
        const double took = now() - start;
        *actions = plan.nactions;
        stretto_plan_free(&plan);
        if (best < 0 || took < best)
            best = took;
        if (took > 20000)
            break;
    }
    return best;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const stretto_algorithm *row) {
    static const int sizes[] = {64, 1024, 8192};
    const stretto_choice choice = stretto_choice_of(row);
    printf("%-21s %-26s", stretto_collective_name(row->collective), row->name);
    for (int s = 0; s < 3; s++) {
        const int p = sizes[s], ranks[] = {0, p / 2, p - 1};
        double times[3];
        int actions = 0;
        for (int r = 0; r < 3; r++) {
            const stretto_shape shape = {.collective = row->collective,
                                         .rank = ranks[r],
                                         .nranks = p,
                                         .segments = 1,
                                         .commutative = true};
            int n = 0;
            times[r] = fastest(&choice, &shape, &n);
            actions = n > actions ? n : actions;
        }
        qsort(times, 3, sizeof *times, by_size);
        if (times[1] < 0)
            printf(" %21s", "-");
        else
            printf(" %10.1f us %7d", times[1], actions);
    }
    putchar('\n');
}

/* Nanoseconds until a plan is found that was built before, as a mean over all that are kept. */
static double look_up(int plans) {
    enum { TURNS = 100000 };
    static stretto_comm c;
    char error[300];
    c.nranks = 8;
    const stretto_choice choice =
        stretto_choice_of(stretto_algorithm_find(STRETTO_REDUCE, "knomial"));
    double start = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn == 1)
            start = now();
        for (int i = 0; i < plans; i++)
            if (!stretto_plan_for(&c, STRETTO_REDUCE, &choice, i % 8, 8, i / 8 % 2, i / 16 % 2,
                                  error, sizeof error))
                return -1;
    }
    const double ns = (now() - start) * 1e3 / (TURNS - 1) / plans;
    stretto_plans_forget(&c);
    return ns;
}

int main(int argc, char **argv) {
    int n;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    printf("look-up of a plan: %.1f ns the only one, %.1f ns of 8, %.1f ns of 32\n\n", look_up(1),
           look_up(8), look_up(32));
    printf("%-48s %21s %21s %21s   (us, actions)\n", "ranks", "64", "1024", "8192");
    for (int i = 0; i < n; i++)
        if (argc < 2 || strcmp(argv[1], stretto_collective_name(rows[i].collective)) == 0)
            report(&rows[i]);
    return 0;
}
