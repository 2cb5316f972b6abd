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
        if (choose(comm, one, choice, error, sizeof error) == 0) {
            chosen++;
        } else { /* and not what the set before has chosen: those calls would be taken for it */
            refused++;
            choose(comm, one, "native", error, sizeof error);
        }
    }
    free(text);
}

enum { COLLECTIVES = 16 };

static const char *const collectives[COLLECTIVES] = {
    "allreduce", "bcast",          "reduce",   "allgather", "allgatherv", "gather",
    "gatherv",   "scatter",        "scatterv", "scan",      "exscan",     "reduce_scatter_block",
    "alltoall",  "reduce_scatter", "barrier",  "alltoallv",
};

/* Add the calls on comm that Stretto carried out, by collective. */
static void count_ours(MPI_Comm comm, long *ours) {
    typedef int counters_fn(MPI_Comm, const char *, unsigned long long *, unsigned long long *);
    void *symbol = dlsym(RTLD_DEFAULT, "stretto_counters");
    counters_fn *counters;
    memcpy(&counters, &symbol, sizeof counters);
    for (int i = 0; counters && i < COLLECTIVES; i++) {
        unsigned long long n = 0;
        if (counters(comm, collectives[i], &n, NULL) == 0)
            ours[i] += (long)n;
    }
}

/* Say which of a set's collectives Stretto has not carried out once since `before`. */
static void say_left_out(const char *set, const long *before, const long *after) {
    char *text = strdup(set), *rest = NULL;
    for (char *one = strtok_r(text, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        one[strcspn(one, "=")] = 0;
        for (int i = 0; i < COLLECTIVES; i++)
            if (!strcmp(one, collectives[i]) && after[i] == before[i])
                printf("conformance: no %s by Stretto with %s\n", one, set);
    }
    free(text);
}
