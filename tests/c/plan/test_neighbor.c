/* Neighbourhood collectives: the sample graphs are what they are called, and every algorithm is
 * proven and carried out on them, on layouts of many kinds; the verifier finds sizes that nobody
 * tells, and blocks that come from nowhere and are written. */
#include "../check.h"
#include "execute.h"
#include "graphs.h"

static long proven, runs, saved;

/* Messages between nodes among all ranks. */
static int between_nodes(const call_case *c) {
    int n = 0;
    for (int r = 0; r < c->shape.nranks; r++)
        for (int i = 0; i < c->plans[r].nactions; i++) {
            const stretto_action *a = &c->plans[r].actions[i];
            n += a->kind == STRETTO_SEND && c->shape.layout &&
                 c->shape.layout->node_of[a->peer] != c->shape.layout->node_of[r];
        }
    return n;
}

/* Pairs of nodes with an edge between them. */
static int node_pairs(const call_case *c) {
    static bool seen[MOST_RANKS][MOST_RANKS];
    const stretto_graph *g = c->shape.graph;
    const int *node_of = c->shape.layout->node_of;
    int n = 0;
    memset(seen, 0, sizeof seen);
    for (int r = 0; r < c->shape.nranks; r++)
        for (int e = g->out_start[r]; e < g->out_start[r + 1]; e++)
            if (g->out_to[e] >= 0 && node_of[g->out_to[e]] != node_of[r] &&
                !seen[node_of[r]][node_of[g->out_to[e]]]) {
                seen[node_of[r]][node_of[g->out_to[e]]] = true;
                n++;
            }
    return n;
}

static void try_case(call_case *c, const char *graph, bool run) {
    const int built = build_plans(c);
    CHECK_MSG(built == 0, "%s on %s: refused: %s", c->text, graph, c->error);
    if (built != 0)
        return;
    const int wrong = stretto_verify(c->plans, c->shape.nranks, c->error, sizeof c->error);
    CHECK_MSG(wrong == 0, "%s on %s: %s", c->text, graph, c->error);
    proven++;
    if (c->shape.layout && strcmp(c->choice.algorithm->name, "node_aware") == 0) {
        CHECK_MSG(between_nodes(c) == node_pairs(c), "%s on %s: %d messages between %d pairs",
                  c->text, graph, between_nodes(c), node_pairs(c));
        saved += c->shape.graph->out_start[c->shape.nranks] - between_nodes(c);
    }
    for (unsigned schedule = 0; run && schedule < 4; schedule++) {
        execution e = {.count = schedule < 2 ? 1 : 3,
                       .seed = 1 + schedule * 77,
                       .haste = schedule % 2 * 40,
                       .buffered = schedule >= 2};
        const char *failed = execute(c->plans, c->shape.nranks, &e);
        CHECK_MSG(!failed, "%s on %s: schedule %u: %s", c->text, graph, schedule, failed);
        runs++;
    }
    free_plans(c);
}

static void try_algorithm(const stretto_algorithm *a, int most) {
    static call_case c;
    layout_store layouts;
    random_state random = {20261122};
    proven = runs = saved = 0;
    for (int p = 1; p <= most; p++) {
        for (int g = 0; graph_case(g); g++) {
            stretto_graph_store store;
            const stretto_graph *graph = graph_of(&store, graph_case(g), p);
            CHECK(stretto_graph_check(graph) == NULL);
            for (int i = 0; parameter_case(a, i, &c.choice, &c.bytes); i++) {
                c.shape = (stretto_shape){.collective = a->collective, .nranks = p, .graph = graph};
                const bool run = p <= 8 || (p + g) % 4 == 0;
                try_case(&c, graph_case(g), run);
                if (a->param != STRETTO_PARAM_NONE)
                    continue; /* does not look at nodes */
                for (int l = 0; l < 5; l++) {
                    c.shape.layout = l < 3 ? layout_regular(&layouts, p, 1 + 2 * l, l == 2)
                                           : layout_random(&layouts, p, l % 2, &random);
                    try_case(&c, graph_case(g), run);
                }
            }
            stretto_graph_release(&store);
        }
    }
    printf("%-20s %-12s %6ld proven, %6ld runs, %ld messages less between nodes\n",
           stretto_collective_name(a->collective), a->name, proven, runs, saved);
    CHECK(proven > 100 && runs > 100);
}

