/* SMPI's set-up of a communicator for shared memory (Comm::init_smp), without its messages.
 *
 * Before its first collective SMPI's mpich, mvapich2, impi and partly ompi let all ranks tell each
 * other where they are: ring allgathers, a broadcast and an allreduce of an int each, two million
 * messages among 1024 ranks, before the call that is to be timed sends its first ten thousand.
 * What the ranks learn there are facts of the platform. Here they learn the same facts through
 * common memory, all of them being threads of one process, at no simulated time; what SMPI does
 * with them is its own code still. Nothing outside init_smp is touched: not the same algorithms
 * when a selector chooses them for a call.
 *
 * Preloaded (tools/smpi/smpi.py), so that libsimgrid's own calls come here. */
#include "setup.h"

#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <simgrid/host.h>
#include <string.h>

enum { MOST_ACTORS = 1 << 16 };

typedef enum { GATHER, SPREAD, AND, KINDS } kind;

typedef struct {
    int depth;        /* calls of init_smp that this rank is in */
    int times[KINDS]; /* that it has met the others for this */
} actor;

/* One exchange: those who take part come to it, and go on when all have put down what they know. */
typedef struct meeting meeting;
struct meeting {
    kind what;
    int size, time;
    const void *where; /* SPREAD: the host */
    int left;
    int *told; /* [size] by rank */
    sg_bar_t all;
    meeting *next;
};

static actor actors[MOST_ACTORS];
static meeting *meetings;

static actor *self(void) {
    const long pid = sg_actor_self_get_pid();
    if (pid < 0 || pid >= MOST_ACTORS)
        setup_die("too many ranks");
    return &actors[pid];
}

static int size_of(MPI_Comm comm) {
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}

static meeting *come(kind what, int size) {
    const int time = self()->times[what]++;
    const void *where = what == SPREAD ? (const void *)sg_host_self() : NULL;
    for (meeting *m = meetings; m; m = m->next)
        if (m->what == what && m->size == size && m->time == time && m->where == where)
            return m;
    meeting *m = calloc(1, sizeof *m);
    if (!m || !(m->told = calloc((size_t)size, sizeof *m->told)))
        setup_die("out of memory");
    m->what = what;
    m->size = size;
    m->time = time;
    m->where = where;
    m->all = sg_barrier_init((unsigned)size);
    m->next = meetings;
    return meetings = m;
}

/* Puts down a value, waits for all the others'; all of them by rank, until leave. */
static meeting *tell(kind what, MPI_Comm comm, int value) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    meeting *m = come(what, size_of(comm));
    m->told[rank] = value;
    sg_barrier_wait(m->all);
    return m;
}

static void leave(meeting *m) {
    if (++m->left < m->size)
        return;
    meeting **link = &meetings;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    sg_barrier_destroy(m->all);
    free(m->told);
    free(m);
}

static int value_of(const void *buffer) {
    int value;
    memcpy(&value, buffer, sizeof value);
    return value;
}

/* ---- what libsimgrid calls; C++ names, compiled from C ------------------------------------------
 */

#define INIT_SMP "_ZN7simgrid4smpi4Comm8init_smpEv"
#define GATHER_RING "_ZN7simgrid4smpi15allgather__ringEPKviPNS0_8DatatypeEPviS4_PNS0_4CommE"
#define BCAST_LR "_ZN7simgrid4smpi27bcast__scatter_LR_allgatherEPviPNS0_8DatatypeEiPNS0_4CommE"
#define ALLREDUCE "_ZN7simgrid4smpi18allreduce__defaultEPKvPviPNS0_8DatatypeEPNS0_2OpEPNS0_4CommE"

void init_smp(MPI_Comm comm) __asm__(INIT_SMP);
int gather_ring(const void *in, int count, MPI_Datatype type, void *out, int n, MPI_Datatype to,
                MPI_Comm comm) __asm__(GATHER_RING);
int bcast_lr(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) __asm__(BCAST_LR);
int allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm) __asm__(ALLREDUCE);

void init_smp(MPI_Comm comm) {
    static void (*theirs)(MPI_Comm);
    if (!theirs)
        *(void **)&theirs = setup_next_of(INIT_SMP);
    /* parts of the ranks may be several at once, which `come` could not tell apart */
    const int counts = size_of(comm) == size_of(MPI_COMM_WORLD);
    self()->depth += counts;
    theirs(comm);
    self()->depth -= counts;
}

int gather_ring(const void *in, int count, MPI_Datatype type, void *out, int n, MPI_Datatype to,
                MPI_Comm comm) {
    static int (*theirs)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    if (!theirs)
        *(void **)&theirs = setup_next_of(GATHER_RING);
    if (self()->depth == 0)
        return theirs(in, count, type, out, n, to, comm);
    meeting *m = tell(GATHER, comm, value_of(in));
    memcpy(out, m->told, (size_t)m->size * sizeof *m->told);
    leave(m);
    return MPI_SUCCESS;
}

int bcast_lr(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    static int (*theirs)(void *, int, MPI_Datatype, int, MPI_Comm);
    if (!theirs)
        *(void **)&theirs = setup_next_of(BCAST_LR);
    if (self()->depth == 0)
        return theirs(buffer, count, type, root, comm);
    meeting *m = tell(SPREAD, comm, value_of(buffer));
    memcpy(buffer, &m->told[root], sizeof *m->told);
    leave(m);
    return MPI_SUCCESS;
}

int allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    static int (*theirs)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    if (!theirs)
        *(void **)&theirs = setup_next_of(ALLREDUCE);
    if (self()->depth == 0)
        return theirs(in, out, count, type, op, comm);
    meeting *m = tell(AND, comm, value_of(in));
    int all = 1;
    for (int i = 0; i < m->size; i++)
        all = all && m->told[i];
    memcpy(out, &all, sizeof all);
    leave(m);
    return MPI_SUCCESS;
}
