/* Proof of every algorithm: rank counts up to 64, every root, radices 2..16, segments, fan-outs and
 * windows, in place and not, commutative and not, flat; and shm+X on layouts of many kinds. */
#include "../check.h"
#include "cases.h"

#include <time.h>

static long proven, refused;

/* `must`: a refusal is a fault too. */
static void prove(call_case *c, bool must) {
    int status = build_plans(c);
    CHECK_MSG(status >= 0, "%s: ranks do not agree on refusing: %s", c->text, c->error);
    CHECK_MSG(status == 0 || !must, "%s: refused: %s", c->text, c->error);
    if (status != 0) {
        refused++;
        return;
    }
    int wrong = stretto_verify(c->plans, c->shape.nranks, c->error, sizeof c->error);
    CHECK_MSG(wrong == 0, "%s: %s", c->text, c->error);
    proven++;
    free_plans(c);
}

/* Must the call not be refused, by the algorithm's row and by the layout? */
static bool can_do(const call_case *c, const stretto_algorithm *a) {
    const stretto_shape *s = &c->shape;
    const bool flat = c->choice.kind == STRETTO_CHOICE_FLAT;
    const bool scans = s->collective == STRETTO_SCAN || s->collective == STRETTO_EXSCAN;
    const int n = flat ? s->nranks : s->layout->nnodes;
    if (!flat && n > 1 && !s->layout->consecutive && (scans || !s->commutative))
        return false;
    if (!flat && n > 1 && s->collective == STRETTO_ALLTOALL) {
        if (c->choice.lanes > 0)
            return false;           /* all ranks or none */
        for (int i = 0; i < n; i++) /* what hands blocks on wants them equal */
            if (s->layout->node_start[i + 1] != (i + 1) * s->layout->node_start[1] &&
                a->param == STRETTO_PARAM_RADIX)
                return false;
    }
    if (a && (a->needs & STRETTO_NEEDS_NODES)) {
        if (flat || c->choice.lanes)
            return false;
        for (int i = 0; i < n; i++) /* all nodes alike */
            if (n > 1 && s->layout->node_start[i + 1] != (i + 1) * s->layout->node_start[1])
                return false;
        return true;
    }
    return !a || ((s->commutative || !(a->needs & STRETTO_NEEDS_COMMUTATIVE)) &&
                  ((n & (n - 1)) == 0 || !(a->needs & STRETTO_NEEDS_POWER_OF_TWO)) &&
                  (n == 1 || n % 2 == 0 || !(a->needs & STRETTO_NEEDS_EVEN)));
}

/* Both ways of in_place and commutative, where they matter. */
static void prove_variants(call_case *c, const stretto_algorithm *a) {
    stretto_collective collective = c->shape.collective;
    for (int in_place = 0; in_place <= knows_in_place(collective); in_place++) {
        for (int ordered = 0; ordered <= reduces(collective); ordered++) {
            c->shape.in_place = in_place;
            c->shape.commutative = !ordered;
            prove(c, can_do(c, a));
        }
    }
}

/* Whether a rank passes MPI_IN_PLACE is its own affair (for reduce only the root may), so plans
 * must fit together however ranks differ in it. */
static void prove_mixed(call_case *c) {
    stretto_collective collective = c->shape.collective;
    bool all_in_place = collective == STRETTO_ALLTOALL || collective == STRETTO_ALLTOALLV;
    if (!knows_in_place(collective) || all_in_place)
        return;
    c->mixed = true;
    c->shape.commutative = true;
    prove(c, can_do(c, c->choice.algorithm));
    c->mixed = false;
}

static void prove_roots(call_case *c, const stretto_algorithm *a) {
    int roots = rooted(c->shape.collective) ? c->shape.nranks : 1;
    const int step = roots > 8 ? 2 * ONE_IN - 1 : 1;
    for (c->shape.root = 0; c->shape.root < roots; c->shape.root += step)
        prove_variants(c, a);
    c->shape.root = 0;
    prove_mixed(c);
}

/* The rank counts tried here: all to 33, and some around 48 and 64. `stretto plan verify -n 64`
 * tries every one. */
static bool is_tried(int p) {
    return p <= 33 / ONE_IN || p == 33 || p == 47 || p == 48 || p >= 63;
}

