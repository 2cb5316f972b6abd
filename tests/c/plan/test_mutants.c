/* Is the verifier any good? Plans of every algorithm are broken deliberately, one action at a time,
 * and the verifier must find every fault. A change that does no harm must be accepted: which ones
 * these are is decided by arguments of our own (mutate.h) and tried by carrying the plans out
 * (execute.h).
 */
#include "../check.h"
#include "execute.h"
#include "graphs.h"
#include "mutate.h"

static struct { long caught, harmless; } counts[MUTATIONS];
static long blocking_deadlocks, blocking_fine;

static void copy_plans(stretto_plan *to, const stretto_plan *from, int n) {
    for (int r = 0; r < n; r++) {
        to[r] = from[r];
        size_t size = (size_t)from[r].nactions * sizeof *from[r].actions;
        to[r].actions = malloc(size + 1);
        if (size)
            memcpy(to[r].actions, from[r].actions, size);
    }
}

static void free_copies(stretto_plan *plans, int n) {
    for (int r = 0; r < n; r++)
        free(plans[r].actions);
}

/* Under a few schedules, lazy ones first. */
static const char *try_out(const stretto_plan *plans, int n) {
    const char *wrong = NULL;
    for (unsigned seed = 1; seed <= 4 && !wrong; seed++) {
        execution e = {
            .count = 11, .seed = seed, .haste = seed / 3 * 50, .buffered = seed % 2 == 0};
        wrong = execute(plans, n, &e);
    }
    return wrong;
}

/* Do two spans hold the same when a rank comes to action i of the unchanged plan? Where messages
 * move as late as they can, what is seen is really there. */
static bool same_data(const call_case *c, int rank, int i, stretto_span a, stretto_span b) {
    bool same = true;
    for (unsigned seed = 1; seed <= 3 && same; seed++) {
        exec_probe probe = {.rank = rank, .action = i, .a = a, .b = b};
        execution e = {.count = 11, .seed = seed, .probe = &probe};
        same = execute(c->plans, c->shape.nranks, &e) == NULL && probe.equal;
    }
    return same;
}

/* A copy puts the first operand of a commutative reduction into its place, where the second one's
 * data lie already; the mutant puts it into the second one's place: the operands are exchanged. */
static bool exchanges_operands(const call_case *c, int rank, int i, stretto_span other) {
    const stretto_plan *plan = &c->plans[rank];
    const stretto_action *copy = &plan->actions[i], *next = copy + 1;
    return c->shape.commutative && copy->kind == STRETTO_COPY && i + 1 < plan->nactions &&
           next->kind == STRETTO_REDUCE_LOCAL && next->src.buffer == other.buffer &&
           next->src.first == other.first && next->src.count == other.count &&
           next->dst.buffer == copy->dst.buffer && next->dst.first == copy->dst.first &&
           same_data(c, rank, i, copy->dst, other);
}

static bool same_span(stretto_span a, stretto_span b) {
    return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
}

/* A commutative reduction into what is itself reduced into the same place soon after: the operands
 * only come together in another order. */
static bool folds_elsewhere(const call_case *c, int rank, int i, stretto_span other) {
    const stretto_plan *plan = &c->plans[rank];
    const stretto_action *a = &plan->actions[i];
    if (!c->shape.commutative || a->kind != STRETTO_REDUCE_LOCAL)
        return false;
    /* ranks that fold the same must do it in the same order */
    for (int r = 0; c->shape.collective == STRETTO_ALLREDUCE && r < c->shape.nranks; r++) {
        const stretto_layout *layout = c->shape.layout;
        const bool same_lane = !layout || layout->local_of[r] == layout->local_of[rank];
        for (int j = 0; r != rank && same_lane && j < c->plans[r].nactions; j++)
            if (c->plans[r].actions[j].kind == STRETTO_REDUCE_LOCAL)
                return false;
    }
    for (int j = i + 1; j < plan->nactions; j++) {
        const stretto_action *next = &plan->actions[j];
        if (next->kind != STRETTO_REDUCE_LOCAL || !same_span(next->dst, a->dst))
            return false;
        if (same_span(next->src, other))
            return true;
    }
    return false;
}

/* Alltoall in place has its own block where it is to be; what the node phases carry of it goes
 * nowhere. */
static bool goes_nowhere(const call_case *c, int rank, const stretto_action *a, int first) {
    return c->shape.collective == STRETTO_ALLTOALL && c->shape.in_place && c->shape.layout &&
           a->kind == STRETTO_COPY && same_span(a->src, stretto_span_of(STRETTO_OUT, rank, 1)) &&
           first >= 0 && first < c->shape.nranks;
}

