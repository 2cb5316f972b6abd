/* What the libraries in a process do to its state as a whole, beside what they are called for:
 * looks at all of it before and after MPI_Init, each kind of collective, and the making and freeing
 * of communicators.
 *
 * Usage: side_effects. Prints "STEP: STATE: BEFORE -> AFTER" for what has changed, on each rank,
 * and "side_effects: N steps".
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { STATES = 40, LENGTH = 512, FDS = 256, LARGE = 1 << 17 };

extern char **environ;
static const char *step_name = "start";
static int steps;

/* ---- what is freed: glibc raises its thresholds when a block that it has mapped is freed --------
 */

void __libc_free(void *block);
void *__libc_realloc(void *block, size_t bytes);
static int
    large_freed; /* by Stretto; kept small enough by malloc, it may still be one's next time */

static void look_at(void *block, void *caller) {
    const size_t head = block ? ((size_t *)block)[-1] : 0; /* of glibc's chunk: size, flags */
    Dl_info info;
    if (!(head & 2) && (head & ~(size_t)7) < 128 * 1024)
        return;
    if (dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libstretto"))
        large_freed++;
}

void free(void *block) {
    look_at(block, __builtin_return_address(0));
    __libc_free(block);
}

void *realloc(void *block, size_t bytes) {
    look_at(block, __builtin_return_address(0));
    return __libc_realloc(block, bytes);
}

/* ---- the state ----------------------------------------------------------------------------------
 */

typedef struct {
    int n;
    const char *name[STATES];
    char value[STATES][LENGTH];
} state;

static char random_state[128];

static void put(state *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put(state *s, const char *name, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    s->name[s->n] = name;
    vsnprintf(s->value[s->n++], LENGTH, format, arguments);
    va_end(arguments);
}

static uint64_t hash(uint64_t h, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return h;
}

/* First of all: what is done to look at the rest changes it. */
static void put_arithmetic(state *s) {
    put(s, "flags of exceptions", "%x", (unsigned)fetestexcept(FE_ALL_EXCEPT));
#if defined(__x86_64__)
    uint32_t mxcsr, x87[7], a, b, c, d, upper = 0;
    uint64_t direction;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstenv %0\n\tfldenv %0" : "=m"(x87));
    __asm__ volatile("pushf\n\tpop %0" : "=r"(direction));
    if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a & 4)
        __asm__ volatile("xgetbv" : "=a"(upper), "=d"(d) : "c"(1));
    put(s, "modes of arithmetic", "%x", mxcsr & ~0x3fu);
    put(s, "denormal operands", "%x", (mxcsr | x87[1]) & 2);
    put(s, "x87", "control %x tags %x", x87[0] & 0xffff, x87[2] & 0xffff);
    put(s, "direction", "%x", (unsigned)direction & 0x400);
    put(s, "upper halves of vector registers", "%x", upper & 0x44);
#endif
}

static void put_descriptors(state *s) {
    char text[LENGTH] = "";
    for (int fd = 0; fd < FDS; fd++) {
        struct stat st;
        const int flags = fcntl(fd, F_GETFD);
        if (flags < 0)
            continue;
        if ((fd < 3 || !(flags & FD_CLOEXEC)) && !fstat(fd, &st))
            snprintf(text + strlen(text), LENGTH - strlen(text), " %d:%d", fd,
                     S_ISREG(st.st_mode) && st.st_nlink == 0);
    }
    put(s, "descriptors that are low or inherited", "%s", text);
}

static void put_signals(state *s) {
    sigset_t mask;
    stack_t stack;
    struct itimerval timer;
    char handlers[LENGTH] = "";
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        Dl_info info;
        if (sigaction(number, NULL, &action) || action.sa_handler == SIG_DFL)
            continue;
        if (action.sa_handler == SIG_IGN || !dladdr((void *)action.sa_handler, &info))
            info.dli_fname = "ignored";
        snprintf(handlers + strlen(handlers), LENGTH - strlen(handlers), " %d:%s:%x", number,
                 info.dli_fname, (unsigned)action.sa_flags);
    }
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigaltstack(NULL, &stack);
    put(s, "signals", "mask %llx stack %p", (unsigned long long)hash(0, &mask, 8), stack.ss_sp);
    put(s, "handlers of signals", "%s", handlers);
    char timers[64] = "";
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        getitimer(which, &timer);
        snprintf(timers + strlen(timers), 20, " %d",
                 timer.it_interval.tv_sec || timer.it_interval.tv_usec || timer.it_value.tv_sec);
    }
    put(s, "timers", "%s", timers);
}

