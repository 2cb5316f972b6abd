/* See partition.h. Recursive bisection: half of the parts, with as many processes as they hold, is
 * separated from the other half, and so on. A first half is found by growing it from one process,
 * or in a grid by a straight cut; then processes are exchanged between the halves after Fiduccia
 * and Mattheyses (DAC 1982), which goes through worse divisions to better ones. At last the same
 * exchange goes over each pair of parts that are neighbours.
 *
 * Nothing is random, and nothing depends on time: work is limited by counting it.
 */
#include "reorder/partition.h"

#include <stdlib.h>
#include <string.h>

enum {
    PASSES = 6,     /* of an exchange between two halves, at most */
    PATIENCE = 100, /* exchanges without a better division that end a pass */
    ROUNDS = 3,     /* over all pairs of parts */
    OUTSIDE = 2     /* side of what is not divided now */
};
static const int64_t MOST_WORK = 30000000; /* neighbours looked at in rounds over pairs */

struct stretto_partitioner {
    const stretto_traffic *t;
    unsigned char *side; /* [n] 0, 1 or OUTSIDE */
    int64_t *gain;       /* [n] what moving it to the other side saves */
    int *heap[2];        /* [n] processes that may leave a side, the largest gain first */
    int size[2];
    int *at;    /* [n] place in the heap; -1: in none */
    int *moved; /* [n] in order */
    int *best;  /* [n] of several first halves */
    int *other; /* [n] scratch */
    int *start; /* [n + 1] of each part in `members` */
    int *members;
    int *seen; /* [n] of each part: the last one that it was found from */
    int64_t work;
};

void stretto_partitioner_free(stretto_partitioner *p) {
    if (!p)
        return;
    free(p->side);
    free(p->gain);
    free(p->heap[0]);
    free(p);
}

stretto_partitioner *stretto_partitioner_make(const stretto_traffic *t) {
    const size_t n = (size_t)t->n + 1;
    stretto_partitioner *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->t = t;
    p->side = malloc(n);
    p->gain = malloc(n * sizeof *p->gain);
    p->heap[0] = malloc(9 * n * sizeof *p->heap[0]);
    if (!p->side || !p->gain || !p->heap[0]) {
        stretto_partitioner_free(p);
        return NULL;
    }
    memset(p->side, OUTSIDE, n);
    p->heap[1] = p->heap[0] + n;
    p->at = p->heap[1] + n;
    p->moved = p->at + n;
    p->best = p->moved + n;
    p->other = p->best + n;
    p->start = p->other + n;
    p->members = p->start + n;
    p->seen = p->members + n;
    memset(p->at, 0xff, n * sizeof *p->at);
    return p;
}

/* ---- a heap of processes --------------------------------------------------------------------- */

static bool before(const stretto_partitioner *p, int a, int b) {
    return p->gain[a] != p->gain[b] ? p->gain[a] > p->gain[b] : a < b;
}

static void sift(stretto_partitioner *p, int side, int i) {
    int *heap = p->heap[side];
    const int v = heap[i], size = p->size[side];
    for (; i > 0 && before(p, v, heap[(i - 1) / 2]); i = (i - 1) / 2) {
        heap[i] = heap[(i - 1) / 2];
        p->at[heap[i]] = i;
    }
    for (int child; (child = 2 * i + 1) < size; i = child) {
        child += child + 1 < size && before(p, heap[child + 1], heap[child]);
        if (!before(p, heap[child], v))
            break;
        heap[i] = heap[child];
        p->at[heap[i]] = i;
    }
    heap[i] = v;
    p->at[v] = i;
}

static void put(stretto_partitioner *p, int side, int v) {
    const int i = p->size[side]++;
    p->heap[side][i] = v;
    sift(p, side, i);
}

static int take(stretto_partitioner *p, int side) {
    const int v = p->heap[side][0], last = p->heap[side][--p->size[side]];
    p->at[v] = -1;
    if (last != v) {
        p->heap[side][0] = last;
        sift(p, side, 0);
    }
    return v;
}

static void empty(stretto_partitioner *p) {
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < p->size[side]; i++)
            p->at[p->heap[side][i]] = -1;
        p->size[side] = 0;
    }
}

/* ---- two sides ------------------------------------------------------------------------------- */

static int64_t gain_of(stretto_partitioner *p, int v) {
    const stretto_traffic *t = p->t;
    int64_t gain = 0;
    for (int64_t i = t->start[v]; i < t->start[v + 1]; i++) {
        const unsigned char side = p->side[t->to[i]];
        if (side != OUTSIDE)
            gain += side == p->side[v] ? -t->weight[i] : t->weight[i];
    }
    p->work += t->start[v + 1] - t->start[v] + 1;
    return gain;
}

