/* Sample graphs by name: see graph.h. Empty in the libraries that applications load. */
#ifdef STRETTO_PLAN_LIBRARY
#include "plan/graph.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = 4, MOST_SLOTS = 1 << 24 };

/* The edges as they are found, and then the in-slots in any order. */
typedef struct {
    int nranks, n, capacity;
    int *from, *to, *slot; /* slot: in-slot at `to`, or -1: the next one that is free */
    bool failed;
} edge_list;

static void add(edge_list *l, int from, int to, int slot) {
    if (l->n == l->capacity) {
        int larger = l->capacity ? 2 * l->capacity : 64;
        int *array = larger > MOST_SLOTS ? NULL : malloc(3 * (size_t)larger * sizeof *array);
        if (!array) {
            l->failed = true;
            return;
        }
        for (int i = 0; i < l->n; i++) {
            array[i] = l->from[i];
            array[larger + i] = l->to[i];
            array[2 * larger + i] = l->slot[i];
        }
        free(l->from);
        l->from = array;
        l->to = array + larger;
        l->slot = array + 2 * larger;
        l->capacity = larger;
    }
    l->from[l->n] = from;
    l->to[l->n] = to;
    l->slot[l->n++] = slot;
}

/* From edges sorted by `from`. `degree`: in-slots of every rank, -1: as many as edges come. */
static bool finish(stretto_graph_store *store, const edge_list *l, int degree) {
    int ins = 0;
    for (int i = 0; i < l->n; i++)
        ins += l->to[i] >= 0;
    if (l->failed ||
        !stretto_graph_reserve(store, l->nranks, l->n, degree < 0 ? ins : degree * l->nranks))
        return false;
    int *out_start = (int *)store->graph.out_start, *out_to = (int *)store->graph.out_to;
    int *in_start = (int *)store->graph.in_start, *in_edge = (int *)store->graph.in_edge;
    for (int i = 0; i < l->n; i++) {
        out_start[l->from[i] + 1]++;
        out_to[i] = l->to[i];
        if (degree < 0 && l->to[i] >= 0)
            in_start[l->to[i] + 1]++;
    }
    for (int r = 0; r < l->nranks; r++) {
        out_start[r + 1] += out_start[r];
        in_start[r + 1] = degree < 0 ? in_start[r + 1] + in_start[r] : (r + 1) * degree;
    }
    for (int i = 0; i < l->n; i++) {
        if (l->to[i] < 0)
            continue;
        int at = in_start[l->to[i]];
        if (l->slot[i] >= 0)
            at += l->slot[i];
        while (l->slot[i] < 0 && in_edge[at] >= 0)
            at++;
        in_edge[at] = i;
    }
    return true;
}

/* Dimension d of every rank: first out-slot to the lower, then to the higher neighbour; what goes
 * down comes from above. */
static void cartesian(edge_list *l, const int *sizes, int ndims, bool periodic) {
    for (int r = 0; r < l->nranks; r++) {
        int stride = l->nranks;
        for (int d = 0; d < ndims; d++) {
            stride /= sizes[d];
            const int at = r / stride % sizes[d];
            for (int up = 0; up < 2; up++) {
                int next = at + (up ? 1 : -1);
                bool there = periodic || (next >= 0 && next < sizes[d]);
                next = (next + sizes[d]) % sizes[d];
                add(l, r, there ? r + (next - at) * stride : -1, 2 * d + !up);
            }
        }
    }
}

/* As even as it goes, the largest first. */
static void even(int nranks, int ndims, int *sizes) {
    for (int d = 0; d < ndims; d++)
        sizes[d] = 1;
    for (int left = nranks; left > 1;) {
        int largest = left; /* prime factors from the largest on: found by dividing all out */
        for (int n = left, g = 2; n > 1; g++)
            while (n % g == 0) {
                n /= g;
                largest = g;
            }
        int least = 0;
        for (int d = 1; d < ndims; d++)
            if (sizes[d] < sizes[least])
                least = d;
        sizes[least] *= largest;
        left /= largest;
    }
    for (int d = 0; d < ndims; d++)
        for (int e = d + 1; e < ndims; e++)
            if (sizes[e] > sizes[d]) {
                int size = sizes[d];
                sizes[d] = sizes[e];
                sizes[e] = size;
            }
}

