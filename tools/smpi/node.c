/* Stands in for src/node where the runtime runs in SimGrid SMPI.
 *
 * Loads and stores cost nothing in a simulation, so that node phases cannot be timed there. The
 * ranks of a simulated node, threads of one process, hand their data over in a common slot; a rank
 * waits as long as the real phase would make it wait for its fellows, and then, where the job says
 * what a message within the node takes, as long as a tree of such messages would. What SMPI
 * contributes of its own to a hierarchical choice is the network phase and how the phases meet. */
#include "simulated.h"

#include <simgrid/actor.h>
#include <simgrid/cond.h>
#include <simgrid/mutex.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8 };
/* Whose data a rank waits for: a local rank's, or */
enum { NOBODY = -1, ALL = -2, UP_TO_ME = -3 };

/* One node action, from its first rank's arrival to its last one's leaving. */
typedef struct {
    int arrived, left;
    void *given[STRETTO_SIMULATED_PPN]; /* copies: the giver goes on */
} slot;

struct simulated_node {
    int nlocal;
    sg_mutex_t mutex;
    sg_cond_t changed;
    unsigned long finished; /* actions that all have left: their slots are free */
    slot slots[SLOTS];
};

struct stretto_node {
    simulated_node *group;
    int me;
    unsigned long next; /* action */
};

static void *get(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (!memory)
        abort();
    return memory;
}

simulated_node *simulated_node_new(int nlocal) {
    simulated_node *group = get(sizeof *group);
    memset(group, 0, sizeof *group);
    group->nlocal = nlocal;
    group->mutex = sg_mutex_init();
    group->changed = sg_cond_init();
    return group;
}

void simulated_node_free(simulated_node *group) {
    sg_cond_destroy(group->changed);
    sg_mutex_destroy(group->mutex);
    free(group);
}

stretto_node *simulated_node_join(simulated_node *group, int me) {
    stretto_node *node = get(sizeof *node);
    *node = (stretto_node){group, me, 0};
    return node;
}

static void *copy_of(const void *data, size_t bytes) {
    void *copy = get(simulated_folded ? 0 : bytes);
    if (bytes && !simulated_folded)
        memcpy(copy, data, bytes);
    return copy;
}

static void put(void *to, const void *from, size_t bytes) {
    if (bytes && !simulated_folded)
        memcpy(to, from, bytes);
}

static bool there(const slot *s, const stretto_node *node, int awaited) {
    if (awaited >= 0)
        return s->given[awaited] != NULL;
    for (int i = 0; awaited == UP_TO_ME && i < node->me; i++)
        if (!s->given[i])
            return false;
    return awaited != ALL || s->arrived == node->group->nlocal;
}

/* Gives a rank's data (malloc'd) and waits for others'. They stay until leave(). */
static const slot *meet(stretto_node *node, void *data, int awaited) {
    simulated_node *g = node->group;
    slot *s = &g->slots[node->next % SLOTS];
    sg_mutex_lock(g->mutex);
    while (node->next >= g->finished + SLOTS)
        sg_cond_wait(g->changed, g->mutex);
    s->given[node->me] = data;
    s->arrived++;
    sg_cond_notify_all(g->changed);
    while (!there(s, node, awaited))
        sg_cond_wait(g->changed, g->mutex);
    sg_mutex_unlock(g->mutex);
    return s;
}

static void leave(stretto_node *node) {
    simulated_node *g = node->group;
    slot *s = &g->slots[node->next++ % SLOTS];
    sg_mutex_lock(g->mutex);
    if (++s->left == g->nlocal) {
        for (int i = 0; i < g->nlocal; i++)
            free(s->given[i]);
        memset(s, 0, sizeof *s);
        g->finished++;
        sg_cond_notify_all(g->changed);
    }
    sg_mutex_unlock(g->mutex);
}

/* Levels of a binary tree of the node's ranks. */
static size_t levels(const stretto_node *node) {
    size_t n = 0;
    while ((size_t)1 << n < (size_t)node->group->nlocal)
        n++;
    return n;
}

/* Lets the time pass of a tree of messages that move so many bytes through this rank and reduce so
 * many on it. A real node phase is quicker: this is what a rank without shared memory would pay. */
static void pay(const stretto_node *node, size_t moved, size_t reduced) {
    if (simulated.hop_s <= 0 || node->group->nlocal < 2)
        return;
    sg_actor_sleep_for((double)levels(node) * simulated.hop_s +
                       (double)moved * simulated.hop_s_per_byte +
                       (double)reduced * simulated.reduce_s_per_byte);
}

/* dst = elements [first, first + count) of given[0] + ... + given[n - 1]: all reductions here are
 * sums of doubles. */
static void fold(const slot *s, int n, void *dst, size_t first, size_t count, size_t size) {
    if (n == 0 || simulated_folded)
        return;
    memcpy(dst, (const char *)s->given[0] + first * size, count * size);
    for (int i = 1; i < n; i++)
        simulated_add(dst, (const char *)s->given[i] + first * size, dst, count);
}

void stretto_node_barrier(stretto_node *node) {
    meet(node, get(0), ALL);
    pay(node, 0, 0);
    leave(node);
}

void stretto_node_bcast(stretto_node *node, void *buffer, size_t bytes, int root) {
    const bool mine = node->me == root;
    const slot *s = meet(node, mine ? copy_of(buffer, bytes) : get(0), mine ? NOBODY : root);
    if (!mine)
        put(buffer, s->given[root], bytes);
    pay(node, bytes, 0);
    leave(node);
}

