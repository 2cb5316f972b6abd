/* The graph of who sends to whom. See reorder.h. */
#include "reorder/reorder.h"

#include <stdlib.h>
#include <string.h>

void stretto_traffic_free(stretto_traffic *t) {
    free(t->start);
    free(t->to);
    free(t->weight);
    free(t->dims);
    free(t->periods);
    *t = (stretto_traffic){0};
}

typedef struct {
    int64_t *start;
    int *to;
    int64_t *weight;
} rows;

static bool make_rows(rows *r, int n, int64_t entries) {
    r->start = calloc((size_t)n + 2, sizeof *r->start);
    r->to = malloc(((size_t)entries + 1) * sizeof *r->to);
    r->weight = malloc(((size_t)entries + 1) * sizeof *r->weight);
    return r->start && r->to && r->weight;
}

static void free_rows(rows *r) {
    free(r->start);
    free(r->to);
    free(r->weight);
}

/* Both directions of each edge, but for those of a process to itself. */
static void fill(rows *r, int n, int64_t nedges, const int *edges) {
    for (int64_t e = 0; e < nedges; e++) {
        const int from = edges[3 * e], to = edges[3 * e + 1];
        if (from == to)
            continue;
        r->start[from + 2]++;
        r->start[to + 2]++;
    }
    for (int v = 0; v < n; v++)
        r->start[v + 2] += r->start[v + 1];
    for (int64_t e = 0; e < nedges; e++) {
        const int from = edges[3 * e], to = edges[3 * e + 1], weight = edges[3 * e + 2];
        if (from == to)
            continue;
        r->to[r->start[from + 1]] = to;
        r->weight[r->start[from + 1]++] = weight;
        r->to[r->start[to + 1]] = from;
        r->weight[r->start[to + 1]++] = weight;
    }
}

/* The same matrix once more, each row in ascending order now: it is its own transpose. */
static void sort(const rows *from, rows *to, int n) {
    for (int v = 0; v < n; v++)
        to->start[v + 2] = from->start[v + 1];
    for (int v = 0; v < n; v++)
        for (int64_t i = from->start[v]; i < from->start[v + 1]; i++) {
            const int64_t at = to->start[from->to[i] + 1]++;
            to->to[at] = v;
            to->weight[at] = from->weight[i];
        }
}

/* Several edges between two processes become one. */
static void merge(rows *r, int n) {
    int64_t used = 0, begin = 0;
    for (int v = 0; v < n; v++) {
        const int64_t end = r->start[v + 1], first = used;
        for (int64_t i = begin; i < end; i++) {
            if (used > first && r->to[used - 1] == r->to[i]) {
                r->weight[used - 1] += r->weight[i];
                continue;
            }
            r->to[used] = r->to[i];
            r->weight[used++] = r->weight[i];
        }
        begin = end;
        r->start[v + 1] = used;
    }
}

bool stretto_traffic_of_edges(stretto_traffic *t, int n, int64_t nedges, const int *edges) {
    rows unsorted = {0}, sorted = {0};
    *t = (stretto_traffic){.n = n};
    if (!make_rows(&unsorted, n, 2 * nedges) || !make_rows(&sorted, n, 2 * nedges)) {
        free_rows(&unsorted);
        free_rows(&sorted);
        return false;
    }
    fill(&unsorted, n, nedges, edges);
    sort(&unsorted, &sorted, n);
    merge(&sorted, n);
    free_rows(&unsorted);
    for (int64_t e = 0; e < nedges; e++)
        t->total += edges[3 * e + 2];
    t->start = sorted.start;
    t->to = sorted.to;
    t->weight = sorted.weight;
    return true;
}

bool stretto_traffic_of_grid(stretto_traffic *t, int ndims, const int *dims, const int *periods) {
    const size_t bytes = (size_t)ndims * sizeof *dims;
    int n = 1;
    for (int d = 0; d < ndims; d++)
        n *= dims[d];
    *t = (stretto_traffic){0};
    int *edges = malloc(3 * (size_t)n * (size_t)ndims * sizeof *edges + 1);
    int *own_dims = malloc(bytes + 1), *own_periods = malloc(bytes + 1);
    int64_t nedges = 0;
    for (int d = 0, block = n; edges && d < ndims; d++) {
        const int stride = block / dims[d]; /* from a process to the next in this dimension */
        for (int v = 0; v < n; v++) {
            const bool last = v % block / stride == dims[d] - 1;
            if (last && !periods[d])
                continue;
            edges[3 * nedges] = v;
            edges[3 * nedges + 1] = last ? v - (dims[d] - 1) * stride : v + stride;
            edges[3 * nedges++ + 2] = 1;
        }
        block = stride;
    }
    if (!edges || !own_dims || !own_periods || !stretto_traffic_of_edges(t, n, nedges, edges)) {
        free(edges);
        free(own_dims);
        free(own_periods);
        return false;
    }
    free(edges);
    t->ndims = ndims;
    t->dims = memcpy(own_dims, dims, bytes);
    t->periods = memcpy(own_periods, periods, bytes);
    return true;
}

int64_t stretto_traffic_between(const stretto_traffic *t, const int *group) {
    int64_t twice = 0;
    for (int v = 0; v < t->n; v++)
        for (int64_t i = t->start[v]; i < t->start[v + 1]; i++)
            if (group[t->to[i]] != group[v])
                twice += t->weight[i];
    return twice / 2;
}