/* Refusals that a user meets. */
static void try_refusals(void) {
    stretto_graph_store store;
    stretto_choice choice;
    stretto_plan plan;
    char error[400];
    CHECK(stretto_graph_sample(&store, "grid(3x3)", 8, error, sizeof error) == -1);
    CHECK(strstr(error, "grid(3x3)") != NULL);
    CHECK(stretto_graph_sample(&store, "torus(4x2", 8, error, sizeof error) == -1);
    CHECK(stretto_graph_sample(&store, "torus5", 8, error, sizeof error) == -1);
    CHECK(stretto_graph_sample(&store, "random(1)x", 8, error, sizeof error) == -1);
    const stretto_collective c = STRETTO_NEIGHBOR_ALLTOALLV;
    CHECK(stretto_choice_parse(c, "shm", &choice, error, sizeof error) == -1);
    CHECK(stretto_choice_parse(c, "shm+direct", &choice, error, sizeof error) == -1);
    CHECK(stretto_choice_parse(c, "direct(16)", &choice, error, sizeof error) == 0);
    const stretto_shape shape = {.collective = c, .nranks = 4};
    CHECK(stretto_plan_build(&plan, &choice, &shape, 8, error, sizeof error) == -1);
    CHECK(strstr(error, "graph") != NULL);
}

/* Slots of Cartesian graphs: MPI-4.1 section 8.6. */
static void try_slots(void) {
    stretto_graph_store store;
    const stretto_graph *g = graph_of(&store, "torus(2x3)", 6);
    const int to[] = {3, 3, 2, 1}; /* rank 0: down and up of each dimension */
    for (int i = 0; i < 4; i++)
        CHECK(g->out_to[i] == to[i]);
    CHECK(g->in_edge[0] == 4 * 3 + 1 && g->in_edge[1] == 4 * 3); /* what goes up comes from below */
    stretto_graph_release(&store);
    g = graph_of(&store, "grid(6)", 6);
    CHECK(g->out_to[0] == -1 && g->out_to[1] == 1 && g->in_edge[0] == -1 && g->in_edge[1] == 2);
    stretto_graph_release(&store);
}

/* Faults that only these collectives have. */
static void try_faults(void) {
    static call_case c;
    layout_store layouts;
    stretto_graph_store store;
    const stretto_algorithm *a = stretto_algorithm_find(STRETTO_NEIGHBOR_ALLTOALL, "node_aware");
    c.choice = stretto_choice_of(a);
    c.shape = (stretto_shape){.collective = a->collective, .nranks = 12};
    c.shape.layout = layout_regular(&layouts, 12, 4, false);
    c.shape.graph = graph_of(&store, "grid2", 12);
    CHECK(build_plans(&c) == 0);
    /* a rank that tells nothing, and is not listened to */
    int untold = 0;
    for (int r = 0; r < 12; r++)
        for (int i = 0; i < c.plans[r].nactions; i++) {
            stretto_action *send = &c.plans[r].actions[i];
            if (send->kind != STRETTO_SEND || send->src.count > 0)
                continue;
            for (int j = 0; j < c.plans[send->peer].nactions; j++) {
                stretto_action *recv = &c.plans[send->peer].actions[j];
                if (recv->kind != STRETTO_RECV || recv->dst.count > 0 || recv->peer != r)
                    continue;
                const stretto_action before[2] = {*send, *recv};
                *send = *recv = (stretto_action){.kind = STRETTO_COPY};
                CHECK(stretto_verify(c.plans, 12, c.error, sizeof c.error) != 0);
                CHECK_MSG(strstr(c.error, "never receives the size"), "%s", c.error);
                *send = before[0];
                *recv = before[1];
                untold++;
            }
        }
    CHECK(untold > 4);
    CHECK(stretto_verify(c.plans, 12, c.error, sizeof c.error) == 0);
    free_plans(&c);
    /* OUT of rank 0, slot 0 comes from nowhere */
    c.choice = stretto_choice_of(stretto_algorithm_find(a->collective, "direct"));
    CHECK(build_plans(&c) == 0 && c.shape.graph->in_edge[0] == -1);
    stretto_plan_append(&c.plans[0], &(stretto_action){.kind = STRETTO_COPY,
                                                       .src = stretto_span_of(STRETTO_IN, 1, 1),
                                                       .dst = stretto_span_of(STRETTO_OUT, 0, 1)});
    CHECK(stretto_verify(c.plans, 12, c.error, sizeof c.error) != 0);
    free_plans(&c);
    stretto_graph_release(&store);
}

int main(int argc, char **argv) {
    int n, most = argc > 1 ? atoi(argv[1]) : 32;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    try_refusals();
    try_slots();
    try_faults();
    for (int i = 0; i < n; i++)
        if (stretto_collective_neighbor(rows[i].collective))
            try_algorithm(&rows[i], most);
    return check_report("neighbor");
}
