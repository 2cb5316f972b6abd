/* The builder and the choices: what is left out, what scratch is taken, what is refused and in
 * which words, and that running out of memory anywhere is reported and leaks nothing.
 *
 * The linker puts an allocator that fails when it is told to in the place of malloc, calloc and
 * realloc (--wrap, CMakeLists.txt). */
#include <stdlib.h>

static long allocations_left = -1; /* -1: no limit */

static int may_allocate(void) {
    return allocations_left < 0 || allocations_left-- > 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n) {
    return may_allocate() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size) {
    return may_allocate() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t n) {
    return may_allocate() ? __real_realloc(p, n) : NULL;
}

#include "../check.h"
#include "graphs.h"
#include "coll/network.h"

static bool build(stretto_plan *plan, const char *choice, stretto_shape shape, char error[1000]) {
    stretto_choice parsed;
    *error = '\0';
    return stretto_choice_parse(shape.collective, choice, &parsed, error, 1000) == 0 &&
           stretto_plan_build(plan, &parsed, &shape, 1 << 20, error, 1000) == 0;
}

static void check_idle_waits(void) {
    stretto_plan plan;
    stretto_shape shape = {.collective = STRETTO_ALLREDUCE, .rank = 0, .nranks = 4};
    stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    stretto_plan_init(&plan, &shape);
    stretto_plan_fence(&plan); /* nothing under way */
    CHECK(plan.nactions == 0 && plan.round == 1);
    int send = stretto_plan_send(&plan, 1, all);
    stretto_plan_wait(&plan, send);
    stretto_plan_wait(&plan, send); /* again */
    CHECK(plan.nactions == 2);
    int first = stretto_plan_recv_reduce(&plan, 1, all, STRETTO_SRC_LEFT);
    int second = stretto_plan_recv_reduce(&plan, 2, all, STRETTO_SRC_RIGHT);
    CHECK(plan.tmp_blocks == 2); /* both under way */
    stretto_plan_wait(&plan, second);
    CHECK(plan.actions[plan.nactions - 1].kind == STRETTO_REDUCE_LOCAL &&
          plan.actions[plan.nactions - 1].side == STRETTO_SRC_RIGHT);
    stretto_plan_recv_reduce(&plan, 3, all, STRETTO_SRC_RIGHT);
    CHECK(plan.tmp_blocks == 2); /* taken again */
    stretto_plan_wait(&plan, first);
    stretto_plan_finish(&plan);
    CHECK(plan.actions[plan.nactions - 1].kind == STRETTO_REDUCE_LOCAL);
    stretto_plan_free(&plan);
    stretto_plan_free(&plan);
}

/* Blocks of TMP that rank 1 of 8 takes: what the headers of the algorithms promise. */
static void check_scratch(void) {
    static const struct {
        stretto_collective collective;
        const char *choice;
        bool in_place;
        int tmp;
    } cases[] = {{STRETTO_ALLREDUCE, "recursive_doubling", false, 1},
                 {STRETTO_ALLREDUCE, "ring", false, 1},
                 {STRETTO_ALLREDUCE, "rabenseifner", false, 4 + 1}, /* of 8, and one of any size */
                 {STRETTO_ALLREDUCE, "bruck_k(4)", false, 8},
                 {STRETTO_BCAST, "chain(64K)", false, 0},
                 {STRETTO_ALLGATHER, "ring", false, 0},
                 {STRETTO_ALLGATHER, "bruck_k", false, 8},
                 {STRETTO_ALLTOALL, "linear(3)", false, 0},
                 {STRETTO_ALLTOALL, "linear(3)", true, 3},
                 {STRETTO_ALLTOALL, "pairwise", true, 1}};
    char error[1000];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stretto_plan plan;
        stretto_shape shape = {.collective = cases[i].collective,
                               .rank = 1,
                               .nranks = 8,
                               .in_place = cases[i].in_place,
                               .commutative = true};
        CHECK_MSG(build(&plan, cases[i].choice, shape, error), "%s", error);
        CHECK_MSG(plan.tmp_blocks == cases[i].tmp, "%s: TMP has %d blocks, not %d", cases[i].choice,
                  plan.tmp_blocks, cases[i].tmp);
        stretto_plan_free(&plan);
    }
}