/* To the other side, with what that means for its neighbours' gains. */
static void move(stretto_partitioner *p, int v) {
    const stretto_traffic *t = p->t;
    const unsigned char side = p->side[v] = (unsigned char)!p->side[v];
    p->gain[v] = -p->gain[v];
    p->work += t->start[v + 1] - t->start[v] + 1;
    for (int64_t i = t->start[v]; i < t->start[v + 1]; i++) {
        const int u = t->to[i];
        if (p->side[u] == OUTSIDE)
            continue;
        p->gain[u] += 2 * (p->side[u] == side ? -t->weight[i] : t->weight[i]);
        if (p->at[u] >= 0)
            sift(p, p->side[u], p->at[u]);
    }
}

/* One pass: exchanges the best two, whether that gains or not, each process once, and takes back
 * what came after the best division. Returns what was gained. */
static int64_t pass(stretto_partitioner *p, const int *list, int m) {
    int64_t gained = 0, most = 0;
    int moves = 0, kept = 0;
    for (int i = 0; i < m; i++)
        p->gain[list[i]] = gain_of(p, list[i]);
    for (int i = 0; i < m; i++)
        put(p, p->side[list[i]], list[i]);
    while (p->size[0] && p->size[1] && moves - kept < 2 * PATIENCE) {
        const int left = p->heap[0][0], right = p->heap[1][0];
        int side = before(p, right, left);
        for (int k = 0; k < 2 && p->size[side]; k++, side = !side) {
            const int v = take(p, side);
            gained += p->gain[v];
            move(p, v);
            p->moved[moves++] = v;
        }
        if (moves % 2 == 0 && gained > most) {
            most = gained;
            kept = moves;
        }
    }
    empty(p);
    for (int i = moves; i-- > kept;)
        p->side[p->moved[i]] = (unsigned char)!p->side[p->moved[i]];
    return most;
}

static int64_t exchange(stretto_partitioner *p, const int *list, int m) {
    int64_t gained = 0, more = 1;
    for (int k = 0; k < PASSES && more > 0; k++)
        gained += more = pass(p, list, m);
    return gained;
}

/* Twice the weight between the sides. */
static int64_t between(const stretto_partitioner *p, const int *list, int m) {
    const stretto_traffic *t = p->t;
    int64_t sum = 0;
    for (int k = 0; k < m; k++)
        for (int64_t i = t->start[list[k]]; i < t->start[list[k] + 1]; i++)
            if (p->side[t->to[i]] == !p->side[list[k]])
                sum += t->weight[i];
    return sum;
}

/* ---- first halves ---------------------------------------------------------------------------- */

/* The process of side 1 that is the most steps away from v, of several the first. */
static int farthest(stretto_partitioner *p, int v) {
    const stretto_traffic *t = p->t;
    int *queue = p->other, head = 0, tail = 0;
    queue[tail++] = v;
    p->at[v] = 0; /* mark */
    while (head < tail) {
        const int u = queue[head++];
        for (int64_t i = t->start[u]; i < t->start[u + 1]; i++)
            if (p->side[t->to[i]] == 1 && p->at[t->to[i]] < 0) {
                p->at[t->to[i]] = 0;
                queue[tail++] = t->to[i];
            }
    }
    for (int i = 0; i < tail; i++)
        p->at[queue[i]] = -1;
    return queue[tail - 1];
}

/* Side 0 becomes n0 processes around the seed; all are on side 1. */
static void grow(stretto_partitioner *p, const int *list, int m, int n0, int seed) {
    const stretto_traffic *t = p->t;
    const int64_t touched = 4 * t->total + 1; /* neighbours first, whatever their gains */
    for (int i = 0; i < m; i++)
        p->gain[list[i]] = gain_of(p, list[i]) - touched;
    p->gain[seed] += 2 * touched;
    for (int i = 0; i < m; i++)
        put(p, 1, list[i]);
    for (int k = 0; k < n0; k++) {
        const int v = take(p, 1);
        for (int64_t i = t->start[v]; i < t->start[v + 1]; i++) {
            const int u = t->to[i];
            if (p->at[u] >= 0 && p->gain[u] < -touched / 2) {
                p->gain[u] += touched;
                sift(p, 1, p->at[u]);
            }
        }
        move(p, v);
    }
    empty(p);
}

/* Side 0 becomes the first n0 processes along dimension d. A counting sort by coordinate. */
static void cut_straight(stretto_partitioner *p, const int *list, int m, int n0, int d) {
    const stretto_traffic *t = p->t;
    int stride = 1, *count = p->other;
    for (int i = t->ndims - 1; i > d; i--)
        stride *= t->dims[i];
    memset(count, 0, (size_t)(t->dims[d] + 1) * sizeof *count);
    for (int i = 0; i < m; i++)
        count[list[i] / stride % t->dims[d] + 1]++;
    for (int i = 0; i < t->dims[d]; i++)
        count[i + 1] += count[i];
    for (int i = 0; i < m; i++)
        p->side[list[i]] = count[list[i] / stride % t->dims[d]]++ >= n0;
}

static void all_on_side_1(stretto_partitioner *p, const int *list, int m) {
    for (int i = 0; i < m; i++)
        p->side[list[i]] = 1;
}

