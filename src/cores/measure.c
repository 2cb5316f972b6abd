/* One pair of processors, measured by two child processes that share memory. */
#include "cores/cores.h"

#include "node/xpmem.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

enum { BATCHES = 5, TRIPS = 1000, LEAST_COPIES = 3, MOST_COPIES = 33, COPIED = 8 << 20 };

/* Both processes write here what the other one needs. */
typedef struct {
    stretto_flags flags;
    cores_took took;
    pid_t pid[2];
    int64_t offer[2];
    unsigned char *own[2]; /* private memory of each */
    double last_s[2];      /* what the last copy of each took */
    bool attached[2], corrupt;
    char problem[200];
} common;

typedef struct {
    const cores_pair *pair;
    common *common;
    unsigned char *shared; /* a buffer for each side */
    unsigned char *own;    /* what the other one reads */
    unsigned char *in;     /* what copies write to */
    int side;              /* in one direction 0 writes and 1 reads */
    unsigned count;
    stretto_mapping mapping;
} process;

static void give_up(const process *p, const char *problem) {
    snprintf(p->common->problem, sizeof p->common->problem, "%s: %s", problem, strerror(errno));
    _exit(1);
}

/* Both sides have got here. */
static void meet(process *p) {
    p->count++;
    stretto_flag_raise(&p->common->flags, p->side, p->count);
    stretto_flag_await(&p->common->flags, 1 - p->side, p->count);
}

/* Of one buffer, in whole pages. */
static size_t largest(const cores_pair *pair) {
    size_t most = 1;
    for (int i = 0; i < pair->sizes; i++)
        most = pair->size[i] > most ? pair->size[i] : most;
    return (most + 4095) / 4096 * 4096;
}

static void pin(const process *p) {
    int cpu = p->pair->cpu[p->side];
    size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    char problem[64];
    if (!set)
        give_up(p, "no memory");
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    snprintf(problem, sizeof problem, "processor %d cannot be used", cpu);
    if (sched_setaffinity(0, bytes, set) != 0)
        give_up(p, problem);
    CPU_FREE(set);
}

/* Reads the other's memory: 0 or errno. */
static int read_other(const process *p, size_t bytes) {
    size_t done = 0;
    int other = 1 - p->side;
    while (done < bytes) {
        struct iovec here = {p->in + done, bytes - done},
                     there = {p->common->own[other] + done, bytes - done};
        ssize_t got = process_vm_readv(p->common->pid[other], &here, 1, &there, 1, 0);
        if (got <= 0)
            return got < 0 ? errno : EIO;
        done += (size_t)got;
    }
    return 0;
}

/* Whether one side may read the other's memory: as it is, and when the other has permitted it,
 * which MPIs do where Yama lets only ancestors read. */
static void try_cma(process *p) {
    meet(p);
    if (p->side == 1)
        p->common->took.cma_strict = read_other(p, 1);
    meet(p);
    (void)prctl(PR_SET_PTRACER, (unsigned long)-1, 0, 0, 0); /* an error without Yama */
    meet(p);
    if (p->side == 1)
        p->common->took.cma_error = read_other(p, 1);
    meet(p);
}