static void check_refusals(void) {
    layout_store store;
    stretto_plan plan;
    char error[1000];
    stretto_shape shape = {.collective = STRETTO_ALLREDUCE, .nranks = 4, .commutative = true};
    CHECK(!build(&plan, "shm+ring", shape, error) && strstr(error, "not known"));
    CHECK(!build(&plan, "native", shape, error) && strstr(error, "no plan"));
    shape.layout = layout_regular(&store, 4, 2, true);
    CHECK(!build(&plan, "shm", shape, error) && strstr(error, "shm+X"));
    CHECK(build(&plan, "shm+knomial", shape, error));
    stretto_plan_free(&plan);
    shape.commutative = false;
    CHECK(!build(&plan, "shm+knomial", shape, error) && strstr(error, "consecutive"));
    CHECK(!build(&plan, "ring", shape, error) && strstr(error, "not commutative"));
    CHECK(!build(&plan, "knomial(1)", shape, error) && strstr(error, "must be 2 to 64"));
    CHECK(!build(&plan, "knomal", shape, error) && strstr(error, "recursive_doubling"));
    char small[8] = "";
    stretto_choice choice;
    CHECK(stretto_choice_parse(STRETTO_BCAST, "nonsense", &choice, small, sizeof small) == -1);
    CHECK(strlen(small) == sizeof small - 1);
}

/* Two packages of two domains each, filled one after the other, in turn, or not known. */
static void check_lane_order(void) {
    enum { N = 8 };
    static const struct {
        int package[N], domain[N], order[N];
    } cases[] = {
        {{0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 1, 1, 2, 2, 3, 3}, {0, 4, 2, 6, 1, 5, 3, 7}},
        {{0, 1, 0, 1, 0, 1, 0, 1}, {0, 2, 1, 3, 0, 2, 1, 3}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {{0, 0, 0, 0, 0, 0, 1, 1}, {0, 0, 0, 0, 0, 0, 2, 2}, {0, 6, 1, 7, 2, 3, 4, 5}},
        {{-1, -1, -1, -1, -1, -1, -1, -1},
         {-1, -1, -1, -1, -1, -1, -1, -1},
         {0, 1, 2, 3, 4, 5, 6, 7}},
    };
    layout_store store;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int order[N];
        layout_regular(&store, N, N, false);
        CHECK(stretto_lane_order(&store.layout, cases[i].package, cases[i].domain, order) == 0);
        CHECK_MSG(memcmp(order, cases[i].order, sizeof order) == 0, "order of case %zu", i);
        store.layout.lane_ranks = order;
        CHECK(stretto_lane_at(&store.layout, 0, 1, 2) == order[1]);
        CHECK(stretto_lane_of(&store.layout, order[1], 2) == 1);
        CHECK(stretto_lane_of(&store.layout, order[2], 2) == 2);
        CHECK(stretto_lane_at(&store.layout, 0, 5, N) == 5);
    }
}

/* Fails the 1st, 2nd, ... allocation until building and proving get through. */
static void check_memory(const stretto_algorithm *a, bool shm, int lanes) {
    const bool scattered = a->collective != STRETTO_SCAN && a->collective != STRETTO_EXSCAN;
    static call_case c;
    layout_store store;
    c.choice = stretto_choice_of(a);
    c.choice.kind = shm ? STRETTO_CHOICE_SHM : STRETTO_CHOICE_FLAT;
    c.choice.lanes = lanes;
    c.bytes = 1 << 18;
    c.shape = (stretto_shape){
        .collective = a->collective, .nranks = 8, .in_place = true, .commutative = true};
    c.shape.layout = shm ? layout_regular(&store, 8, 2, scattered) : NULL;
    stretto_graph_store graph = {.memory = NULL};
    if (stretto_collective_neighbor(a->collective)) {
        c.shape.graph = graph_of(&graph, "random(5)", 8);
        c.shape.layout = layout_regular(&store, 8, 3, false);
    }
    bool through = false;
    if ((a->needs & STRETTO_NEEDS_NODES) && (!shm || lanes))
        return; /* refused: test_verify.c */
    for (long fail_at = 0; fail_at < 100000 && !through; fail_at++) {
        int built = 0;
        allocations_left = fail_at;
        for (int r = 0; r < c.shape.nranks; r++, built++) {
            stretto_shape shape = c.shape;
            shape.rank = r;
            if (stretto_plan_build(&c.plans[r], &c.choice, &shape, c.bytes, c.error,
                                   sizeof c.error) != 0)
                break;
        }
        if (built == c.shape.nranks)
            through = stretto_verify(c.plans, c.shape.nranks, c.error, sizeof c.error) == 0;
        allocations_left = -1;
        CHECK_MSG(through || strstr(c.error, "out of memory"), "%s: %s", a->name, c.error);
        while (built > 0)
            stretto_plan_free(&c.plans[--built]);
    }
    CHECK_MSG(through, "%s never gets through", a->name);
    stretto_graph_release(&graph);
}

int main(void) {
    int n;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    check_idle_waits();
    check_scratch();
    check_refusals();
    check_lane_order();
    for (int i = 0; i < n; i++) {
        check_memory(&rows[i], false, 0);
        if (stretto_collective_composes(rows[i].collective))
            check_memory(&rows[i], true, 0);
        if (stretto_collective_has_lanes(rows[i].collective))
            check_memory(&rows[i], true, STRETTO_LANES_ALL);
    }
    return check_report("build");
}
