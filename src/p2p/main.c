/* Reads the command line, places the pairs, measures all points in turn. */
#include "p2p/launch.h"
#include "p2p/p2p.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR = 512, ARGUMENTS = 6 };

static const struct {
    const char *name;
    int level;
} LEVELS[] = {{"single", MPI_THREAD_SINGLE},
              {"funneled", MPI_THREAD_FUNNELED},
              {"serialized", MPI_THREAD_SERIALIZED},
              {"multiple", MPI_THREAD_MULTIPLE}};

static int level_of(const char *name) {
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++)
        if (strcmp(LEVELS[i].name, name) == 0)
            return (int)i;
    return -1;
}

typedef struct {
    FILE *out;
    int level, points, samples;
    double batch_s, budget_s, began;
    bool counts;
    p2p_point *point;
} job;

static void write_sample(const job *job, const p2p_point *point, const p2p_took *took) {
    fprintf(job->out,
            "{\"kind\":\"sample\",\"test\":\"%s\",\"bytes\":%ld,\"pairs\":%d,\"window\":%d,"
            "\"threads\":%d,\"iterations\":%ld,\"seconds\":%.9g",
            point->test->name, point->bytes, point->pairs, point->window, point->threads,
            point->iterations, took->total);
    if (took->pure > 0)
        fprintf(job->out, ",\"pure_seconds\":%.9g,\"computed_seconds\":%.9g", took->pure,
                took->computed);
    fprintf(job->out, "}\n");
    fflush(job->out);
}

static void take_buffers(p2p *self, const p2p_point *point) {
    self->out = point->out;
    self->in = point->in;
}

/* Grows a batch until it is long enough, which is a warm-up too. All ranks have the same times; of
 * two batches the shorter one counts, since another process may have held up the other. */
static void calibrate(const job *job, p2p *self, p2p_point *point) {
    long iterations = 1;
    take_buffers(self, point);
    for (;;) {
        double took = point->test->run(self, point, iterations).total;
        if (took >= job->batch_s) {
            double again = point->test->run(self, point, iterations).total;
            took = again < took ? again : took;
        }
        if (took >= job->batch_s || iterations >= 1L << 24)
            break;
        double wanted = took > 0 ? job->batch_s / took * (double)iterations * 1.1 : 0;
        long most = iterations * 10, next = wanted < (double)most ? (long)wanted + 1 : most;
        iterations = next > iterations ? next : iterations * 2;
    }
    point->iterations = iterations;
}

/* Whether the budget is used up: by rank 0's clock, for all. */
static bool late(const job *job, const p2p *self) {
    int is = job->budget_s > 0 && p2p_seconds() - job->began > job->budget_s;
    MPI_Bcast(&is, 1, MPI_INT, 0, self->comm);
    return is;
}

static void measure(job *job, p2p *self) {
    bool cut = false;
    p2p_counters *counters = job->counts ? p2p_counters_open(self, job->points) : NULL;
    for (int i = 0; i < job->points && !(cut = late(job, self)); i++)
        calibrate(job, self, &job->point[i]);
    for (int sample = 0; sample < job->samples && !cut; sample++)
        for (int i = 0; i < job->points && !(cut = late(job, self)); i++) {
            p2p_point *point = &job->point[i];
            take_buffers(self, point);
            p2p_counters_before(counters);
            p2p_took took = point->test->run(self, point, point->iterations);
            p2p_counters_after(counters, i);
            if (self->rank == 0)
                write_sample(job, point, &took);
        }
    p2p_counters_write(counters, self, job->point, job->points, job->out);
    p2p_counters_close(counters);
    if (self->rank == 0)
        fprintf(job->out, "{\"kind\":\"end\",\"cut\":%s}\n", cut ? "true" : "false");
}

/* What is wrong with a job on so many ranks; false: nothing. */
static bool refused(const job *job, const p2p *self, int provided, char *error) {
    for (int i = 0; i < job->points; i++) {
        const p2p_point *point = &job->point[i];
        const char *needs = point->test->needs;
        if (point->pairs > self->nranks / 2)
            snprintf(error, ERROR, "%d pairs need %d ranks, and there are %d", point->pairs,
                     2 * point->pairs, self->nranks);
        else if (needs && provided < level_of(needs))
            snprintf(error, ERROR, "%s needs the thread level %s; this MPI gives %s",
                     point->test->name, needs, LEVELS[provided].name);
        if (error[0])
            return true;
    }
    return false;
}

/* Two buffers for each size, as malloc gives them to applications, and to IMB by MPI_Alloc_mem
 * under Intel MPI and Open MPI. Parts of large ones would begin where a page does: two buffers and
 * that of the MPI at the same place of a page share sets of the first-level cache. */
