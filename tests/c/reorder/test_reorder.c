/* Which rank becomes which process: known optima, and for random graphs and nodes that the result
 * is a permutation, is what it says, is never worse than the given order, and costs what it may. */
#include "../check.h"
#include "reorder/reorder.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK, CYCLIC };

static unsigned long long random_state = 1;

static int below(int n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (unsigned long long)n);
}

static int first; /* the rank of process 0 in the last result */

static void shuffle(int *numbers, int n) {
    for (int i = n - 1; i > 0; i--) {
        const int j = below(i + 1), kept = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = kept;
    }
}

/* What lies between groups when process v has rank rank_of[v]. */
static long long measured(const stretto_traffic *t, const int *group, const int *rank_of) {
    long long sum = 0;
    for (int v = 0; v < t->n; v++)
        for (int64_t i = t->start[v]; i < t->start[v + 1]; i++)
            if (t->to[i] > v && group[rank_of[v]] != group[rank_of[t->to[i]]])
                sum += t->weight[i];
    return sum;
}

/* All that holds for any result. Returns what stretto_reorder has returned. */
static int check_result(const char *name, const stretto_traffic *t, int keys, const int *node,
                        const int *domain, stretto_reordering *r) {
    int *rank_of = malloc(((size_t)t->n + 1) * sizeof *rank_of);
    int *given = malloc(((size_t)t->n + 1) * sizeof *given);
    char *seen = calloc((size_t)t->n + 1, 1);
    const int better = stretto_reorder(t, keys, node, domain, rank_of, r);
    const int *part = domain ? domain : node;
    CHECK_MSG(better == 0 || better == 1, "%s: returned %d", name, better);
    for (int v = 0; v < t->n; v++) {
        given[v] = v;
        CHECK_MSG(rank_of[v] >= 0 && rank_of[v] < t->n && !seen[rank_of[v]], "%s: process %d", name,
                  v);
        seen[rank_of[v]] = 1;
        CHECK_MSG(better || rank_of[v] == v, "%s: process %d moved for nothing", name, v);
    }
    CHECK_MSG(r->nodes_before == measured(t, node, given), "%s: nodes before", name);
    CHECK_MSG(r->nodes_after == measured(t, node, rank_of), "%s: nodes after", name);
    CHECK_MSG(r->domains_before == measured(t, part, given), "%s: domains before", name);
    CHECK_MSG(r->domains_after == measured(t, part, rank_of), "%s: domains after", name);
    CHECK_MSG(r->nodes_after <= r->nodes_before, "%s: worse", name);
    CHECK_MSG(r->nodes_after < r->nodes_before || r->domains_after <= r->domains_before,
              "%s: worse inside nodes", name);
    CHECK_MSG(!better || r->nodes_after < r->nodes_before || r->domains_after < r->domains_before,
              "%s: another order that is no better", name);
    first = rank_of[0];
    free(rank_of);
    free(given);
    free(seen);
    return better;
}

/* ---- known optima ---------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    int dims[3], periods[3];
    int nodes[16]; /* ranks of each */
    int how;       /* in which order ranks are on nodes */
    int parts;     /* domains of each node, of consecutive ranks of it; 0: one */
    long long before, after, domains_after;
} optimum;

static const optimum optima[] = {
    {"8x8, 4 nodes in rows", {8, 8}, {0}, {16, 16, 16, 16}, BLOCK, 0, 24, 16, 16},
    {"8x8, round robin", {8, 8}, {0}, {16, 16, 16, 16}, CYCLIC, 0, 56, 16, 16},
    {"8x8, nodes of 4 domains", {8, 8}, {0}, {16, 16, 16, 16}, CYCLIC, 4, 56, 16, 48},
    {"8x8 periodic, rows are as good", {8, 8}, {1, 1}, {16, 16, 16, 16}, BLOCK, 0, 32, 32, 32},
    {"8x8 periodic, round robin", {8, 8}, {1, 1}, {16, 16, 16, 16}, CYCLIC, 0, 64, 32, 32},
    {"4x4x4", {4, 4, 4}, {0}, {8, 8, 8, 8, 8, 8, 8, 8}, BLOCK, 0, 64, 48, 48},
    {"6x6, 2x2 blocks", {6, 6}, {0}, {4, 4, 4, 4, 4, 4, 4, 4, 4}, BLOCK, 0, 36, 24, 24},
    {"4x6, blocks that are not halves", {4, 6}, {0}, {4, 4, 4, 4, 4, 4}, BLOCK, 0, 22, 14, 14},
    {"a line", {16}, {0}, {4, 4, 4, 4}, CYCLIC, 0, 15, 3, 3},
    {"a ring", {16}, {1}, {4, 4, 4, 4}, CYCLIC, 0, 16, 4, 4},
    {"a ring, unequal nodes", {10}, {1}, {5, 3, 2}, CYCLIC, 0, 8, 3, 3},
    {"a line, unequal nodes", {11}, {0}, {1, 6, 4}, CYCLIC, 0, 9, 2, 2},
    {"5x3, unequal nodes", {5, 3}, {0}, {6, 6, 3}, BLOCK, 0, 6, 6, 6},
    {"3x5, unequal nodes", {3, 5}, {0}, {6, 6, 3}, CYCLIC, 0, 20, 6, 6},
    {"one rank a node", {2, 3}, {0}, {1, 1, 1, 1, 1, 1}, BLOCK, 0, 7, 7, 7},
    {"one node", {4, 4}, {0}, {16}, BLOCK, 0, 0, 0, 0},
    {"one node, domains in rows", {4, 4}, {0}, {16}, BLOCK, 4, 0, 0, 8},
    {"two in a periodic dimension", {2, 4}, {1, 0}, {2, 2, 2, 2}, BLOCK, 0, 10, 6, 6},
    {"one in a periodic dimension", {1, 4}, {1, 0}, {2, 2}, CYCLIC, 0, 3, 1, 1},
    {"two processes", {2}, {0}, {1, 1}, BLOCK, 0, 1, 1, 1},
    {"one process", {1}, {1}, {1}, BLOCK, 0, 0, 0, 0},
};

