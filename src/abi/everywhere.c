/* Finds ranks without this library, first by looking, then by waiting.
 *
 * Looking: the native MPI_Init has brought all ranks here, or into it, so that whatever they
 * preload is mapped. Each rank looks at the next one of its node: among the processes below the
 * launcher's daemon, at the one with the next local rank in its environment. If that has an MPI
 * mapped and not this library, it was started without. Nothing is sent, so that it notices nothing.
 * What cannot be seen (another pid namespace, hidepid, an MPI linked statically, a launcher that
 * gives no local rank) counts as there.
 *
 * Waiting: whole nodes without the library are not seen by looking. A nonblocking barrier with a
 * time limit finds those. It is the first thing that is sent, has no data, and of all that the
 * application may call only a nonblocking collective could meet it.
 */
#include "abi/everywhere.h"

#include "abi/host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 16, SECONDS = 60 };
static const size_t FILE_LIMIT = 16u << 20;

/* By which the launchers number the ranks of a node; the innermost launcher first. */
static const char *const local_ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "SLURM_LOCALID"};
/* Equal on all ranks of a job, where they are set. */
static const char *const job_names[] = {"PMIX_NAMESPACE", "SLURM_STEP_ID", "I_MPI_HYDRA_UUID"};
/* And of a rank alone: equal in what a rank's script starts. */
static const char *const rank_names[] = {"PMIX_RANK", "PMI_RANK", "PMI_FD", "SLURM_PROCID"};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* A file of /proc/PID, NUL-terminated, or NULL. */
static char *read_proc(long pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t used = 0, room = 1 << 14;
    char *text = malloc(room);
    while (text) {
        ssize_t n = read(fd, text + used, room - used - 2);
        if (n <= 0)
            break;
        used += (size_t)n;
        if (room - used < 1 << 12) {
            char *more = (room *= 2) <= FILE_LIMIT ? realloc(text, room) : NULL;
            if (!more)
                free(text);
            text = more;
        }
    }
    close(fd);
    if (text)
        text[used] = text[used + 1] = '\0'; /* an environment ends with an empty word */
    return text;
}

/* A variable's value in the text of /proc/PID/environ; "" where it is not set. */
static const char *value_of(const char *environment, const char *name) {
    size_t length = strlen(name);
    for (const char *at = environment; at && *at; at += strlen(at) + 1)
        if (!strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    return "";
}

static bool same(const char *one, const char *other, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(value_of(one, names[i]), value_of(other, names[i])))
            return false;
    return true;
}

/* The parent; 0 where it is not seen, and for a daemon of Hydra's, which may have inherited what
 * tells ranks from an outer job. */
static long parent_of(long pid) {
    char *stat = read_proc(pid, "stat");
    long parent = 0;
    const char *name = stat ? strchr(stat, '(') : NULL, *end = stat ? strrchr(stat, ')') : NULL;
    if (name && end && strncmp(name, "(hydra", 6))
        sscanf(end + 1, " %*c %ld", &parent);
    free(stat);
    return parent;
}

typedef struct {
    const char *mine, *variable; /* my environment; by what ranks are numbered */
    const char *library;         /* name of this library's file */
    char wanted[24];             /* local rank looked for */
    int found;                   /* processes of it that have an MPI */
    bool has;                    /* one of them has this library */
    long without;                /* one that has not */
} search;

/* The process that started the ranks of this node; 0 where it is not seen. */
static long find_daemon(const search *s) {
    long pid = (long)getpid();
    for (int i = 0; i < DEPTH; i++) {
        long parent = parent_of(pid);
        if (parent <= 1)
            return i ? pid : 0;
        char *theirs = read_proc(parent, "environ");
        bool mine = theirs && *value_of(theirs, s->variable) &&
                    same(s->mine, theirs, &s->variable, 1) &&
                    same(s->mine, theirs, job_names, COUNT(job_names)) &&
                    same(s->mine, theirs, rank_names, COUNT(rank_names));
        free(theirs);
        if (!mine)
            return parent;
        pid = parent;
    }
    return 0;
}

static void judge(search *s, long pid) {
    char *theirs = read_proc(pid, "environ"), *maps = NULL;
    if (theirs && !strcmp(value_of(theirs, s->variable), s->wanted) &&
        same(s->mine, theirs, job_names, COUNT(job_names)) && (maps = read_proc(pid, "maps"))) {
        if (strstr(maps, "/libmpi.so") || strstr(maps, "/libmpich.so") ||
            strstr(maps, "/libmpi_")) {
            s->found++;
            if (strstr(maps, s->library))
                s->has = true;
            else
                s->without = pid;
        }
    }
    free(maps);
    free(theirs);
}