static bool try_xpmem(process *p) {
    common *c = p->common;
    int other = 1 - p->side;
    c->offer[p->side] = stretto_xpmem_offer();
    meet(p);
    c->attached[p->side] = c->offer[0] > 0 && c->offer[1] > 0 && stretto_xpmem_join(2, c->offer) &&
                           stretto_xpmem_map(other, (uintptr_t)c->own[other], largest(p->pair),
                                             NULL, NULL, &p->mapping);
    meet(p);
    return c->attached[0] && c->attached[1];
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of some copies, each of what the other side has just written; of two at the same time
 * the longer one counts. */
static double copies(process *p, int way, size_t bytes, bool both) {
    double took[MOST_COPIES];
    long wanted = (long)(COPIED / bytes);
    int n = wanted > MOST_COPIES ? MOST_COPIES : wanted < LEAST_COPIES ? LEAST_COPIES : (int)wanted;
    size_t room = largest(p->pair);
    int side = p->side;
    bool writes = both || side == 0, reads = both || side == 1;
    unsigned char *to = way == CORES_SHARED ? p->shared + (size_t)side * room : p->own;
    const unsigned char *from =
        way == CORES_SHARED ? p->shared + (size_t)(1 - side) * room : p->mapping.at;
    double *last_s = p->common->last_s;
    for (int i = -1; i < n; i++) { /* one to warm up */
        unsigned char mark = (unsigned char)(i + 2);
        if (writes)
            memset(to, mark, bytes);
        meet(p);
        last_s[side] = 0;
        if (reads) {
            double began = stretto_flag_seconds();
            bool right = true;
            if (way == CORES_CMA)
                right = read_other(p, bytes) == 0;
            else
                memcpy(p->in, from, bytes);
            last_s[side] = stretto_flag_seconds() - began;
            if (!right || p->in[0] != mark || p->in[bytes - 1] != mark)
                p->common->corrupt = true;
        }
        meet(p);
        if (i >= 0)
            took[i] = last_s[0] > last_s[1] ? last_s[0] : last_s[1];
    }
    qsort(took, (size_t)n, sizeof *took, compare);
    return n % 2 ? took[n / 2] : (took[n / 2 - 1] + took[n / 2]) / 2;
}

/* Memory comes from the domain of the processor that first writes to it: shared memory from the
 * writer's, as of a message that is sent. */
static void take_part(process *p) {
    common *c = p->common;
    size_t room = largest(p->pair);
    pin(p);
    void *own;
    errno = posix_memalign(&own, 4096, 2 * room);
    if (errno)
        give_up(p, "no memory for the buffers");
    p->own = own;
    p->in = p->own + room;
    memset(p->own, 1, 2 * room);
    memset(p->shared + (size_t)p->side * room, 1, room);
    c->own[p->side] = p->own;
    c->pid[p->side] = getpid();
    meet(p);
    double flag = stretto_flag_trip(&c->flags, p->side, &p->count, BATCHES, TRIPS);
    if (p->side == 0)
        c->took.flag_s = flag;
    if (p->pair->sizes == 0)
        return;
    try_cma(p);
    bool open[CORES_WAYS] = {true, c->took.cma_error == 0, try_xpmem(p)};
    for (int i = 0; i < p->pair->sizes; i++)
        for (int way = 0; way < CORES_WAYS; way++)
            for (int both = 0; both < 2; both++) {
                double took = open[way] ? copies(p, way, p->pair->size[i], both) : 0;
                if (p->side == 0)
                    c->took.copy_s[way][both][i] = took;
            }
    if (open[CORES_XPMEM])
        stretto_xpmem_unmap(&p->mapping);
    meet(p);
}

static pid_t start(process p, int side) {
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    p.side = side;
    take_part(&p);
    _exit(0);
}

/* A side that fails leaves the other one waiting for its flag: it is ended then. */
static bool wait_for(const pid_t pid[2]) {
    bool well = pid[0] > 0 && pid[1] > 0;
    bool gone[2] = {pid[0] < 0, pid[1] < 0};
    while (!gone[0] || !gone[1]) {
        int status = 0, side;
        for (side = 0; !well && side < 2; side++)
            if (!gone[side])
                kill(pid[side], SIGKILL);
        pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0 && errno != EINTR)
            return false;
        for (side = 0; side < 2; side++)
            if (ended == pid[side]) {
                gone[side] = true;
                well &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
            }
    }
    return well;
}

bool cores_measure(const cores_pair *pair, cores_took *took) {
    size_t room = largest(pair);
    const int flags = MAP_SHARED | MAP_ANONYMOUS;
    common *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, flags, -1, 0);
    unsigned char *shared = mmap(NULL, 2 * room, PROT_READ | PROT_WRITE, flags, -1, 0);
    bool well = c != MAP_FAILED && shared != MAP_FAILED;
    if (!well) {
        fprintf(stderr, "stretto-cores: no memory for a buffer of %zu bytes\n", room);
    } else {
        process p = {.pair = pair, .common = c, .shared = shared};
        pid_t pid[2];
        for (int side = 0; side < 2; side++)
            pid[side] = side == 1 && pid[0] < 0 ? -1 : start(p, side);
        well = wait_for(pid);
        if (well && c->corrupt)
            snprintf(c->problem, sizeof c->problem, "a copy has other content than was written");
        well &= !c->corrupt;
        *took = c->took;
        if (!well)
            fprintf(stderr, "stretto-cores: %d:%d: %s\n", pair->cpu[0], pair->cpu[1],
                    c->problem[0] ? c->problem : "a process ended early");
    }
    if (c != MAP_FAILED)
        munmap(c, sizeof *c);
    if (shared != MAP_FAILED)
        munmap(shared, 2 * room);
    return well;
}