static int make_room(job *job, char *error) {
    for (int i = 0; i < job->points; i++) {
        p2p_point *point = &job->point[i];
        const size_t size = (size_t)point->bytes + 64;
        int same = 0;
        while (job->point[same].bytes != point->bytes)
            same++;
        if (same == i && (!(point->out = malloc(size)) || !(point->in = malloc(size)))) {
            snprintf(error, ERROR, "no memory for two buffers of %ld bytes", point->bytes);
            return -1;
        }
        if (same == i) { /* pages are there before the first message */
            memset(point->out, 0, size);
            memset(point->in, 0, size);
        }
        point->out = job->point[same].out;
        point->in = job->point[same].in;
    }
    return 0;
}

static void drop_room(const job *job) {
    for (int i = 0; i < job->points; i++) {
        int same = 0;
        while (job->point[same].bytes != job->point[i].bytes)
            same++;
        if (same == i) {
            free(job->point[i].out);
            free(job->point[i].in);
        }
    }
}

/* How many threads have a communicator each. */
static int communicators(const job *job) {
    int most = 0;
    for (int i = 0; i < job->points; i++)
        if (job->point[i].test->run == p2p_threads && job->point[i].threads > most)
            most = job->point[i].threads;
    return most;
}

static int run(job *job, const char *path, int provided) {
    char error[ERROR] = "", levels[96];
    p2p self = {.comm = MPI_COMM_NULL, .pair = -1};
    MPI_Comm own[P2P_MOST_THREADS];
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.nranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &self.comm);
    int half = self.nranks / 2;
    self.sends = self.rank < half;
    if (self.rank < 2 * half) {
        self.pair = self.rank % half;
        self.partner = self.sends ? self.rank + half : self.rank - half;
    }
    bool prints = strcmp(path, "-") == 0;
    int failed = refused(job, &self, provided, error) || make_room(job, error);
    if (!failed && self.rank == 0 && !(job->out = prints ? stdout : fopen(path, "wx"))) {
        snprintf(error, ERROR, "%.200s cannot be written: %s", path, strerror(errno));
        failed = 1;
    }
    int any = failed;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, self.comm);
    if (!any) {
        snprintf(levels, sizeof levels, "\"asked\":\"%s\",\"level\":\"%s\",",
                 LEVELS[job->level].name, LEVELS[provided].name);
        any = stretto_launch_line(job->out, self.comm, levels) != 0;
    }
    if (!any) {
        int several = communicators(job);
        for (int i = 0; i < several; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
        self.threads = own;
        measure(job, &self);
        for (int i = 0; i < several; i++)
            MPI_Comm_free(&own[i]);
    }
    if (failed && error[0])
        fprintf(stderr, "stretto-p2p: %s\n", error);
    if (job->out && (prints ? fflush(job->out) : fclose(job->out)) != 0) {
        fprintf(stderr, "stretto-p2p: %s: %s\n", path, strerror(errno));
        any = 1;
    }
    drop_room(job);
    MPI_Comm_free(&self.comm);
    return any;
}

int main(int argc, char **argv) {
    char error[ERROR] = "";
    bool counts = argc > 1 && strcmp(argv[1], "--count") == 0;
    argc -= counts;
    argv += counts;
    job job = {
        .counts = counts, .level = argc > 1 ? level_of(argv[1]) : -1, .began = p2p_seconds()};
    if (argc <= ARGUMENTS || job.level < 0) {
        fprintf(stderr, "usage: mpirun -n N stretto-p2p-F [--count] LEVEL OUTPUT SAMPLES BATCH_US "
                        "BUDGET_S POINT... (normally run by `stretto net`)\n");
        return 2;
    }
    job.samples = atoi(argv[3]);
    job.batch_s = 1e-6 * atof(argv[4]);
    job.budget_s = atof(argv[5]);
    job.points = argc - ARGUMENTS;
    job.point = calloc((size_t)job.points, sizeof *job.point);
    for (int i = 0; i < job.points; i++)
        if (!job.point || p2p_point_read(&job.point[i], argv[ARGUMENTS + i], error, ERROR) != 0) {
            fprintf(stderr, "stretto-p2p: %s\n", job.point ? error : "no memory");
            return 2;
        }
    if (!stretto_launch_has_mpi("stretto-p2p"))
        return 1;
    int provided = 0;
    if (MPI_Init_thread(&argc, &argv, LEVELS[job.level].level, &provided) != MPI_SUCCESS) {
        fprintf(stderr, "stretto-p2p: MPI_Init_thread failed\n");
        return 1;
    }
    int index = 0;
    for (int i = 0; i < 4; i++)
        index = LEVELS[i].level <= provided ? i : index;
    int failed = run(&job, argv[2], index);
    free(job.point);
    MPI_Finalize();
    return failed;
}
