/* See reorder.h. First processes are divided among nodes, then those of each node among its
 * domains; what comes out is compared with the given order, which stays where nothing is better. */
#include "reorder/partition.h"

#include <stdlib.h>
#include <string.h>

/* Groups of ranks: nodes, or domains, numbered in the order of nodes. */
typedef struct {
    int n;
    int *of;    /* [ranks] */
    int *size;  /* [n] */
    int *start; /* [n + 1] of each in a list that is sorted by group */
} groups;

typedef struct {
    const stretto_traffic *t;
    stretto_partitioner *partitioner;
    groups nodes, domains;
    int *first;         /* [nodes + 1] domain of each node */
    int *list;          /* [n] processes */
    int *node, *domain; /* [n] of each process in the best division so far */
    int *try, *other;   /* [n] of another one; scratch */
    int *memory;
} state;

/* Numbers nodes by their first ranks, and domains by their nodes and then by their first ranks.
 * number_of: [keys], all -1. */
static void number(state *s, const int *node, const int *domain, int *number_of) {
    const int n = s->t->n;
    int *domains = s->first + 1; /* of each node */
    for (int r = 0; r < n; r++) {
        if (number_of[node[r]] < 0)
            number_of[node[r]] = s->nodes.n++;
        s->nodes.of[r] = number_of[node[r]];
        s->nodes.size[s->nodes.of[r]]++;
    }
    for (int r = 0; r < n; r++)
        number_of[domain[r]] = -1;
    for (int r = 0; r < n; r++) {
        if (number_of[domain[r]] < 0)
            number_of[domain[r]] = domains[s->nodes.of[r]]++;
        s->domains.of[r] = number_of[domain[r]];
    }
    for (int i = 0; i < s->nodes.n; i++)
        s->first[i + 1] += s->first[i];
    s->domains.n = s->first[s->nodes.n];
    for (int r = 0; r < n; r++)
        s->domains.size[s->domains.of[r] += s->first[s->nodes.of[r]]]++;
    for (int i = 0; i < s->nodes.n; i++)
        s->nodes.start[i + 1] = s->nodes.start[i] + s->nodes.size[i];
    for (int i = 0; i < s->domains.n; i++)
        s->domains.start[i + 1] = s->domains.start[i] + s->domains.size[i];
}

/* False: no memory. */
static bool prepare(state *s, const stretto_traffic *t, int keys, const int *node,
                    const int *domain) {
    const size_t n = (size_t)t->n + 1;
    s->t = t;
    s->partitioner = stretto_partitioner_make(t);
    s->memory = calloc(13 * n + (size_t)keys, sizeof *s->memory);
    if (!s->partitioner || !s->memory)
        return false;
    int **const arrays[] = {&s->nodes.of,     &s->nodes.size,    &s->nodes.start, &s->domains.of,
                            &s->domains.size, &s->domains.start, &s->first,       &s->list,
                            &s->node,         &s->domain,        &s->try,         &s->other};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = s->memory + i * n;
    int *numbers = s->memory + 12 * n;
    memset(numbers, 0xff, (size_t)keys * sizeof *numbers);
    number(s, node, domain ? domain : node, numbers);
    return true;
}

static void list_all(state *s) {
    for (int v = 0; v < s->t->n; v++)
        s->list[v] = v;
}

/* ---- blocks of a grid ------------------------------------------------------------------------ */

/* What lies between blocks of these sides. Each dimension is a multiple of its side. */
static int64_t between_blocks(const stretto_traffic *t, const int *side) {
    int64_t sum = 0;
    for (int d = 0; d < t->ndims; d++) {
        const int blocks = t->dims[d] / side[d];
        const int faces = t->periods[d] && blocks > 1 ? blocks : blocks - 1;
        sum += (int64_t)(t->n / t->dims[d]) * faces;
    }
    return sum;
}

/* Goes through all sides whose product is k and that divide the grid, from dimension d on. The best
 * ones so far are in best; *least is what lies between such blocks, -1: none found yet. */
static void try_sides(const stretto_traffic *t, int k, int d, int *side, int *best,
                      int64_t *least) {
    if (d == t->ndims) {
        const int64_t sum = k == 1 ? between_blocks(t, side) : -1;
        if (sum >= 0 && (*least < 0 || sum < *least)) {
            *least = sum;
            memcpy(best, side, (size_t)d * sizeof *best);
        }
        return;
    }
    for (int along = 1; along <= k && along <= t->dims[d]; along++)
        if (k % along == 0 && t->dims[d] % along == 0) {
            side[d] = along;
            try_sides(t, k / along, d + 1, side, best, least);
        }
}

