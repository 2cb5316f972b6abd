/* Who carries the outstanding collectives out, and when: see outstanding.h and operation.h.
 *
 * Whoever takes them up holds the lock: the application's thread inside its MPI calls, or the
 * helper thread, which sleeps unless the application's is inside a call of the MPI that cannot be
 * left (lent), or STRETTO_NONBLOCKING=thread.
 */
#include "engine/operation.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int stretto_outstanding;
int stretto_threads_asked;
bool stretto_threads_raised;

enum { BY_CALLS = 1, BY_THREAD = 2 };

static atomic_int locked;
static stretto_comm *under_way; /* communicators with issued collectives */
static atomic_int lent;         /* depth, of the application's thread */
static atomic_int asleep;       /* the helper waits on this word */
static atomic_bool stop;
static pthread_t helper;
static bool has_helper;

static inline bool try_lock(void) {
    return !atomic_exchange_explicit(&locked, 1, memory_order_acquire);
}

static inline void unlock(void) {
    atomic_store_explicit(&locked, 0, memory_order_release);
}

static void lock(void) {
    for (int i = 0; !try_lock(); i++)
        if (i < 100)
            stretto_relax();
        else
            sched_yield();
}

/* The application's side of the lock, which saves it where the helper has nothing to do here: with
 * BY_CALLS the helper looks, with the lock, whether anything is lent, and return() has waited for
 * it to be outside when nothing is any more. */
static bool held; /* by the application's side */

static inline bool helper_may_come(void) {
    return stretto_the_world.nonblocking != BY_CALLS ||
           atomic_load_explicit(&lent, memory_order_relaxed) > 0;
}

static inline bool enter(void) {
    if (STRETTO_LIKELY(!helper_may_come()))
        return true;
    if (held || !try_lock()) /* held: called from within, by the application's own callback */
        return false;
    return held = true;
}

void stretto_outstanding_lock(void) {
    if (!helper_may_come())
        return;
    lock();
    held = true;
}

void stretto_outstanding_unlock(void) {
    if (!held)
        return;
    held = false;
    unlock();
}

static bool go_on(stretto_operation *o, int looks) {
    if (o->posted || (!o->fibre && stretto_operation_post(o)))
        return stretto_operation_collect(o, looks);
    if (!o->fibre && !(o->fibre = stretto_fibre_new(stretto_operation_run, o)))
        stretto_no_memory(); /* the other ranks go on with it */
    if (!stretto_fibre_resume(o->fibre))
        return false;
    o->fibre = NULL;
    return true;
}

/* As far as o, the first of its communicator, goes with so many looks at what is missing; true: to
 * its end. The helper may round in another way than the application, and than who carries it out on
 * other ranks. */
static bool carry_on(stretto_operation *o, int looks) {
    const uint64_t modes = stretto_modes_now();
    if (STRETTO_LIKELY(modes == o->modes))
        return go_on(o, looks);
    stretto_modes_set(o->modes);
    const bool over = go_on(o, looks);
    stretto_modes_set(modes);
    return over;
}

/* The first of c is over. */
static void finished(stretto_comm *c) {
    stretto_operation *o = c->first;
    __atomic_store_n(&c->first, o->next, __ATOMIC_RELEASE);
    __atomic_store_n(&stretto_outstanding, stretto_outstanding - 1, __ATOMIC_RELEASE);
    /* from here on the application may give the record back */
    __atomic_store_n(&o->progress, STRETTO_DONE, __ATOMIC_RELEASE);
}

/* As far as c's collectives go; true: none is left. */
static bool advance(stretto_comm *c) {
    while (c->first) {
        if (!carry_on(c->first, 1))
            return false;
        finished(c);
    }
    return true;
}

static void advance_all(void) {
    for (stretto_comm **at = &under_way; *at;) {
        stretto_comm *c = *at;
        if (advance(c))
            *at = c->under_way;
        else
            at = &c->under_way;
    }
}

static void take_off(const stretto_comm *c) {
    stretto_comm **at = &under_way;
    while (*at != c)
        at = &(*at)->under_way;
    *at = c->under_way;
}

void stretto_outstanding_resume(void) {
    if (stretto_fibre_here() || !enter())
        return;
    advance_all();
    stretto_outstanding_unlock();
}

/* ---- the helper thread ------------------------------------------------------------------------
 */

static bool needed(void) {
    return __atomic_load_n(&stretto_outstanding, __ATOMIC_SEQ_CST) > 0 &&
           (stretto_the_world.nonblocking == BY_THREAD || atomic_load(&lent) > 0);
}

static void wake(void) {
    if (atomic_load(&asleep) && atomic_exchange(&asleep, 0))
        syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *help(void *arg) {
    (void)arg;
    while (!atomic_load(&stop)) {
        if (needed()) {
            if (try_lock()) {
                if (needed()) /* still: see helper_may_come */
                    advance_all();
                unlock();
            }
            /* whoever we wait for, our own application too, may need this core */
            sched_yield();
            continue;
        }
        atomic_store(&asleep, 1);
        if (needed() || atomic_load(&stop))
            atomic_store(&asleep, 0);
        else
            syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    }
    return NULL;
}

static bool start_helper(void) {
    sigset_t all, before;
    atomic_store(&stop, false);
    sigfillset(&all); /* signals are the application's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_helper = pthread_create(&helper, NULL, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return has_helper;
}

static void stop_helper(void) {
    if (!has_helper)
        return;
    atomic_store(&stop, true);
    wake();
    pthread_join(helper, NULL);
    has_helper = false;
}

void stretto_outstanding_lend(void) {
    if (!has_helper || stretto_fibre_here())
        return;
    if (!__atomic_load_n(&stretto_outstanding, __ATOMIC_SEQ_CST) && !atomic_load(&lent))
        return;
    atomic_fetch_add(&lent, 1);
    wake();
}

void stretto_outstanding_return(void) {
    if (stretto_fibre_here() || atomic_load(&lent) == 0)
        return;
    if (atomic_fetch_sub(&lent, 1) == 1 && stretto_the_world.nonblocking == BY_CALLS) {
        lock(); /* until the helper is outside */
        unlock();
    }
}

