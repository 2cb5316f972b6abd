/* The communicators the engine knows: a hash table from handle to state.
 *
 * Look-up is on the path of every call: open addressing, no lock, at most a few loads. Entries are
 * published with release stores; writers hold a mutex. An entry disappears when the application
 * frees the communicator, which an attribute's delete callback reports however that is done (also
 * from inside the MPI or from Fortran), so that a handle that is used again never finds the state
 * of its predecessor.
 */
#include "engine/engine.h"
#include "engine/channels.h"
#include "engine/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    _Atomic uint64_t key; /* 0 = never used, TOMB = removed */
    _Atomic(stretto_comm *) state;
} slot;

typedef struct table {
    uint64_t mask;
    uint64_t used;       /* slots that are not free, tombs included */
    struct table *older; /* kept until the end: a reader may still be in it */
    slot slots[];
} comm_table;

static const uint64_t TOMB = ~(uint64_t)0;
static _Atomic(comm_table *) current;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static int keyval = 0;
static _Atomic int holding; /* communicators with resources */
STRETTO_TLS int setting_up; /* an MPI may call MPI_* of its own inside; those go straight through */
/* Key of that which is being freed, or whose freeing failed with an error handler that never
 * returned; 0: none. */
STRETTO_TLS uint64_t closing;

_Thread_local __attribute__((tls_model("initial-exec"))) stretto_comm *stretto_counting;

static inline uint64_t key_of(MPI_Comm comm) {
    uint64_t key = 0;
    memcpy(&key, &comm, sizeof comm);
    return key + 1 == 0 || key == 0 ? 1 : key;
}

static inline uint64_t place(uint64_t key) {
    return (key * 0x9e3779b97f4a7c15u) >> 20;
}

STRETTO_HOT stretto_comm *stretto_comm_find(MPI_Comm comm) {
    comm_table *table = atomic_load_explicit(&current, memory_order_acquire);
    uint64_t key = key_of(comm);
    for (uint64_t i = place(key);; i++) {
        slot *s = &table->slots[i & table->mask];
        uint64_t found = atomic_load_explicit(&s->key, memory_order_acquire);
        if (STRETTO_LIKELY(found == key))
            return atomic_load_explicit(&s->state, memory_order_acquire);
        if (found == 0)
            return NULL;
    }
}

static comm_table *new_table(uint64_t size, comm_table *older) {
    comm_table *table = calloc(1, sizeof *table + size * sizeof(slot));
    if (table) {
        table->mask = size - 1;
        table->older = older;
    }
    return table;
}

void stretto_comms_init(void) {
    if (!atomic_load(&current))
        atomic_store(&current, new_table(256, NULL));
}

int stretto_comms_count(void) {
    return atomic_load(&holding);
}

/* With `writing` held and room in the table. */
static void put(comm_table *table, uint64_t key, stretto_comm *c) {
    uint64_t i = place(key);
    for (;; i++) {
        uint64_t found = atomic_load(&table->slots[i & table->mask].key);
        if (found == 0 || found == TOMB || found == key)
            break;
    }
    slot *s = &table->slots[i & table->mask];
    if (atomic_load(&s->key) == 0)
        table->used++;
    atomic_store_explicit(&s->state, c, memory_order_release);
    atomic_store_explicit(&s->key, key, memory_order_release);
}

static bool insert(stretto_comm *c) {
    bool well = true;
    pthread_mutex_lock(&writing);
    comm_table *table = atomic_load(&current);
    if (2 * (table->used + 1) > table->mask + 1) {
        uint64_t live = 0;
        for (uint64_t i = 0; i <= table->mask; i++) {
            uint64_t key = atomic_load(&table->slots[i].key);
            live += key != 0 && key != TOMB;
        }
        uint64_t size = table->mask + 1;
        while (4 * (live + 1) > size)
            size *= 2;
        comm_table *next = new_table(size, NULL);
        if (!next) {
            well = false;
        } else {
            for (uint64_t i = 0; i <= table->mask; i++) {
                uint64_t key = atomic_load(&table->slots[i].key);
                if (key != 0 && key != TOMB)
                    put(next, key, atomic_load(&table->slots[i].state));
            }
            next->older = table;
            atomic_store_explicit(&current, next, memory_order_release);
            table = next;
        }
    }
    if (well)
        put(table, key_of(c->comm), c);
    pthread_mutex_unlock(&writing);
    return well;
}

void stretto_comms_each(void (*f)(const stretto_comm *c)) {
    pthread_mutex_lock(&writing);
    comm_table *table = atomic_load(&current);
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        const stretto_comm *c = atomic_load(&table->slots[i].state);
        if (c)
            f(c);
    }
    pthread_mutex_unlock(&writing);
}

static stretto_comm *take_out(MPI_Comm comm) {
    stretto_comm *c = NULL;
    pthread_mutex_lock(&writing);
    comm_table *table = atomic_load(&current);
    uint64_t key = key_of(comm);
    for (uint64_t i = place(key);; i++) {
        slot *s = &table->slots[i & table->mask];
        uint64_t found = atomic_load(&s->key);
        if (found == 0)
            break;
        if (found == key) {
            c = atomic_load(&s->state);
            atomic_store(&s->key, TOMB);
            atomic_store(&s->state, NULL);
            break;
        }
    }
    pthread_mutex_unlock(&writing);
    return c;
}

