/* Plans carried out on real data under random schedules: every algorithm, flat and between nodes,
 * with counts that leave blocks empty, and alltoallv with blocks of different sizes. */
#include "../check.h"
#include "execute.h"

static long runs;

static void run_case(call_case *c) {
    static const int counts[] = {0, 1, 5, 37};
    int status = build_plans(c);
    CHECK_MSG(status >= 0, "%s: ranks do not agree on refusing: %s", c->text, c->error);
    if (status != 0)
        return;
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned schedule = i % ONE_IN; schedule < 4; schedule += ONE_IN) {
            execution e = {.count = counts[i],
                           .seed = 1 + schedule * 77 + i,
                           .haste = schedule % 2 * 40,
                           .buffered = schedule >= 2};
            const char *wrong = execute(c->plans, c->shape.nranks, &e);
            CHECK_MSG(!wrong, "%s count=%d schedule=%u: %s", c->text, e.count, schedule, wrong);
            runs++;
        }
    }
    free_plans(c);
}

static void run_variants(call_case *c) {
    stretto_collective collective = c->shape.collective;
    int p = c->shape.nranks;
    for (int root = 0; root<(rooted(collective) ? p : 1); root += p> 4 ? p / 2 : 1) {
        for (int variant = 0; variant < 4; variant++) {
            c->shape.root = root;
            c->shape.in_place = variant & 1;
            c->shape.commutative = variant & 2;
            run_case(c);
        }
    }
    c->shape.root = 0;
}

/* The single node action of every collective. */
static void run_shm(stretto_collective collective) {
    static call_case c;
    layout_store store;
    for (int p = 1; p <= 6; p++) {
        c.choice = (stretto_choice){.kind = STRETTO_CHOICE_SHM};
        c.shape = (stretto_shape){.collective = collective, .nranks = p};
        c.shape.layout = layout_regular(&store, p, p, false);
        run_variants(&c);
    }
}

int main(int argc, char **argv) {
    const int most = argc > 1 ? atoi(argv[1]) : 17;
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 17};
    static call_case c;
    layout_store store;
    random_state random = {4711};
    int n;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    for (int i = 0; i < n; i++) {
        if (stretto_collective_neighbor(rows[i].collective))
            continue; /* test_neighbor.c, on graphs */
        runs = 0;
        for (int p = 0; p < 9 && sizes[p] <= most; p++) {
            for (int j = 0; parameter_case(&rows[i], j, &c.choice, &c.bytes); j += 2) {
                c.shape = (stretto_shape){.collective = rows[i].collective, .nranks = sizes[p]};
                run_variants(&c);
                const bool composes = stretto_collective_composes(rows[i].collective);
                if (!composes && !(rows[i].needs & STRETTO_CARRIES))
                    continue;
                if (composes)
                    c.choice.kind = STRETTO_CHOICE_SHM;
                for (int l = 0; l < 4; l++) {
                    c.shape.layout = l < 2 ? layout_regular(&store, sizes[p], 3, l)
                                           : layout_random(&store, sizes[p], l % 2, &random);
                    run_variants(&c);
                    if (!stretto_collective_has_lanes(rows[i].collective) || l == 1)
                        continue;
                    c.choice.lanes = l == 0 ? STRETTO_LANES_ALL : 1;
                    run_variants(&c);
                    c.choice.lanes = 0;
                }
            }
        }
        printf("%-20s %-20s %6ld runs\n", stretto_collective_name(rows[i].collective), rows[i].name,
               runs);
    }
    for (int collective = 0; collective < STRETTO_COLLECTIVES; collective++)
        if (!stretto_collective_neighbor((stretto_collective)collective))
            run_shm((stretto_collective)collective);
    return check_report("execute");
}