/* Divides list into n0 processes of side 0 and the others: the best of several ways. */
static void bisect(stretto_partitioner *p, const int *list, int m, int n0) {
    const int ways = p->t->ndims ? p->t->ndims : 2;
    int64_t least = -1;
    int seed = list[0];
    for (int way = 0; way < ways; way++) {
        all_on_side_1(p, list, m);
        if (p->t->ndims) {
            cut_straight(p, list, m, n0, way);
        } else {
            seed = farthest(p, seed);
            grow(p, list, m, n0, seed);
        }
        exchange(p, list, m);
        const int64_t sum = between(p, list, m);
        if (least >= 0 && sum >= least)
            continue;
        least = sum;
        for (int i = 0; i < m; i++)
            p->best[list[i]] = p->side[list[i]];
    }
    for (int i = 0; i < m; i++)
        p->side[list[i]] = (unsigned char)p->best[list[i]];
}

/* Side 0 to the front of list, the order kept. */
static void separate(stretto_partitioner *p, int *list, int m) {
    int front = 0, back = 0;
    for (int i = 0; i < m; i++) {
        if (p->side[list[i]])
            p->other[back++] = list[i];
        else
            list[front++] = list[i];
    }
    memcpy(list + front, p->other, (size_t)back * sizeof *list);
}

void stretto_partition(stretto_partitioner *p, int *list, int m, int nparts, const int *size,
                       int first, int *part) {
    if (nparts == 1) {
        for (int i = 0; i < m; i++)
            part[list[i]] = first;
        return;
    }
    int half = 1, n0 = size[0];
    while (half < nparts - 1 && n0 + size[half] / 2 < m / 2 + m % 2)
        n0 += size[half++];
    bisect(p, list, m, n0);
    separate(p, list, m);
    for (int i = 0; i < m; i++)
        p->side[list[i]] = OUTSIDE;
    stretto_partition(p, list, n0, half, size, first, part);
    stretto_partition(p, list + n0, m - n0, nparts - half, size + half, first + half, part);
}

/* ---- pairs of parts -------------------------------------------------------------------------- */

/* Exchanges between parts a < b, whose members' places in p->members stay theirs together. */
static bool exchange_pair(stretto_partitioner *p, int a, int b, int first, int *part) {
    const int na = p->start[a + 1] - p->start[a], nb = p->start[b + 1] - p->start[b];
    int *both = p->other, n[2] = {0, 0};
    memcpy(both, p->members + p->start[a], (size_t)na * sizeof *both);
    memcpy(both + na, p->members + p->start[b], (size_t)nb * sizeof *both);
    for (int i = 0; i < na + nb; i++)
        p->side[both[i]] = i >= na;
    const bool better = exchange(p, both, na + nb) > 0;
    for (int i = 0; i < na + nb; i++) {
        const int v = both[i], side = p->side[v];
        if (better) {
            p->members[p->start[side ? b : a] + n[side]++] = v;
            part[v] = first + (side ? b : a);
        }
        p->side[v] = OUTSIDE;
    }
    return better;
}

static void list_members(stretto_partitioner *p, const int *list, int m, int nparts, int first,
                         const int *part) {
    memset(p->start, 0, (size_t)(nparts + 1) * sizeof *p->start);
    for (int i = 0; i < m; i++)
        p->start[part[list[i]] - first + 1]++;
    for (int a = 0; a < nparts; a++)
        p->start[a + 1] += p->start[a];
    memcpy(p->other, p->start, (size_t)nparts * sizeof *p->other);
    for (int i = 0; i < m; i++)
        p->members[p->other[part[list[i]] - first]++] = list[i];
}

/* The parts above a to which something goes from it, each once, into p->best, free meanwhile. */
static int partners(stretto_partitioner *p, int a, int nparts, int first, const int *part) {
    const stretto_traffic *t = p->t;
    int n = 0;
    for (int k = p->start[a]; k < p->start[a + 1]; k++) {
        const int v = p->members[k];
        for (int64_t i = t->start[v]; i < t->start[v + 1]; i++) {
            const int b = part[t->to[i]] - first;
            if (b > a && b < nparts && p->seen[b] != a) {
                p->seen[b] = a;
                p->best[n++] = b;
            }
        }
    }
    return n;
}

void stretto_partition_refine(stretto_partitioner *p, const int *list, int m, int nparts, int first,
                              int *part) {
    bool better = nparts > 1;
    list_members(p, list, m, nparts, first, part);
    p->work = 0;
    for (int round = 0; better && round < ROUNDS; round++) {
        better = false;
        memset(p->seen, 0xff, (size_t)nparts * sizeof *p->seen);
        for (int a = 0; a < nparts && p->work < MOST_WORK; a++) {
            const int n = partners(p, a, nparts, first, part);
            for (int k = 0; k < n; k++)
                better |= exchange_pair(p, a, p->best[k], first, part);
        }
    }
}