/* Ranks on nodes in turn while a node has room, or node by node. */
static int place(const optimum *o, int n, int *node, int *domain) {
    int left[16], used[16] = {0}, nodes = 0, at = 0;
    while (nodes < 16 && o->nodes[nodes]) {
        left[nodes] = o->nodes[nodes];
        nodes++;
    }
    for (int r = 0; r < n; r++) {
        while (!left[at])
            at = (at + 1) % nodes;
        node[r] = at;
        domain[r] = 16 * at + used[at]++ * o->parts / o->nodes[at];
        left[at]--;
        if (o->how == CYCLIC)
            at = (at + 1) % nodes;
    }
    return nodes;
}

static void check_optima(void) {
    for (size_t i = 0; i < sizeof optima / sizeof *optima; i++) {
        const optimum *o = &optima[i];
        int node[64], domain[64], ndims = 0;
        stretto_traffic grid, graph;
        stretto_reordering r;
        while (ndims < 3 && o->dims[ndims])
            ndims++;
        CHECK(stretto_traffic_of_grid(&grid, ndims, o->dims, o->periods));
        place(o, grid.n, node, domain);
        const int better = check_result(o->name, &grid, 256, node, o->parts ? domain : NULL, &r);
        CHECK_MSG(r.nodes_before == o->before && r.nodes_after == o->after,
                  "%s: between nodes %lld -> %lld, not %lld -> %lld", o->name,
                  (long long)r.nodes_before, (long long)r.nodes_after, o->before, o->after);
        CHECK_MSG(r.domains_after == o->domains_after, "%s: between domains %lld, not %lld",
                  o->name, (long long)r.domains_after, o->domains_after);
        CHECK_MSG(better == (r.domains_before != r.domains_after || o->before != o->after),
                  "%s: %d", o->name, better);
        bool alike = true;
        for (int k = 1; k < 16 && o->nodes[k]; k++)
            alike = alike && o->nodes[k] == o->nodes[0];
        CHECK_MSG(!alike || first == 0, "%s: process 0 has rank %d", o->name, first);
        /* the same as a graph whose processes are numbered anyhow */
        int names[64], edges[3 * 512];
        int64_t nedges = 0;
        for (int v = 0; v < grid.n; v++)
            names[v] = v;
        shuffle(names, grid.n);
        for (int v = 0; v < grid.n; v++)
            for (int64_t k = grid.start[v]; k < grid.start[v + 1]; k++) {
                edges[3 * nedges] = names[v]; /* both directions stand there */
                edges[3 * nedges + 1] = names[grid.to[k]];
                edges[3 * nedges++ + 2] = (int)grid.weight[k];
            }
        CHECK(stretto_traffic_of_edges(&graph, grid.n, nedges, edges));
        check_result(o->name, &graph, 256, node, o->parts ? domain : NULL, &r);
        CHECK_MSG(8 * r.nodes_after <= 2 * 9 * o->after,
                  "%s as a graph: %lld between nodes, not %lld", o->name, (long long)r.nodes_after,
                  2 * o->after);
        stretto_traffic_free(&grid);
        stretto_traffic_free(&graph);
    }
}

/* ---- anything -------------------------------------------------------------------------------- */

/* The least that any division among these nodes has, by trying all. */
static long long least(const stretto_traffic *t, int *room, int nodes, int *node, int v,
                       long long sum, long long best) {
    if (sum >= best)
        return best;
    if (v == t->n)
        return sum;
    for (int a = 0; a < nodes; a++) {
        if (!room[a])
            continue;
        long long more = 0;
        for (int64_t i = t->start[v]; i < t->start[v + 1]; i++)
            if (t->to[i] >= 0 && t->to[i] < v && node[t->to[i]] != a)
                more += t->weight[i];
        node[v] = a;
        room[a]--;
        best = least(t, room, nodes, node, v + 1, sum + more, best);
        room[a]++;
    }
    return best;
}