/* Nodes of one size k: blocks of k processes, in s->try. False: none divide the grid. */
static bool tile(state *s) {
    const stretto_traffic *t = s->t;
    const int k = s->nodes.size[0];
    int64_t least = -1;
    int *side = s->list, *best = s->other;
    for (int i = 0; i < s->nodes.n; i++)
        if (s->nodes.size[i] != k)
            return false;
    if (t->ndims < 1 || t->ndims > t->n)
        return false;
    try_sides(t, k, 0, side, best, &least);
    if (least < 0)
        return false;
    for (int v = 0; v < t->n; v++) {
        int block = 0;
        for (int d = 0, rest = v, n = t->n; d < t->ndims; d++) {
            n /= t->dims[d];
            block = block * (t->dims[d] / best[d]) + rest / n / best[d];
            rest %= n;
        }
        s->try[v] = block;
    }
    return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Takes the division in s->try when it is better than the best so far. */
static void judge_nodes(state *s, int64_t *least) {
    const int64_t sum = stretto_traffic_between(s->t, s->try);
    if (sum >= *least)
        return;
    *least = sum;
    memcpy(s->node, s->try, (size_t)s->t->n * sizeof *s->node);
}

static void divide_among_nodes(state *s) {
    const int n = s->t->n;
    const size_t bytes = (size_t)n * sizeof *s->try;
    const int64_t given = stretto_traffic_between(s->t, s->nodes.of);
    int64_t least = given;
    memcpy(s->node, s->nodes.of, bytes);
    if (least == 0 || s->nodes.n == n)
        return;
    if (tile(s))
        judge_nodes(s, &least);
    list_all(s);
    stretto_partition(s->partitioner, s->list, n, s->nodes.n, s->nodes.size, 0, s->try);
    stretto_partition_refine(s->partitioner, s->list, n, s->nodes.n, 0, s->try);
    judge_nodes(s, &least);
    if (given > 2 * least) /* exchanges would not get that far */
        return;
    list_all(s);
    memcpy(s->try, s->nodes.of, bytes);
    stretto_partition_refine(s->partitioner, s->list, n, s->nodes.n, 0, s->try);
    judge_nodes(s, &least);
}

/* ---- domains --------------------------------------------------------------------------------- */

/* The numbers below n in the order of their groups, and ascending in each. */
static void sort_by_group(int n, const int *of, const groups *g, int *sorted, int *next) {
    memcpy(next, g->start, (size_t)g->n * sizeof *next);
    for (int v = 0; v < n; v++)
        sorted[next[of[v]]++] = v;
}

/* Twice the weight between domains among m processes of a node. */
static int64_t between_domains(const state *s, const int *list, int m, const int *domain) {
    const stretto_traffic *t = s->t;
    int64_t sum = 0;
    for (int k = 0; k < m; k++)
        for (int64_t i = t->start[list[k]]; i < t->start[list[k] + 1]; i++)
            if (s->node[t->to[i]] == s->node[list[k]] && domain[t->to[i]] != domain[list[k]])
                sum += t->weight[i];
    return sum;
}

/* Divides the processes of each node among its domains: the best of what is found anew and, where
 * nodes keep their processes, of what comes from the given order. */
static void divide_among_domains(state *s) {
    const int n = s->t->n;
    const bool kept = memcmp(s->node, s->nodes.of, (size_t)n * sizeof *s->node) == 0;
    sort_by_group(n, s->node, &s->nodes, s->list, s->other);
    for (int i = 0; i < s->nodes.n; i++) {
        const int first = s->first[i], parts = s->first[i + 1] - first;
        const int m = s->nodes.size[i], *size = s->domains.size + first;
        int *list = s->list + s->nodes.start[i];
        stretto_partition(s->partitioner, list, m, parts, size, first, s->domain);
        stretto_partition_refine(s->partitioner, list, m, parts, first, s->domain);
        if (!kept || parts == 1)
            continue;
        for (int k = 0; k < m; k++)
            s->try[list[k]] = s->domains.of[list[k]];
        stretto_partition_refine(s->partitioner, list, m, parts, first, s->try);
        if (between_domains(s, list, m, s->try) <= between_domains(s, list, m, s->domain))
            for (int k = 0; k < m; k++)
                s->domain[list[k]] = s->try[list[k]];
    }
}

/* Exchanges the names of two groups of one size, so that process 0 comes where rank 0 is: much
 * starts at rank 0, and programs read there what they send from rank 0 of the new communicator. */
static void keep_first(int n, int *group, const groups *g) {
    const int mine = group[0], wanted = g->of[0];
    if (mine == wanted || g->size[mine] != g->size[wanted])
        return;
    for (int v = 0; v < n; v++)
        group[v] = group[v] == mine ? wanted : group[v] == wanted ? mine : group[v];
}

/* ---- ranks ----------------------------------------------------------------------------------- */

int stretto_reorder(const stretto_traffic *t, int keys, const int *node, const int *domain,
                    int *rank_of, stretto_reordering *result) {
    state s = {0};
    if (!prepare(&s, t, keys, node, domain)) {
        stretto_partitioner_free(s.partitioner);
        free(s.memory);
        return -1;
    }
    divide_among_nodes(&s);
    keep_first(t->n, s.node, &s.nodes);
    divide_among_domains(&s);
    if (s.node[0] == s.nodes.of[0])
        keep_first(t->n, s.domain, &s.domains);
    *result = (stretto_reordering){.total = t->total,
                                   .nodes_before = stretto_traffic_between(t, s.nodes.of),
                                   .nodes_after = stretto_traffic_between(t, s.node),
                                   .domains_before = stretto_traffic_between(t, s.domains.of),
                                   .domains_after = stretto_traffic_between(t, s.domain)};
    const bool better = result->nodes_after < result->nodes_before ||
                        (result->nodes_after == result->nodes_before &&
                         result->domains_after < result->domains_before);
    for (int r = 0; r < t->n; r++)
        rank_of[r] = r;
    if (better) {
        int *ranks = s.try; /* of each domain, as s.list has its processes */
        sort_by_group(t->n, s.domains.of, &s.domains, ranks, s.other);
        sort_by_group(t->n, s.domain, &s.domains, s.list, s.other);
        for (int i = 0; i < t->n; i++)
            rank_of[s.list[i]] = ranks[i];
    } else {
        result->nodes_after = result->nodes_before;
        result->domains_after = result->domains_before;
    }
    stretto_partitioner_free(s.partitioner);
    free(s.memory);
    return better;
}