static bool is_harmless(const call_case *c, const stretto_plan *mutant, int rank, int i,
                        mutation m) {
    bool barrier = c->shape.collective == STRETTO_BARRIER;
    switch (m) {
    case SWAP_SIDE: return c->shape.commutative;
    case DROP_WAIT:
    case LATE_WAIT:
        return wait_is_idle(&c->plans[rank], i, m == LATE_WAIT) &&
               (!barrier || is_barrier(mutant, c->shape.nranks));
    case DROP_BOTH:
        if (c->shape.graph && c->plans[rank].actions[i].src.count == 0) /* somebody else tells */
            return sizes_are_known(mutant, c->shape.nranks);
        return barrier && is_barrier(mutant, c->shape.nranks);
    case SRC_UP:
    case SRC_DOWN:
        return same_data(c, rank, i, c->plans[rank].actions[i].src, mutant[rank].actions[i].src) ||
               goes_nowhere(c, rank, &c->plans[rank].actions[i], mutant[rank].actions[i].src.first);
    case DST_UP:
    case DST_DOWN:
        return exchanges_operands(c, rank, i, mutant[rank].actions[i].dst) ||
               folds_elsewhere(c, rank, i, mutant[rank].actions[i].dst);
    default: return false;
    }
}

static void try_mutant(const call_case *c, int rank, int i, mutation m) {
    static stretto_plan mutant[MOST_RANKS];
    char error[1000];
    int n = c->shape.nranks;
    copy_plans(mutant, c->plans, n);
    if (mutate(mutant, rank, i, m)) {
        bool accepted = stretto_verify(mutant, n, error, sizeof error) == 0;
        bool harmless = is_harmless(c, mutant, rank, i, m);
        CHECK_MSG(!accepted || harmless, "%s: not found: %s, rank %d action %d (%s)", c->text,
                  mutation_names[m], rank, i, stretto_action_name(c->plans[rank].actions[i].kind));
        CHECK_MSG(accepted || !harmless, "%s: harmless, but refused: %s, rank %d action %d: %s",
                  c->text, mutation_names[m], rank, i, error);
        if (accepted) {
            const char *wrong = try_out(mutant, n);
            CHECK_MSG(!wrong, "%s: accepted, but %s when run: %s, rank %d action %d", c->text,
                      wrong, mutation_names[m], rank, i);
            counts[m].harmless++;
        } else {
            counts[m].caught++;
        }
    }
    free_copies(mutant, n);
}

/* All sends (or receives) of all ranks made blocking: the verifier must see a deadlock exactly
 * where the synchronous execution gets stuck. */
static void try_blocking(const call_case *c, stretto_action_kind kind) {
    static stretto_plan mutant[MOST_RANKS];
    char error[1000];
    int n = c->shape.nranks;
    copy_plans(mutant, c->plans, n);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < mutant[r].nactions; i++)
            if (mutant[r].actions[i].kind == kind) {
                stretto_action wait = {.kind = STRETTO_WAIT, .peer = i};
                insert(&mutant[r], i + 1, wait);
            }
    execution e = {.count = 3, .seed = 5};
    const char *wrong = execute(mutant, n, &e);
    bool accepted = stretto_verify(mutant, n, error, sizeof error) == 0;
    bool deadlock = !accepted && strstr(error, "deadlock");
    CHECK_MSG(accepted == !wrong && deadlock == (wrong && strcmp(wrong, "stuck") == 0),
              "%s: blocking %s: run: %s, verifier: %s", c->text, stretto_action_name(kind),
              wrong ? wrong : "fine", accepted ? "fine" : error);
    if (accepted)
        blocking_fine++;
    else
        blocking_deadlocks++;
    free_copies(mutant, n);
}

static void try_case(call_case *c) {
    if (build_plans(c) != 0)
        return; /* a refusal: test_verify.c looks at these */
    for (int rank = 0; rank < c->shape.nranks; rank++)
        for (int i = 0; i < c->plans[rank].nactions; i++)
            for (int m = 0; m < MUTATIONS; m++)
                try_mutant(c, rank, i, (mutation)m);
    try_blocking(c, STRETTO_SEND);
    try_blocking(c, STRETTO_RECV);
    free_plans(c);
}

static void try_roots(call_case *c) {
    stretto_collective collective = c->shape.collective;
    int last = rooted(collective) ? c->shape.nranks - 1 : 0;
    for (int variant = 0; variant < 4; variant++) {
        c->shape.in_place = variant & 1;
        c->shape.commutative = variant & 2;
        if ((c->shape.in_place && !knows_in_place(collective)) ||
            (!c->shape.commutative && !reduces(collective)))
            continue;
        c->shape.root = 0;
        try_case(c);
        c->shape.root = last;
        if (last > 0)
            try_case(c);
        c->shape.root = last / 2;
        if (last > 1)
            try_case(c);
    }
}