void stretto_node_reduce(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                         stretto_reduce_fn reduce, int root) {
    (void)reduce;
    const bool mine = node->me == root;
    const slot *s = meet(node, copy_of(src, count * size), mine ? ALL : NOBODY);
    if (mine)
        fold(s, node->group->nlocal, dst, 0, count, size);
    pay(node, mine ? levels(node) * count * size : count * size,
        mine ? levels(node) * count * size : 0);
    leave(node);
}

void stretto_node_allreduce(stretto_node *node, const void *src, void *dst, size_t count,
                            size_t size, stretto_reduce_fn reduce) {
    (void)reduce;
    const slot *s = meet(node, copy_of(src, count * size), ALL);
    fold(s, node->group->nlocal, dst, 0, count, size);
    pay(node, levels(node) * count * size, levels(node) * count * size);
    leave(node);
}

void stretto_node_allgatherv(stretto_node *node, const void *src, void *dst, const size_t *at,
                             const size_t *bytes) {
    const slot *s = meet(node, copy_of(src, bytes[node->me]), ALL);
    size_t all = 0;
    for (int i = 0; i < node->group->nlocal; i++) {
        put((char *)dst + at[i], s->given[i], bytes[i]);
        all += bytes[i];
    }
    pay(node, all, 0);
    leave(node);
}

void stretto_node_allgather(stretto_node *node, const void *src, void *dst, size_t bytes) {
    const slot *s = meet(node, copy_of(src, bytes), ALL);
    for (int i = 0; i < node->group->nlocal; i++)
        put((char *)dst + (size_t)i * bytes, s->given[i], bytes);
    pay(node, (size_t)node->group->nlocal * bytes, 0);
    leave(node);
}

void stretto_node_alltoall(stretto_node *node, const void *src, void *dst, size_t bytes) {
    const size_t all = (size_t)node->group->nlocal * bytes;
    const slot *s = meet(node, copy_of(src ? src : dst, all), ALL);
    for (int i = 0; i < node->group->nlocal; i++)
        put((char *)dst + (size_t)i * bytes, (char *)s->given[i] + (size_t)node->me * bytes, bytes);
    pay(node, all, 0);
    leave(node);
}

/* What is given: for each rank where its block begins, and after all the end; then the blocks. */
bool stretto_node_alltoallv(stretto_node *node, const void *src, const size_t *src_at,
                            const size_t *src_bytes, void *dst, const size_t *dst_at,
                            const size_t *dst_bytes) {
    const size_t n = (size_t)node->group->nlocal, head = (n + 1) * sizeof(size_t);
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += src_bytes[i];
    char *mine = get(head + all);
    size_t *start = (size_t *)(void *)mine;
    start[0] = head;
    for (size_t i = 0; i < n; i++) {
        put(mine + start[i], (const char *)(src ? src : dst) + src_at[i], src_bytes[i]);
        start[i + 1] = start[i] + src_bytes[i];
    }
    const slot *s = meet(node, mine, ALL);
    bool all_fit = true;
    for (size_t i = 0; i < n; i++) {
        const size_t *from = s->given[i];
        const size_t comes = from[node->me + 1] - from[node->me];
        const bool fits = !dst_bytes || comes <= dst_bytes[i];
        put((char *)dst + dst_at[i], (const char *)s->given[i] + from[node->me],
            fits ? comes : dst_bytes[i]);
        all_fit &= fits;
    }
    pay(node, all, 0);
    leave(node);
    return all_fit;
}

void stretto_node_gather(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    const bool mine = node->me == root;
    const slot *s = meet(node, copy_of(src, bytes), mine ? ALL : NOBODY);
    for (int i = 0; mine && i < node->group->nlocal; i++)
        put((char *)dst + (size_t)i * bytes, s->given[i], bytes);
    pay(node, mine ? (size_t)node->group->nlocal * bytes : bytes, 0);
    leave(node);
}

void stretto_node_scatter(stretto_node *node, const void *src, void *dst, size_t bytes, int root) {
    const bool mine = node->me == root;
    void *data = mine ? copy_of(src, (size_t)node->group->nlocal * bytes) : get(0);
    const slot *s = meet(node, data, mine ? NOBODY : root);
    put(dst, (char *)s->given[root] + (size_t)node->me * bytes, bytes);
    pay(node, mine ? (size_t)node->group->nlocal * bytes : bytes, 0);
    leave(node);
}

void stretto_node_reduce_scatter(stretto_node *node, const void *src, void *dst,
                                 const size_t *counts, size_t size, stretto_reduce_fn reduce) {
    (void)reduce;
    size_t first = 0, all = 0;
    for (int i = 0; i < node->group->nlocal; i++) {
        first += i < node->me ? counts[i] : 0;
        all += counts[i];
    }
    const slot *s = meet(node, copy_of(src, all * size), ALL);
    fold(s, node->group->nlocal, dst, first, counts[node->me], size);
    pay(node, all * size, all * size);
    leave(node);
}

void stretto_node_scan(stretto_node *node, const void *src, void *dst, size_t count, size_t size,
                       stretto_reduce_fn reduce, bool exclusive) {
    (void)reduce;
    const slot *s = meet(node, copy_of(src, count * size), UP_TO_ME);
    fold(s, node->me + !exclusive, dst, 0, count, size);
    pay(node, levels(node) * count * size, levels(node) * count * size);
    leave(node);
}

void stretto_no_memory(void) {
    abort();
}

/* Nothing is under way but the call itself. */
int stretto_await_one(MPI_Request *request, MPI_Status *status) {
    return PMPI_Wait(request, status);
}

int stretto_await_all(int n, MPI_Request *requests) {
    return PMPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}
