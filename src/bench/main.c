/* stretto-bench-F JOB: see bench.h. Started by `stretto bench` under the MPI's own launcher.
 * stretto-bench-F --fingerprint JOB: see fingerprint.c. Started by `stretto export --check`.
 * stretto-bench-F --hello: each rank says how many there are. Started by `stretto check`. */
#include "bench/bench.h"
#include "p2p/launch.h"
#include "topo/usage.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ERROR = 1024 };

static double seconds(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* First line of the library's own name of itself. */
static void library_name(char *text) {
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\r\n")] = '\0';
}

/* Collective. */
static void report_usage(const stretto_bench *bench, stretto_usage before, double began,
                         double load) {
    stretto_usage used = stretto_usage_since(before);
    bool known = used.core_wait_ns != STRETTO_USAGE_UNKNOWN;
    double wall = seconds() - began;
    enum { IDLE, WAITED, SWITCHED, LOAD, UNKNOWN, VALUES };
    double worst[VALUES] = {[IDLE] = wall - 1e-9 * (double)used.cpu_ns,
                            [WAITED] = known ? 1e-9 * (double)used.core_wait_ns : 0,
                            [SWITCHED] = (double)used.involuntary,
                            [LOAD] = load,
                            [UNKNOWN] = !known};
    if (stretto_bench_control_max(worst, VALUES, bench->control) != MPI_SUCCESS || bench->rank != 0)
        return;
    double cpu = wall - worst[IDLE];
    stretto_bench_usage usage = {wall, cpu > 0 ? cpu : 0, worst[UNKNOWN] > 0 ? -1 : worst[WAITED],
                                 worst[SWITCHED], worst[LOAD]};
    stretto_bench_usage_line(bench->out, bench->job, &usage, stretto_usage_cores());
}

static int measure_all(stretto_bench *bench, char *error) {
    stretto_usage before = stretto_usage_now();
    double began = seconds(), load = stretto_usage_load();
    for (int i = 0; i < bench->job->ncases; i++)
        if (stretto_bench_measure(bench, i, error, ERROR) != 0)
            return -1;
    report_usage(bench, before, began, load);
    return 0;
}

/* Which algorithms the MPI uses; 0, or the job is ended (message printed). */
static int fingerprint(const char *path) {
    char error[ERROR] = "";
    stretto_bench_job job;
    stretto_bench_output *out = NULL;
    int rank, failed = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (stretto_bench_job_read(&job, path, MPI_COMM_WORLD, error, sizeof error) != 0)
        failed = 1;
    else if (rank == 0 && !(out = stretto_bench_output_open(&job, error, sizeof error)))
        failed = 1;
    else
        failed = stretto_bench_fingerprint(out, &job, error, sizeof error) != 0;
    if (failed && error[0])
        fprintf(stderr, "stretto-bench: %s\n", error);
    if (stretto_bench_output_close(out) != 0)
        failed = 1;
    if (failed) /* one rank's fault is not the others' */
        MPI_Abort(MPI_COMM_WORLD, 1);
    stretto_bench_job_free(&job);
    return 0;
}

/* Everything between Init and Finalize; 0 or -1 (message printed). */
static int run(const char *path) {
    char error[ERROR] = "", library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    stretto_bench_job job;
    stretto_bench bench = {.job = &job, .begin = seconds()};
    bool failed = false, any = false;
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.nranks);
    bench.work = bench.control = MPI_COMM_NULL;
    if (stretto_bench_job_read(&job, path, MPI_COMM_WORLD, error, sizeof error) != 0) {
        failed = 1;
        goto done;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &bench.work);
    MPI_Comm_dup(MPI_COMM_WORLD, &bench.control);
    MPI_Comm_set_errhandler(bench.work, MPI_ERRORS_RETURN);
    /* dlsym returns an object pointer for what is a function: the union of POSIX. */
    *(void **)&bench.choose = dlsym(RTLD_DEFAULT, "stretto_choose");
    *(void **)&bench.last = dlsym(RTLD_DEFAULT, "stretto_last");
    *(void **)&bench.counters = dlsym(RTLD_DEFAULT, "stretto_counters");
    bench.clock = stretto_bench_clock_new(MPI_COMM_WORLD, &job);
    if (!bench.clock) {
        snprintf(error, sizeof error, "the clocks could not be compared (no memory, or MPI)");
        failed = 1;
    }
    if (!failed && stretto_bench_flag_open(&bench) != MPI_SUCCESS) {
        snprintf(error, sizeof error, "messages between the ranks failed");
        failed = 1;
    }
    if (!failed && bench.rank == 0) {
        bench.out = stretto_bench_output_open(&job, error, sizeof error);
        failed = bench.out == NULL;
    }
    stretto_bench_control_any(failed, &any, bench.control);
    if (any)
        goto done;
    double true_error = stretto_bench_clock_true_error_us(bench.clock);
    library_name(library);
    if (bench.rank == 0)
        stretto_bench_launch_line(bench.out, &job, bench.clock, bench.nranks, true_error, library);
    failed = measure_all(&bench, error) != 0;
done:
    if (bench.rank == 0 && error[0])
        fprintf(stderr, "stretto-bench: %s\n", error);
    if (stretto_bench_output_close(bench.out) != 0)
        failed = 1;
    stretto_bench_flag_close(&bench);
    stretto_bench_clock_free(bench.clock);
    if (bench.work != MPI_COMM_NULL) {
        MPI_Comm_free(&bench.work);
        MPI_Comm_free(&bench.control);
    }
    stretto_bench_job_free(&job);
    return failed || any ? -1 : 0;
}

/* The hardware threads that this process may use, as the kernel writes them; "" if unknown. */
static void allowed(char *list, size_t size) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[4096];
    list[0] = '\0';
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Cpus_allowed_list: %1023s", list) == 1)
            break;
    list[size - 1] = '\0';
    if (file)
        fclose(file);
}

/* The ranks meet before they speak: one that cannot reach the others is not counted. Some MPIs bind
 * ranks in MPI_Init: the mask is that of the rank as it will run. */
static int hello(void) {
    int rank, nranks;
    char list[1024], node[256] = "", said[1400];
    allowed(list, sizeof list);
    gethostname(node, sizeof node - 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(said, sizeof said, "rank %d of %d, node %s, cpus %s", rank, nranks, node, list);
    printf("stretto-bench: %s, again %s\n", said, said); /* a launcher may mix up parts of lines */
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv) {
    bool prints = argc == 3 && strcmp(argv[1], "--fingerprint") == 0;
    if (argc != 2 && !prints) {
        fprintf(stderr, "usage: mpirun -n N stretto-bench-F [--fingerprint] JOB (normally run by "
                        "`stretto bench`), or --hello\n");
        return 2;
    }
    if (!stretto_launch_has_mpi("stretto-bench"))
        return 1;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        fprintf(stderr, "stretto-bench: MPI_Init failed\n");
        return 1;
    }
    bool greets = argc == 2 && strcmp(argv[1], "--hello") == 0;
    int failed = greets ? hello() : prints ? fingerprint(argv[2]) : run(argv[1]);
    stretto_bench_settings_close();
    MPI_Finalize();
    return failed ? 1 : 0;
}