/* What was issued on it is completed first: freeing is collective, so every rank has issued it. */
static void discard(stretto_comm *c, bool free_shadow) {
    if (stretto_counting == c)
        stretto_counting = NULL;
    if (stretto_the_world.nonblocking) {
        stretto_outstanding_drain(c);
        /* the helper may still be about to take c off its list; who comes later finds it gone */
        stretto_outstanding_lock();
        stretto_outstanding_unlock();
        stretto_operations_left(c);
    }
    const bool unused = stretto_channels_abandon(c, free_shadow);
    free_shadow = free_shadow && unused;
    c->is_broken |= !unused;
    /* A shadow that is left to the MPI stays one of the communicators that are ours: the MPI has
     * only so many, and the program is to have the rest. */
    if (c->holds && (free_shadow || !c->has_shadow || (c->kept && !c->is_broken)))
        atomic_fetch_sub(&holding, 1);
    stretto_comm_teardown(c, free_shadow);
    free(c);
}

/* Called by the MPI when comm is freed, in any way. The shadow is not freed here, because a
 * callback must not start a collective. stretto_comm_release has freed it if the call went through
 * Stretto. */
static int on_delete(MPI_Comm comm, int key, void *value, void *extra) {
    (void)key, (void)extra;
    stretto_comm *c = stretto_comm_find(comm);
    if (c && c == value && (c = take_out(comm)))
        discard(c, false);
    return MPI_SUCCESS;
}

/* The MPI does not take the attribute: comm is none (it was freed, say), and the MPI, which gets
 * the call next, tells that in its own words. Whatever else is wrong is this rank's alone. */
static bool is_none(int rc) {
    int kind = MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        PMPI_Error_class(rc, &kind);
    return kind == MPI_ERR_COMM;
}

/* NULL: comm is no communicator. */
static stretto_comm *create(MPI_Comm comm) {
    stretto_comm *c = calloc(1, sizeof *c);
    if (!c)
        stretto_no_memory();
    c->comm = comm;
    c->arena = -1;
    c->tag = STRETTO_FIRST_TAG;
    pthread_mutex_lock(&writing);
    if (!keyval &&
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL) != MPI_SUCCESS)
        keyval = 0;
    pthread_mutex_unlock(&writing);
    const int rc = keyval ? PMPI_Comm_set_attr(comm, keyval, c) : MPI_ERR_OTHER;
    if (is_none(rc)) {
        free(c);
        return NULL;
    }
    if (rc != MPI_SUCCESS || !insert(c))
        stretto_no_memory();
    return c;
}

static void set_up(stretto_comm *c) {
    const int error = errno; /* the application's */
    stretto_outstanding_lend();
    stretto_comm_setup(c);
    stretto_outstanding_return();
    c->holds = c->arena >= 0 || c->has_shadow;
    atomic_fetch_add(&holding, c->holds);
    errno = error;
}

static bool left_alone(MPI_Comm comm) {
    return setting_up || comm == MPI_COMM_NULL || key_of(comm) == closing;
}

STRETTO_COLD stretto_comm *stretto_comm_seen(MPI_Comm comm) {
    if (left_alone(comm))
        return NULL;
    stretto_comm *c = stretto_comm_find(comm);
    setting_up++;
    if (!c)
        c = create(comm);
    if (stretto_counting)
        stretto_comm_counted(MPI_COMM_NULL, MPI_SUCCESS);
    if (c && c->status == STRETTO_COMM_NEW) {
        if (++c->seen >= stretto_config.after)
            set_up(c);
        else
            stretto_counting = c;
    }
    setting_up--;
    return c;
}

void stretto_comm_counted(MPI_Comm comm, int rc) {
    stretto_comm *c = stretto_counting;
    stretto_counting = NULL;
    if (c->comm != comm || stretto_is_refusal(rc))
        c->seen--;
}

stretto_comm *stretto_comm_ready(MPI_Comm comm) {
    if (left_alone(comm))
        return NULL;
    stretto_comm *c = stretto_comm_find(comm);
    setting_up++;
    if (!c)
        c = create(comm);
    if (c && c->status == STRETTO_COMM_NEW) {
        set_up(c);
    }
    setting_up--;
    return c;
}

void stretto_comm_made(MPI_Comm comm) {
    if (key_of(comm) == closing) /* the handle is used again */
        closing = 0;
    if (STRETTO_LIKELY(stretto_config.after > 0) || !stretto_the_world.active)
        return;
    stretto_comm *c = stretto_comm_ready(comm);
    bool graph = false;
    for (int i = 0; c && c->status == STRETTO_COMM_READY && i < STRETTO_COLLECTIVES; i++)
        graph =
            graph || (stretto_collective_neighbor((stretto_collective)i) && c->coll[i].looked_at);
    if (graph) /* its nonblocking neighbourhood collectives cannot gather it */
        stretto_comm_graph(c);
}

uint64_t stretto_comm_closing(MPI_Comm comm) {
    const uint64_t before = closing;
    closing = key_of(comm);
    return before;
}

void stretto_comm_closed(uint64_t before) {
    closing = before;
}

void stretto_comm_release(MPI_Comm comm) {
    stretto_comm *c = comm == MPI_COMM_NULL ? NULL : take_out(comm);
    if (!c)
        return;
    setting_up++;
    PMPI_Comm_delete_attr(comm, keyval); /* finds no entry any more: nothing more happens */
    discard(c, true);
    setting_up--;
}