static void try_algorithm(const stretto_algorithm *a, int sizes) {
    static const int size[] = {2, 3, 5, 8, 7, 6};
    static call_case c;
    layout_store store;
    random_state random = {99};
    for (int p = 0; p < sizes; p++) {
        for (int i = 0; i < 3 && parameter_case(a, i, &c.choice, &c.bytes); i++) {
            c.shape = (stretto_shape){.collective = a->collective, .nranks = size[p]};
            try_roots(&c);
            const bool composes = stretto_collective_composes(a->collective);
            if (!composes && !(a->needs & STRETTO_CARRIES))
                continue;
            if (composes)
                c.choice.kind = STRETTO_CHOICE_SHM;
            for (int l = 0; l < 3; l++) {
                c.shape.layout = l < 2 ? layout_regular(&store, size[p], 3 - l, l == 1)
                                       : layout_random(&store, size[p], false, &random);
                try_roots(&c);
                if (!stretto_collective_has_lanes(a->collective) || l > 0)
                    continue;
                c.choice.lanes = STRETTO_LANES_ALL;
                c.shape.layout = layout_regular(&store, size[p] / 2 * 2, 2, true);
                c.shape.nranks = size[p] / 2 * 2;
                try_roots(&c);
                c.shape.layout = layout_from(&store, 5, (int[]){0, 0, 0, 1, 1});
                c.shape.nranks = 5;
                if (p == i)
                    try_roots(&c);
                c.shape.nranks = size[p];
                c.choice.lanes = 0;
            }
        }
    }
}

/* Neighbourhoods: graphs and layouts instead of roots. */
static void try_neighbors(const stretto_algorithm *a, int sizes) {
    static const int size[] = {2, 3, 5, 8, 7, 6};
    static call_case c;
    layout_store layouts;
    random_state random = {98};
    for (int p = 0; p < sizes; p++)
        for (int g = 0; g < 8; g++) {
            stretto_graph_store store;
            c.shape = (stretto_shape){.collective = a->collective, .nranks = size[p]};
            c.shape.graph = graph_of(&store, graph_case(g), size[p]);
            for (int i = 0; i < 2 && parameter_case(a, i, &c.choice, &c.bytes); i++)
                for (int l = 0; l < (a->param == STRETTO_PARAM_NONE ? 3 : 1); l++) {
                    if (a->param == STRETTO_PARAM_NONE)
                        c.shape.layout = l < 2 ? layout_regular(&layouts, size[p], 4 - l, l == 1)
                                               : layout_random(&layouts, size[p], false, &random);
                    try_case(&c);
                }
            stretto_graph_release(&store);
        }
}

/* The single node action of every collective. */
static void try_shm(stretto_collective collective) {
    static call_case c;
    layout_store store;
    for (int p = 2; p <= 4; p++) {
        c.choice = (stretto_choice){.kind = STRETTO_CHOICE_SHM};
        c.shape = (stretto_shape){.collective = collective, .nranks = p};
        c.shape.layout = layout_regular(&store, p, p, false);
        try_roots(&c);
    }
}

int main(void) {
    int n, sizes = ONE_IN > 1 ? 3 : 5;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    exec_no_empty_blocks = true;
    for (int i = 0; i < n; i++) {
        memset(counts, 0, sizeof counts);
        if (stretto_collective_neighbor(rows[i].collective))
            try_neighbors(&rows[i], sizes);
        else
            try_algorithm(&rows[i], sizes);
        long caught = 0, harmless = 0;
        for (int m = 0; m < MUTATIONS; m++) {
            caught += counts[m].caught;
            harmless += counts[m].harmless;
        }
        printf("%-20s %-20s %7ld faults found, %5ld harmless changes accepted (",
               stretto_collective_name(rows[i].collective), rows[i].name, caught, harmless);
        for (int m = 0, some = 0; m < MUTATIONS; m++)
            if (counts[m].harmless)
                printf("%s%s %ld", some++ ? ", " : "", mutation_names[m], counts[m].harmless);
        puts(")");
        CHECK(caught > 100);
        CHECK(counts[DROP_BOTH].caught > 0 && counts[DROP_WAIT].caught > 0);
    }
    memset(counts, 0, sizeof counts);
    for (int collective = 0; collective < STRETTO_COLLECTIVES; collective++)
        if (!stretto_collective_neighbor((stretto_collective)collective))
            try_shm((stretto_collective)collective);
    CHECK(counts[DROP_NODE].caught > 100);
    printf("blocking messages: %ld deadlocks found, %ld fine\n", blocking_deadlocks, blocking_fine);
    CHECK(blocking_deadlocks > 0 && blocking_fine > 0);
    return check_report("mutants");
}