/* "(4x2)" to its end; how many, or -1. */
static int parse_sizes(const char *text, int nranks, int *sizes) {
    long product = 1;
    int n = 0;
    char end = '(';
    for (; end != ')'; n++) {
        char *after;
        if (n == MOST_DIMENSIONS || *text != (n ? 'x' : '(') || text[1] < '0' || text[1] > '9')
            return -1;
        long size = strtol(text + 1, &after, 10);
        if (size < 1 || size > nranks || (product *= size) > nranks)
            return -1;
        sizes[n] = (int)size;
        end = *after;
        text = after;
    }
    return text[1] == '\0' && product == nranks ? n : -1;
}

static unsigned below(uint64_t *state, unsigned n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % n;
}

/* Rank P / 2 has no edges; slots that lead nowhere in between. */
static void random_edges(edge_list *l, uint64_t seed) {
    const int p = l->nranks, alone = p > 2 ? p / 2 : -1;
    uint64_t state = seed * 2 + 1;
    below(&state, 2);
    for (int r = 0; r < p; r++) {
        int degree = r == alone ? 0 : (int)below(&state, p < 5 ? (unsigned)p + 2 : 7);
        for (int i = 0; i < degree; i++) {
            int to = below(&state, 12) == 0       ? -1
                     : i && below(&state, 6) == 0 ? l->to[l->n - 1]
                                                  : (int)below(&state, (unsigned)p);
            add(l, r, to == alone ? r : to, -1);
        }
    }
}

/* The slots of a random graph come in any order. */
static void shuffle_ins(stretto_graph_store *store, uint64_t seed) {
    int *in_edge = (int *)store->graph.in_edge;
    uint64_t state = seed * 2 + 77;
    for (int r = 0; r < store->graph.nranks; r++) {
        const int first = store->graph.in_start[r], n = store->graph.in_start[r + 1] - first;
        for (int i = n - 1; i > 0; i--) {
            int j = (int)below(&state, (unsigned)i + 1), edge = in_edge[first + i];
            in_edge[first + i] = in_edge[first + j];
            in_edge[first + j] = edge;
        }
    }
}

int stretto_graph_sample(stretto_graph_store *store, const char *name, int nranks, char *error,
                         size_t error_size) {
    edge_list l = {.nranks = nranks};
    int sizes[MOST_DIMENSIONS], ndims = 0, degree = -1, used = 0;
    unsigned seed = 0;
    const bool torus = strncmp(name, "torus", 5) == 0, grid = strncmp(name, "grid", 4) == 0;
    bool known = true, shuffled = false;
    memset(store, 0, sizeof *store);
    if (torus || grid) {
        const char *rest = name + (torus ? 5 : 4);
        ndims = *rest >= '1' && *rest <= '4' && !rest[1] ? *rest - '0' : 0;
        if (ndims)
            even(nranks, ndims, sizes);
        else
            ndims = parse_sizes(rest, nranks, sizes);
        known = ndims > 0;
        degree = 2 * ndims;
        if (known)
            cartesian(&l, sizes, ndims, torus);
    } else if (sscanf(name, "random(%u)%n", &seed, &used) == 1 && used && !name[used]) {
        random_edges(&l, seed);
        shuffled = true;
    } else if (strcmp(name, "star") == 0) {
        for (int r = 0; r < nranks; r++)
            for (int to = r ? 0 : 1; to < (r ? 1 : nranks); to++)
                add(&l, r, to, -1);
    } else if (strcmp(name, "cycle") == 0) {
        for (int r = 0; r < nranks; r++)
            add(&l, r, (r + 1) % nranks, -1);
    } else if (strcmp(name, "all") == 0) {
        for (int r = 0; r < nranks; r++)
            for (int to = 0; to < nranks; to++)
                add(&l, r, to, -1);
    } else {
        known = strcmp(name, "none") == 0;
    }
    int status = known && finish(store, &l, degree) ? 0 : -1;
    if (!known)
        snprintf(error, error_size,
                 "there is no graph '%.60s' of %d ranks; there are grid(4x2), torus(4x2) (as many "
                 "ranks as there are), grid1 to grid4, torus1 to torus4, star, cycle, all, none, "
                 "random(7)",
                 name, nranks);
    else if (status)
        snprintf(error, error_size, "out of memory");
    else if (shuffled)
        shuffle_ins(store, seed);
    free(l.from);
    return status;
}

#else
typedef int stretto_graph_sample_is_elsewhere; /* ISO C wants a declaration */
#endif