static void put_process(state *s) {
    char text[LENGTH], name[32];
    uint64_t h = 0;
    cpu_set_t cpus;
    const mode_t mask = umask(0);
    umask(mask);
    put(s, "umask", "%o", (unsigned)mask);
    put(s, "working directory", "%s", getcwd(text, sizeof text) ? text : "?");
    int variables = 0;
    static int at_first;
    while (environ[variables])
        variables++;
    at_first = at_first ? at_first : variables;
    put(s, "variables of the environment, more than at first", "%d", variables - at_first);
    put(s, "LD_PRELOAD", "%s", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
    sched_getaffinity(0, sizeof cpus, &cpus);
    put(s, "processors", "%llx", (unsigned long long)hash(0, &cpus, sizeof cpus));
    put(s, "scheduling", "policy %d nice %d slack %d", sched_getscheduler(0),
        getpriority(PRIO_PROCESS, 0), prctl(PR_GET_TIMERSLACK));
    int death = 0, reaper = 0;
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    prctl(PR_GET_NAME, name);
    put(s, "prctl", "dumpable %d death %d reaper %d pages %d privileges %d name %s",
        prctl(PR_GET_DUMPABLE), death, reaper, prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0),
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), name);
    h = 0;
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit = {0, 0};
        getrlimit((__rlimit_resource_t)i, &limit);
        h = hash(h, &limit, sizeof limit);
    }
    put(s, "limits", "%llx", (unsigned long long)h);
    int threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && readdir(tasks))
        threads++;
    if (tasks)
        closedir(tasks);
    put(s, "threads", "%d", threads - 2);
}

static void put_library(state *s) {
    const char *error = dlerror();
    put(s, "dlerror", "%s", error ? error : "");
    put(s, "locale", "%s", setlocale(LC_ALL, NULL));
    unsigned short zero[3] = {0}, drawn[3];
    memcpy(drawn, seed48(zero), sizeof drawn);
    seed48(drawn);
    put(s, "random numbers", "%llx",
        (unsigned long long)hash(hash(0, random_state, sizeof random_state), drawn, sizeof drawn));
    FILE *streams[] = {stdin, stdout, stderr};
    char text[LENGTH] = "";
    for (int i = 0; i < 3; i++)
        snprintf(text + strlen(text), 60, " %d/%d/%zu/%zu", __flbf(streams[i]) != 0,
                 __freading(streams[i]), __fbufsize(streams[i]), __fpending(streams[i]));
    put(s, "streams", "%s", text);
    put(s, "large blocks given back to malloc", "%d", large_freed);
}

static void look(state *s) {
    const int error = errno;
    s->n = 0;
    put_arithmetic(s);
    put(s, "errno", "%d", error);
    put_descriptors(s);
    put_signals(s);
    put_process(s);
    put_library(s);
}

/* ---- steps --------------------------------------------------------------------------------------
 */

static state before, after;

static void begin(const char *name) {
    step_name = name;
    fflush(stdout);
    feclearexcept(FE_ALL_EXCEPT);
    errno = 0;
    look(&before);
    feclearexcept(FE_ALL_EXCEPT);
    errno = 0;
}

static void end(void) {
    look(&after);
    steps++;
    for (int i = 0; i < after.n; i++)
        if (strcmp(before.value[i], after.value[i]) != 0)
            printf("%s: %s: %s -> %s\n", step_name, after.name[i], before.value[i], after.value[i]);
    fflush(stdout);
}

#define STEP(name, ...)                                                                            \
    do {                                                                                           \
        begin(name);                                                                               \
        __VA_ARGS__;                                                                               \
        end();                                                                                     \
    } while (0)

static double in[LARGE], out[LARGE];
static int counts[64], places[64];

static void reductions(MPI_Comm comm, int n, MPI_Datatype type, MPI_Op op) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < ranks; i++)
        counts[i] = n / ranks;
    STEP("allreduce", MPI_Allreduce(in, out, n, type, op, comm));
    STEP("reduce", MPI_Reduce(in, out, n, type, op, 0, comm));
    STEP("scan", MPI_Scan(in, out, n, type, op, comm));
    STEP("exscan", MPI_Exscan(in, out, n, type, op, comm));
    STEP("reduce_scatter", MPI_Reduce_scatter(in, out, counts, type, op, comm));
    STEP("reduce_scatter_block", MPI_Reduce_scatter_block(in, out, n / ranks, type, op, comm));
}