static void check_random(int cases) {
    static int edges[3 * 4096], node[256], domain[256];
    int *at = malloc(256 * sizeof *at);
    long long found = 0, possible = 0;
    for (int i = 0; i < cases; i++) {
        const int n = 1 + below(i % 2 ? 8 : 64), nodes = 1 + below(n < 6 ? n : 6);
        const int nedges = below(4 * n), heavy = below(2) ? 1000000000 : 3;
        for (int e = 0; e < nedges; e++) { /* repeated ones, to oneself, of no weight */
            edges[3 * e] = below(n);
            edges[3 * e + 1] = below(3) ? (edges[3 * e] + 1 + below(3)) % n : below(n);
            edges[3 * e + 2] = below(heavy);
        }
        for (int r = 0; r < n; r++) {
            node[r] = 3 + 2 * (r < nodes ? r : below(nodes)); /* any numbers */
            domain[r] = 8 * node[r] + below(3);
        }
        stretto_traffic t;
        stretto_reordering r;
        CHECK(stretto_traffic_of_edges(&t, n, nedges, edges));
        check_result("random", &t, 256, node, below(2) ? domain : NULL, &r);
        if (n <= 8) {
            int room[16] = {0};
            for (int k = 0; k < n; k++)
                room[(node[k] - 3) / 2]++;
            const long long optimum = least(&t, room, nodes, at, 0, 0, r.nodes_after + 1);
            CHECK_MSG(optimum <= r.nodes_after, "random: better than the best");
            found += optimum == r.nodes_after;
            possible++;
        }
        stretto_traffic_free(&t);
    }
    free(at);
    printf("%lld of %lld optima found\n", found, possible);
    CHECK_MSG(10 * found >= 9 * possible, "%lld of %lld optima found", found, possible);
}

/* Small grids over nodes of any sizes: always the optimum. */
static void check_grids(int cases) {
    int node[16], *at = malloc(16 * sizeof *at), found = 0;
    for (int i = 0; i < cases; i++) {
        int dims[3], periods[3], room[4] = {0}, n = 1;
        const int ndims = 1 + below(3), nodes = 2 + below(3), most = below(8);
        for (int d = 0; d < ndims; d++) {
            dims[d] = 1 + below(d ? 4 : 10);
            periods[d] = below(3) == 0;
            n *= dims[d];
        }
        if (n > 10)
            continue;
        for (int r = 0; r < n; r++) {
            node[r] = below(10) < most ? below(nodes) : r % nodes;
            room[node[r]]++;
        }
        stretto_traffic t;
        stretto_reordering r;
        CHECK(stretto_traffic_of_grid(&t, ndims, dims, periods));
        check_result("small grid", &t, nodes, node, NULL, &r);
        const long long optimum = least(&t, room, nodes, at, 0, 0, r.nodes_after + 1);
        CHECK_MSG(optimum == r.nodes_after, "grid of %d processes: %lld, and %lld is possible", n,
                  (long long)r.nodes_after, optimum);
        found++;
        stretto_traffic_free(&t);
    }
    free(at);
    printf("%d small grids\n", found);
}

/* 8192 ranks with 20 neighbours each, near in a plane, numbered anyhow. The time is printed, not
 * judged. */
static void check_cost(int n) {
    int *edges = malloc(60 * (size_t)n * sizeof *edges), *name = malloc((size_t)n * sizeof *name);
    int *node = malloc((size_t)n * sizeof *node), *domain = malloc((size_t)n * sizeof *domain);
    for (int v = 0; v < n; v++) {
        name[v] = v;
        node[v] = v / 64;
        domain[v] = v / 16;
    }
    shuffle(name, n);
    for (int e = 0; e < 20 * n; e++) {
        const int x = e / 20 / 64, y = e / 20 % 64, width = n / 64;
        const int there = (x + below(7) + width - 3) % width * 64 + (y + below(7) + 61) % 64;
        edges[3 * e] = name[e / 20];
        edges[3 * e + 1] = name[there];
        edges[3 * e + 2] = 1 + below(1000);
    }
    stretto_traffic t;
    stretto_reordering r;
    const clock_t begin = clock();
    CHECK(stretto_traffic_of_edges(&t, n, 20 * (int64_t)n, edges));
    CHECK(check_result("many", &t, n, node, domain, &r) == 1);
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("%d ranks x 20 neighbours: %lld -> %lld of %lld between nodes, %.2f s\n", n,
           (long long)r.nodes_before, (long long)r.nodes_after, (long long)r.total, seconds);
    CHECK_MSG(2 * r.nodes_after < r.nodes_before, "many: %lld of %lld", (long long)r.nodes_after,
              (long long)r.nodes_before);
    stretto_traffic_free(&t);
    free(edges);
    free(name);
    free(node);
    free(domain);
}

int main(void) {
    check_optima();
    check_random(2000);
    check_grids(4000);
    check_cost(8192);
    return check_report("reorder");
}