static void prove_flat(const stretto_algorithm *a, int most) {
    static call_case c;
    for (int p = 1; p <= most; p++) {
        if (!is_tried(p))
            continue;
        c.shape = (stretto_shape){.collective = a->collective, .nranks = p};
        for (int i = 0; parameter_case(a, i, &c.choice, &c.bytes); i++)
            prove_roots(&c, a);
    }
}

static int fewest_ranks(const stretto_layout *layout) {
    int least = layout->nranks;
    for (int n = 0; n < layout->nnodes; n++)
        if (layout->node_start[n + 1] - layout->node_start[n] < least)
            least = layout->node_start[n + 1] - layout->node_start[n];
    return least;
}

static void prove_layout(const stretto_algorithm *a, const stretto_layout *layout) {
    static call_case c;
    c.shape =
        (stretto_shape){.collective = a->collective, .nranks = layout->nranks, .layout = layout};
    for (int i = 0; parameter_case(a, i, &c.choice, &c.bytes); i++) {
        if (stretto_collective_composes(a->collective)) /* else flat, and carries */
            c.choice.kind = STRETTO_CHOICE_SHM;
        prove_roots(&c, a);
        if (!stretto_collective_has_lanes(a->collective) || i % 3 != 0)
            continue;
        for (c.choice.lanes = STRETTO_LANES_ALL; c.choice.lanes <= 3; c.choice.lanes++)
            if (c.choice.lanes != 0 && c.choice.lanes <= fewest_ranks(layout))
                prove_roots(&c, a);
    }
}

static void prove_layouts(const stretto_algorithm *a) {
    static const struct {
        int nranks, ppn;
        bool round_robin;
    } regular[] = {{4, 2, false}, {8, 3, false},  {7, 3, false},  {8, 2, true},  {10, 4, true},
                   {6, 1, false}, {13, 1, true},  {5, 5, false},  {1, 1, false}, {2, 2, false},
                   {2, 1, false}, {16, 4, false}, {27, 9, false}, {24, 8, true}, {33, 16, false}};
    layout_store store;
    random_state random = {20261121};
    for (size_t i = 0; i < sizeof regular / sizeof *regular; i++)
        prove_layout(
            a, layout_regular(&store, regular[i].nranks, regular[i].ppn, regular[i].round_robin));
    for (int i = 0; i < 40 / ONE_IN; i++)
        prove_layout(a, layout_random(&store, 1 + (int)random_below(&random, 24), i % 2, &random));
}

/* Bare shm: any number of ranks on one node; refused on several. */
static void prove_shm(stretto_collective collective) {
    static call_case c;
    layout_store store;
    for (int p = 1; p <= 16; p++) {
        c.shape = (stretto_shape){.collective = collective, .nranks = p};
        c.shape.layout = layout_regular(&store, p, p, false);
        c.choice = (stretto_choice){.kind = STRETTO_CHOICE_SHM};
        prove_roots(&c, NULL);
    }
    c.shape = (stretto_shape){.collective = collective, .nranks = 4, .commutative = true};
    c.shape.layout = layout_regular(&store, 4, 2, false);
    CHECK_MSG(build_plans(&c) == 1, "shm on two nodes must be refused");
    c.shape.layout = NULL;
    CHECK_MSG(build_plans(&c) == 1, "shm without a layout must be refused");
}

int main(int argc, char **argv) {
    int n, most = argc > 1 ? atoi(argv[1]) : MOST_RANKS;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    for (int i = 0; i < n; i++) {
        if (stretto_collective_neighbor(rows[i].collective))
            continue; /* test_neighbor.c, on graphs */
        clock_t start = clock();
        proven = refused = 0;
        prove_flat(&rows[i], most);
        long flat = proven;
        bool node_phases = stretto_collective_composes(rows[i].collective) ||
                           (rows[i].needs & STRETTO_CARRIES); /* may look at the layout */
        if (node_phases)
            prove_layouts(&rows[i]);
        printf("%-20s %-20s flat %6ld, on layouts %5ld proven, %5ld refused, %.1f s\n",
               stretto_collective_name(rows[i].collective), rows[i].name, flat, proven - flat,
               refused, (double)(clock() - start) / CLOCKS_PER_SEC);
        CHECK((flat > 0 || (rows[i].needs & STRETTO_NEEDS_NODES)) &&
              (proven > flat || !node_phases));
    }
    for (int c = 0; c < STRETTO_COLLECTIVES; c++)
        if (!stretto_collective_neighbor((stretto_collective)c))
            prove_shm((stretto_collective)c);
    return check_report("verify");
}