static void moves(MPI_Comm comm, int n, MPI_Datatype type) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    const int each = n / ranks;
    for (int i = 0; i < ranks; i++)
        counts[i] = each, places[i] = i * each;
    STEP("barrier", MPI_Barrier(comm));
    STEP("bcast", MPI_Bcast(out, n, type, 0, comm));
    STEP("allgather", MPI_Allgather(in, each, type, out, each, type, comm));
    STEP("allgatherv", MPI_Allgatherv(in, each, type, out, counts, places, type, comm));
    STEP("gather", MPI_Gather(in, each, type, out, each, type, 0, comm));
    STEP("gatherv", MPI_Gatherv(in, each, type, out, counts, places, type, 0, comm));
    STEP("scatter", MPI_Scatter(in, each, type, out, each, type, 0, comm));
    STEP("scatterv", MPI_Scatterv(in, counts, places, type, out, each, type, 0, comm));
    STEP("alltoall", MPI_Alltoall(in, each, type, out, each, type, comm));
    STEP("alltoallv", MPI_Alltoallv(in, counts, places, type, out, counts, places, type, comm));
}

static void neighbors(MPI_Comm comm) {
    STEP("neighbor_allgather",
         MPI_Neighbor_allgather(in, 100, MPI_DOUBLE, out, 100, MPI_DOUBLE, comm));
    STEP("neighbor_alltoall",
         MPI_Neighbor_alltoall(in, 100, MPI_DOUBLE, out, 100, MPI_DOUBLE, comm));
}

static void all_kinds(MPI_Comm comm) {
    static const int sizes[] = {16, 4096, LARGE / 4};
    MPI_Datatype gaps;
    MPI_Type_vector(LARGE / 16, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < LARGE; i++)
        in[i] = i % 64; /* sums and products of these are exact */
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            reductions(comm, sizes[i], MPI_DOUBLE, MPI_SUM);
            moves(comm, sizes[i], MPI_DOUBLE);
        }
    reductions(comm, 1000, MPI_DOUBLE, MPI_PROD);
    reductions(comm, 1000, MPI_DOUBLE, MPI_MAX);
    reductions(comm, 1000, MPI_DOUBLE, MPI_MIN);
    reductions(comm, 500, MPI_DOUBLE_INT, MPI_MINLOC);
    reductions(comm, 1000, MPI_INT, MPI_BXOR);
    STEP("allreduce", MPI_Allreduce(in, out, 100, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm));
    STEP("bcast", MPI_Bcast(in, 1, gaps, 0, comm)); /* packed, in 64 KiB */
    STEP("allgather", MPI_Allgather(in, 1, gaps, out, LARGE / 16, MPI_DOUBLE, comm));
    MPI_Type_free(&gaps);
    MPI_Request request;
    STEP("iallreduce", MPI_Iallreduce(in, out, 1000, MPI_DOUBLE, MPI_SUM, comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void one_communicator(MPI_Comm comm) {
    MPI_Comm made, grid;
    int rank, dims[1], period = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, dims);
    STEP("dup", MPI_Comm_dup(comm, &made));
    STEP("free", MPI_Comm_free(&made));
    STEP("split", MPI_Comm_split(comm, 0, -rank, &made));
    all_kinds(made);
    STEP("free", MPI_Comm_free(&made));
    STEP("cart", MPI_Cart_create(comm, 1, dims, &period, 1, &grid));
    neighbors(grid);
    STEP("free", MPI_Comm_free(&grid));
}

int main(int argc, char **argv) {
    int rank;
    static char larger[1 << 16];
    initstate(7, random_state, sizeof random_state);
    dlerror();
    setvbuf(stdout, larger, _IOLBF, sizeof larger);
    setvbuf(stderr, NULL, _IONBF, 0); /* else it changes with the first line */
    umask(027);
    fesetround(FE_TOWARDZERO);
    prctl(PR_SET_TIMERSLACK, 60000);
    STEP("init", MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    all_kinds(MPI_COMM_WORLD);
    close(0); /* what is opened now gets this number, unless somebody minds */
    one_communicator(MPI_COMM_WORLD);
    STEP("finalize", MPI_Finalize());
    printf("side_effects: %d steps\n", steps);
    return 0;
}