/* Judges all that a process has started, and what those have. */
static void walk(search *s, long pid, int depth) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *threads = opendir(path);
    struct dirent *thread;
    while (threads && depth < DEPTH && !s->has && (thread = readdir(threads))) {
        if (thread->d_name[0] == '.')
            continue;
        char name[300];
        snprintf(name, sizeof name, "task/%s/children", thread->d_name);
        char *children = read_proc(pid, name), *end;
        for (const char *at = children; at && !s->has; at = end) {
            long child = strtol(at, &end, 10);
            if (end == at)
                break;
            judge(s, child);
            walk(s, child, depth + 1);
        }
        free(children);
    }
    if (threads)
        closedir(threads);
}

static const char *own_name(void) {
    static char name[NAME_MAX + 2] = "/";
    Dl_info info;
    if (!dladdr((void *)own_name, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(name, sizeof name, "/%s", slash ? slash + 1 : info.dli_fname);
    return name;
}

/* A process of the next local rank (or the first, behind the last) that lacks this library; 0. */
static long look(const char *environment) {
    search s = {.mine = environment, .library = own_name()};
    for (int i = 0; i < COUNT(local_ranks) && !s.variable; i++)
        if (*value_of(environment, local_ranks[i]))
            s.variable = local_ranks[i];
    if (!s.variable || !s.library)
        return 0;
    long daemon = find_daemon(&s), next = strtol(value_of(environment, s.variable), NULL, 10) + 1;
    if (!daemon)
        return 0;
    snprintf(s.wanted, sizeof s.wanted, "%ld", next);
    walk(&s, daemon, 0);
    if (!s.found && next > 1) {
        snprintf(s.wanted, sizeof s.wanted, "0");
        walk(&s, daemon, 0);
    }
    return s.has ? 0 : s.without;
}

static void end_job(const char *who) {
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    fprintf(stderr,
            "stretto: error: %s without Stretto's library (%s) while this rank on %s has it; the "
            "job is ended in MPI_Init\n"
            "stretto: remedy: let LD_PRELOAD reach all ranks or none (`env -i`, `env -u`, sudo and "
            "scripts that set it remove it; another tool may intercept MPI_Init)\n",
            who, own_name() ? own_name() + 1 : "", host);
    stretto_host_end_job();
}

static int seconds(void) {
    const char *text = getenv("STRETTO_INIT_SECONDS");
    char *end;
    long value = text && *text ? strtol(text, &end, 10) : SECONDS;
    return text && *text && (*end || value < 0 || value > 1 << 20) ? SECONDS : (int)value;
}

/* Waits until all ranks have come here, so long at the most. Time in which this process did not run
 * (stopped, suspended with its machine) does not count. */
static bool all_come(int limit_s) {
    const double longest_step = 0.1;
    MPI_Request request;
    if (PMPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return true; /* the MPI has told why */
    double waited = 0;
    struct timespec before, now;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int done = 0;;) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done)
            return true;
        clock_gettime(CLOCK_MONOTONIC, &now);
        double step =
            (double)(now.tv_sec - before.tv_sec) + 1e-9 * (double)(now.tv_nsec - before.tv_nsec);
        before = now;
        waited += step < longest_step ? step : longest_step;
        if (limit_s && waited > limit_s)
            return false;
        sched_yield();
    }
}

void stretto_everywhere(void) {
    int nranks = 1;
    if (PMPI_Comm_size(MPI_COMM_WORLD, &nranks) != MPI_SUCCESS || nranks == 1)
        return;
    char *environment = read_proc((long)getpid(), "environ"); /* the launcher's, not the MPI's */
    long without = environment ? look(environment) : 0;
    if (without) {
        char link[64], program[PATH_MAX] = "a program", who[PATH_MAX + 64];
        snprintf(link, sizeof link, "/proc/%ld/exe", without);
        ssize_t length = readlink(link, program, sizeof program - 1);
        if (length > 0)
            program[length] = '\0';
        snprintf(who, sizeof who, "%s (process %ld) is a rank", program, without);
        end_job(who);
    }
    int limit = seconds();
    if (!all_come(limit)) {
        const char *place = "0";
        for (int i = COUNT(local_ranks); environment && i-- > 0;)
            if (*value_of(environment, local_ranks[i]))
                place = value_of(environment, local_ranks[i]);
        long turn = strtol(place, NULL, 10); /* one is enough to tell it, and ends the others */
        usleep(1000 * 50 * (unsigned)(turn < 40 ? turn : 40));
        char who[160];
        snprintf(who, sizeof who,
                 "a rank did not arrive within %d s (STRETTO_INIT_SECONDS): it probably runs",
                 limit);
        end_job(who);
    }
    free(environment);
}