/* ---- issuing and waiting ----------------------------------------------------------------------
 */

void stretto_outstanding_issue(stretto_operation *o) {
    stretto_comm *c = o->c;
    const bool first = !c->first;
    o->next = NULL;
    o->progress = STRETTO_ACTIVE;
    __atomic_store_n(&stretto_outstanding, stretto_outstanding + 1, __ATOMIC_RELEASE);
    /* takes 8 ns on Zen 4 (stmxcsr), while the line that was posted travels */
    o->modes = stretto_modes_now();
    if (first) {
        c->first = c->last = o;
        /* once posted it is not looked at yet: that would take the others' lines away from who may
         * be about to write them */
        if (o->posted || !advance(c)) {
            c->under_way = under_way;
            under_way = c;
        }
    } else {
        c->last->next = o;
        c->last = o;
    }
    if (o->posted) /* by now they are most likely written, where all come at the same time */
        stretto_node_ask(c->node);
    if (stretto_the_world.nonblocking == BY_THREAD && stretto_outstanding) {
        atomic_thread_fence(memory_order_seq_cst); /* needed() is asked after `asleep` is set */
        wake();
    }
}

void stretto_outstanding_poll(stretto_operation *o) {
    if (!enter())
        return;
    stretto_comm *c = o->c;
    if (o->posted && carry_on(o, stretto_the_world.wait.spins)) { /* posted: and so active */
        finished(c);
        if (advance(c))
            take_off(c);
    }
    stretto_outstanding_unlock();
}

void stretto_outstanding_wait_step(void) {
    stretto_outstanding_progress();
    stretto_drive_mpi();
    if (stretto_the_world.wait.yield)
        sched_yield();
}

void stretto_outstanding_drain(stretto_comm *c) {
    while (__atomic_load_n(&c->first, __ATOMIC_ACQUIRE))
        stretto_outstanding_wait_step();
}

void stretto_outstanding_drain_all(void) {
    while (__atomic_load_n(&stretto_outstanding, __ATOMIC_ACQUIRE))
        stretto_outstanding_wait_step();
}

int stretto_await_one(MPI_Request *request, MPI_Status *status) {
    while (__atomic_load_n(&stretto_outstanding, __ATOMIC_RELAXED)) {
        int done, rc = PMPI_Test(request, &done, status);
        if (rc != MPI_SUCCESS || done)
            return rc;
        if (stretto_fibre_here())
            stretto_fibre_yield();
        else
            stretto_outstanding_progress();
    }
    return PMPI_Wait(request, status);
}

/* One by one: of an error, PMPI_Waitall says only that a status tells it, and MPICH's gives that to
 * the handler of MPI_COMM_WORLD; PMPI_Wait has the error's own class, and the shadow's handler. */
int stretto_await_all(int n, MPI_Request *requests) {
    int first = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        int rc = MPI_SUCCESS;
        if (requests[i] != MPI_REQUEST_NULL)
            rc = stretto_await_one(&requests[i], MPI_STATUS_IGNORE);
        first = first == MPI_SUCCESS ? rc : first;
    }
    return first;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

void stretto_outstanding_begin(void) {
    stretto_world *w = &stretto_the_world;
    int provided = MPI_THREAD_SINGLE, mine = 1, all = 0;
    w->nonblocking = 0;
    if (!stretto_config.nonblocking)
        return;
    PMPI_Query_thread(&provided);
    const bool multiple = stretto_threads_asked >= MPI_THREAD_MULTIPLE;
    /* Intel MPI 2021.18 crashed when one thread tested requests while another flushed a window */
    const bool unsafe = strcmp(stretto_host_family(), "intel") == 0;
    mine = !unsafe && provided >= MPI_THREAD_MULTIPLE && !multiple && !stretto_config.check_calls &&
           stretto_operations_reserve() && start_helper();
    if (PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS)
        all = 0;
    if (all) {
        w->nonblocking = stretto_config.nonblocking;
        stretto_helper_place(helper);
        return;
    }
    stop_helper();
    stretto_operations_release();
    if (w->rank == 0)
        stretto_say("nonblocking collectives stay with the MPI: %s",
                    unsafe                       ? "Intel MPI fails if two threads call it"
                    : multiple                   ? "the application requested MPI_THREAD_MULTIPLE"
                    : stretto_config.check_calls ? "STRETTO_CHECK_CALLS compares blocking ones only"
                    : mine                       ? "not available on all ranks"
                           : "the MPI gave no MPI_THREAD_MULTIPLE, or no memory");
}

void stretto_outstanding_end(void) {
    if (!stretto_the_world.nonblocking)
        return;
    stretto_outstanding_drain_all();
    stretto_the_world.nonblocking = 0; /* no further ones, on all ranks alike */
    /* what can be started still needs the helper while the application is inside the MPI */
    if (stretto_requests_live)
        return;
    stop_helper();
    stretto_fibres_free();
}
