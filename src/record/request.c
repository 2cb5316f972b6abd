#include "record/request.h"

#include <pthread.h>
#include <stdlib.h>

int stretto_tracked_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stretto_tracked *table;
static uint64_t mask, numbers;

static uint64_t home(uint64_t handle) {
    return stretto_mix(handle) & mask;
}

/* Where the handle is or would go. */
static stretto_tracked *place(uint64_t handle) {
    uint64_t slot = home(handle);
    while (table[slot].request && table[slot].request != handle)
        slot = (slot + 1) & mask;
    return &table[slot];
}

static bool grow(void) {
    uint64_t old_size = table ? mask + 1 : 0;
    if ((uint64_t)stretto_tracked_count * 2 < old_size)
        return true;
    stretto_tracked *old = table;
    uint64_t size = old_size ? old_size * 2 : 64;
    stretto_tracked *bigger = calloc(size, sizeof *bigger);
    if (!bigger)
        return false;
    table = bigger;
    mask = size - 1;
    for (uint64_t i = 0; i < old_size; i++)
        if (old[i].request)
            *place(old[i].request) = old[i];
    free(old);
    return true;
}

void stretto_track(MPI_Request request, const stretto_tracked *what) {
    if (request == MPI_REQUEST_NULL)
        return;
    pthread_mutex_lock(&lock);
    if (grow()) {
        stretto_tracked *at = place(STRETTO_HANDLE(request));
        if (!at->request)
            __atomic_store_n(&stretto_tracked_count, stretto_tracked_count + 1, __ATOMIC_RELAXED);
        *at = *what;
        at->request = STRETTO_HANDLE(request);
        at->number = ++numbers;
    }
    pthread_mutex_unlock(&lock);
}

void stretto_track_collective(MPI_Request request, int function, stretto_comm *comm, uint64_t key,
                              bool root, uint64_t started) {
    stretto_tracked what = {.function = function, .key = key, .started = started};
    if (comm) {
        what.comm = comm->size > 1 ? comm->id : 0;
        what.sequence = ++comm->sequence | (root ? STRETTO_EVENT_ROOT : 0);
    }
    stretto_track(request, &what);
}

bool stretto_tracked_find(MPI_Request request, stretto_tracked *what) {
    if (!__atomic_load_n(&stretto_tracked_count, __ATOMIC_RELAXED))
        return false;
    pthread_mutex_lock(&lock);
    stretto_tracked *at = place(STRETTO_HANDLE(request));
    bool found = at->request != 0;
    if (found)
        *what = *at;
    pthread_mutex_unlock(&lock);
    return found;
}

bool stretto_tracked_start(MPI_Request request, uint64_t started, stretto_tracked *what) {
    if (!__atomic_load_n(&stretto_tracked_count, __ATOMIC_RELAXED))
        return false;
    pthread_mutex_lock(&lock);
    stretto_tracked *at = place(STRETTO_HANDLE(request));
    bool found = at->request != 0;
    if (found) {
        at->started = started;
        at->starts++;
        *what = *at;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Takes out what is there and moves later entries of its chain up. */
static void take_out(stretto_tracked *at) {
    uint64_t slot = (uint64_t)(at - table);
    for (uint64_t next = (slot + 1) & mask; table[next].request; next = (next + 1) & mask)
        if (((next - home(table[next].request)) & mask) >= ((next - slot) & mask)) {
            table[slot] = table[next];
            slot = next;
        }
    table[slot].request = 0;
    __atomic_store_n(&stretto_tracked_count, stretto_tracked_count - 1, __ATOMIC_RELAXED);
}

/* NULL: it is forgotten; the MPI may have given its handle to another thread's request. */
static stretto_tracked *find_again(const stretto_tracked *what) {
    stretto_tracked *at = place(what->request);
    return at->request && at->number == what->number ? at : NULL;
}

void stretto_untrack(const stretto_tracked *what) {
    pthread_mutex_lock(&lock);
    stretto_tracked *at = find_again(what);
    if (at)
        take_out(at);
    pthread_mutex_unlock(&lock);
}

void stretto_hits_find(stretto_hits *hits, int n, const MPI_Request *requests) {
    hits->n = 0;
    hits->hits = hits->some;
    if (!__atomic_load_n(&stretto_tracked_count, __ATOMIC_RELAXED))
        return;
    int room = STRETTO_HITS;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++) {
        stretto_tracked *at;
        if (requests[i] == MPI_REQUEST_NULL ||
            !(at = place(STRETTO_HANDLE(requests[i])))->request || at->waited_for)
            continue;
        if (hits->n == room) {
            if (hits->hits != hits->some)
                break;
            stretto_hit *more = malloc((size_t)n * sizeof *more);
            if (!more)
                break;
            for (int k = 0; k < room; k++)
                more[k] = hits->some[k];
            hits->hits = more;
            room = n;
        }
        hits->hits[hits->n++] = (stretto_hit){*at, i};
        at->waited_for = true;
    }
    pthread_mutex_unlock(&lock);
}

/* The row of waiting for it: its communicator, size and the like, where it is a collective. */
static uint64_t wait_key(const stretto_tracked *what, int function) {
    const uint64_t own = 1023ull << STRETTO_KEY_FUNCTION | 1023ull << STRETTO_KEY_DETAIL;
    uint64_t key = what->sequence ? what->key & ~own : 1ull << STRETTO_KEY_USED;
    return key | ((uint64_t)function + 1) << STRETTO_KEY_FUNCTION |
           ((uint64_t)what->function + 1) << STRETTO_KEY_DETAIL;
}

uint64_t stretto_hits_done(stretto_hits *hits, const MPI_Request *requests, int function,
                           uint64_t start, uint64_t end) {
    bool all = function == STRETTO_FN_Wait || function == STRETTO_FN_Waitall;
    bool waits = all || function == STRETTO_FN_Waitany || function == STRETTO_FN_Waitsome;
    uint64_t key =
        hits->n ? wait_key(&hits->hits[0].what, function) : stretto_key(function, NULL, 0, 0, 0, 0);
    if (hits->n)
        pthread_mutex_lock(&lock);
    for (int i = 0; i < hits->n; i++) {
        const stretto_tracked *what = &hits->hits[i].what;
        stretto_tracked *at = find_again(what);
        bool over = requests[hits->hits[i].index] == MPI_REQUEST_NULL;
        if (at)
            at->waited_for = false;
        if (what->persistent) { /* its handle stays: that it is over is known where all are */
            over = all && at && at->started;
            if (over)
                at->started = 0;
        } else if (over && at)
            take_out(at);
        if (over && what->comm && waits)
            stretto_event_add(&(stretto_raw_event){what->comm, what->sequence | what->starts << 32,
                                                   wait_key(what, function), start, end,
                                                   what->started});
    }
    if (hits->n)
        pthread_mutex_unlock(&lock);
    if (hits->hits != hits->some)
        free(hits->hits);
    return key;
}

void stretto_hits_failed(stretto_hits *hits, const MPI_Request *requests) {
    stretto_hits_done(hits, requests, STRETTO_FN_Testall, 0, 0); /* as one that leaves no events */
}
