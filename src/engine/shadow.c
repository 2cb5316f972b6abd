/* A communicator's shadow, over which our own messages go.
 *
 * Making one costs as much as making the communicator, so that of a short-lived one is kept for the
 * next communicator of the same ranks in the same order. Nobody can tell from his own frees what
 * the others have freed, so every rank offers by its number what it has left (setup.c), and it is
 * taken only when all offer the same. All of its messages were received then: whoever has left a
 * shadow had ended its calls on it. What is kept is not freed any more, since that is collective,
 * and the ranks of its group may never meet again: so there are few of them.
 */
#include "engine/shadow.h"

#include "engine/learn.h"
#include "engine/memory.h"
#include "engine/outstanding.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

struct stretto_kept_shadow {
    MPI_Comm comm;
    int64_t number;
    int nranks, *world; /* of its ranks, in their order */
    bool taken;
    struct stretto_kept_shadow *next;
    stretto_learning *learning; /* by communicators of these ranks so far, while there is none */
};

static stretto_kept_shadow *kept; /* the one that was left last first */
static int nkept;
static int64_t numbered;
static pthread_mutex_t using = PTHREAD_MUTEX_INITIALIZER;

stretto_shadow_offer stretto_shadow_offered(stretto_comm *c, const int *world) {
    stretto_shadow_offer mine = {0, 0};
    const size_t bytes = (size_t)c->nranks * sizeof *world;
    pthread_mutex_lock(&using);
    stretto_kept_shadow *k = kept;
    while (k && (k->taken || k->nranks != c->nranks || memcmp(k->world, world, bytes) != 0))
        k = k->next;
    if (k) {
        k->taken = true;
        c->kept = k;
        mine.left = k->number;
    }
    if (nkept < MOST)
        mine.next = (int64_t)(stretto_the_world.rank + 1) << 32 | ++numbered;
    pthread_mutex_unlock(&using);
    return mine;
}

static void keep(stretto_comm *c, const int *world, int64_t number) {
    const size_t bytes = (size_t)c->nranks * sizeof *world;
    stretto_kept_shadow *k = calloc(1, sizeof *k);
    int *copy = malloc(bytes);
    if (!k || !copy)
        stretto_no_memory(); /* the others keep it */
    memcpy(copy, world, bytes);
    *k = (stretto_kept_shadow){c->shadow, number, c->nranks, copy, true, NULL, NULL};
    pthread_mutex_lock(&using);
    k->next = kept;
    kept = k;
    nkept++;
    pthread_mutex_unlock(&using);
    c->kept = k;
}

void stretto_shadow_leave(stretto_comm *c, bool broken) {
    stretto_kept_shadow *k = c->kept, **at = &kept;
    if (!k)
        return;
    pthread_mutex_lock(&using);
    k->taken = broken; /* for ever: messages may still be under way in it */
    if (c->learning && !broken) {
        k->learning = c->learning;
        c->learning = NULL;
    }
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    k->next = kept;
    kept = k;
    pthread_mutex_unlock(&using);
    c->kept = NULL;
    c->has_shadow = false;
}

void stretto_shadows_each(void (*f)(const stretto_learning *list)) {
    pthread_mutex_lock(&using);
    for (const stretto_kept_shadow *k = kept; k; k = k->next)
        f(k->learning);
    pthread_mutex_unlock(&using);
}

bool stretto_shadow_take(stretto_comm *c, const int *world, const void *offers, size_t stride) {
    const stretto_shadow_offer *first = offers;
    bool same = first->left != 0, all_keep = true;
    for (int r = 0; r < c->nranks; r++) {
        const stretto_shadow_offer *o =
            (const stretto_shadow_offer *)(const void *)((const char *)offers + (size_t)r * stride);
        same = same && o->left == first->left;
        all_keep = all_keep && o->next != 0;
    }
    if (same) {
        pthread_mutex_lock(&using);
        stretto_learn_go_on(c, c->kept->learning);
        c->kept->learning = NULL;
        pthread_mutex_unlock(&using);
        c->shadow = c->kept->comm;
        return c->has_shadow = true;
    }
    stretto_shadow_leave(c, false);
    if (stretto_comm_shadow(c) && all_keep)
        keep(c, world, first->next);
    return c->has_shadow;
}

bool stretto_comm_shadow(stretto_comm *c) {
    if (c->has_shadow || c->in_threads)
        return c->has_shadow;
    /* split, not dup: dup would run the application's attribute copy callbacks. */
    stretto_outstanding_lend();
    MPI_Errhandler before = stretto_be_quiet(c->comm);
    bool made = PMPI_Comm_split(c->comm, 0, c->rank, &c->shadow) == MPI_SUCCESS;
    stretto_be_as_before(c->comm, before);
    if (made)
        PMPI_Comm_set_errhandler(c->shadow, MPI_ERRORS_RETURN);
    c->has_shadow = stretto_agree(c->comm, made);
    if (made && !c->has_shadow)
        PMPI_Comm_free(&c->shadow);
    stretto_outstanding_return();
    return c->has_shadow;
}
