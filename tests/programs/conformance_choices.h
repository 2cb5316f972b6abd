/* Choices and shapes from files, for long runs. Included by conformance.c.
 *
 * CONFORMANCE_CHOICES names a file whose lines are sets "collective=choice;collective=choice": the
 * whole run is gone through once for each, by stretto_choose (STRETTO_API=1), in one job.
 * CONFORMANCE_SHAPES names a file of numbers: round i is the shape of the i-th alone, so that a
 * property-based test can leave rounds out.
 */
#include <dlfcn.h>

enum { LINES = 4096 };

typedef struct {
    int n;
    char *lines[LINES];
} lines_of;

static void read_lines(lines_of *found, const char *variable) {
    const char *path = getenv(variable);
    found->n = 0;
    FILE *stream = path ? fopen(path, "r") : NULL;
    if (!stream) {
        if (path)
            fprintf(stderr, "%s=%s cannot be read\n", variable, path), MPI_Abort(MPI_COMM_WORLD, 2);
        return;
    }
    char line[8192];
    while (fgets(line, sizeof line, stream) && found->n < LINES) {
        line[strcspn(line, "\n")] = 0;
        found->lines[found->n++] = strdup(line);
    }
    fclose(stream);
}

static void free_lines(lines_of *found) {
    for (int i = 0; i < found->n; i++)
        free(found->lines[i]);
}

static int chosen, refused;

/* Collective; counts the choices that can and that cannot be done on the communicator. */
static void choose_all(MPI_Comm comm, const char *set) {
    typedef int choose_fn(MPI_Comm, const char *, const char *, char *, size_t);
    void *symbol = dlsym(RTLD_DEFAULT, "stretto_choose");
    choose_fn *choose;
    memcpy(&choose, &symbol, sizeof choose);
    if (!choose) {
        fprintf(stderr, "CONFORMANCE_CHOICES without Stretto\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *text = strdup(set), *rest = NULL, error[512];
    for (char *one = strtok_r(text, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char *choice = strchr(one, '=');
        if (!choice)
            continue;
        *choice++ = 0;
        if (choose(comm, one, choice, error, sizeof error) == 0)
            chosen++;
        else
            refused++;
    }
    free(text);
}

/* Calls on comm that Stretto carried out. */
static long carried_out(MPI_Comm comm) {
    static const char *names[] = {
        "allreduce",  "bcast",          "reduce",  "allgather",
        "allgatherv", "gather",         "gatherv", "scatter",
        "scatterv",   "scan",           "exscan",  "reduce_scatter_block",
        "alltoall",   "reduce_scatter", "barrier", "alltoallv",
    };
    typedef int counters_fn(MPI_Comm, const char *, unsigned long long *, unsigned long long *);
    void *symbol = dlsym(RTLD_DEFAULT, "stretto_counters");
    counters_fn *counters;
    memcpy(&counters, &symbol, sizeof counters);
    long sum = 0;
    for (size_t i = 0; counters && i < sizeof names / sizeof *names; i++) {
        unsigned long long ours = 0;
        if (counters(comm, names[i], &ours, NULL) == 0)
            sum += (long)ours;
    }
    return sum;
}
