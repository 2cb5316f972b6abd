/* Reads the job: words on lines, `#` comments, last line `end`.
 *
 *   stretto-job 1
 *   output FILE | status FILE | variant NAME | launch N | seed N | budget S | ci R | batch US
 *   batches MIN MAX | buffers warm|cold | calls blocking|nonblocking|persistent | modes
 * throughput,latency | yield 0|1 | reference 0|1 fake_clock OFFSET_US DRIFT_PPM case COLLECTIVE
 * BYTES DATATYPE OPERATION ROOT candidate CHOICE            (of the case above) set VARIABLE NUMBER
 * (of the candidate above: a control variable of MPI_T) end
 *
 * File names run to the end of their line. All ranks parse the same text, so all agree. */
#include "bench/bench.h"
#include "files/regular.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const collectives[STRETTO_BENCH_COLLECTIVES] = {
    [STRETTO_BENCH_ALLREDUCE] = "allreduce",
    [STRETTO_BENCH_BCAST] = "bcast",
    [STRETTO_BENCH_REDUCE] = "reduce",
    [STRETTO_BENCH_ALLGATHER] = "allgather",
    [STRETTO_BENCH_ALLTOALL] = "alltoall",
    [STRETTO_BENCH_GATHER] = "gather",
    [STRETTO_BENCH_SCATTER] = "scatter",
    [STRETTO_BENCH_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [STRETTO_BENCH_ALLGATHERV] = "allgatherv",
    [STRETTO_BENCH_ALLTOALLV] = "alltoallv",
    [STRETTO_BENCH_GATHERV] = "gatherv",
    [STRETTO_BENCH_SCATTERV] = "scatterv",
    [STRETTO_BENCH_REDUCE_SCATTER] = "reduce_scatter",
    [STRETTO_BENCH_SCAN] = "scan",
    [STRETTO_BENCH_EXSCAN] = "exscan",
    [STRETTO_BENCH_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
    [STRETTO_BENCH_NEIGHBOR_ALLGATHERV] = "neighbor_allgatherv",
    [STRETTO_BENCH_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
    [STRETTO_BENCH_NEIGHBOR_ALLTOALLV] = "neighbor_alltoallv",
    [STRETTO_BENCH_BARRIER] = "barrier",
    [STRETTO_BENCH_SELF] = "self",
};

static const char *const forms[STRETTO_BENCH_FORMS] = {"blocking", "nonblocking", "persistent"};

bool stretto_bench_reduces(stretto_bench_collective collective) {
    switch (collective) {
    case STRETTO_BENCH_ALLREDUCE:
    case STRETTO_BENCH_REDUCE:
    case STRETTO_BENCH_REDUCE_SCATTER:
    case STRETTO_BENCH_REDUCE_SCATTER_BLOCK:
    case STRETTO_BENCH_SCAN:
    case STRETTO_BENCH_EXSCAN:
    case STRETTO_BENCH_SELF: return true;
    default: return false;
    }
}

const char *stretto_bench_collective_name(stretto_bench_collective collective) {
    return collectives[collective];
}

static bool parse_number(const char *word, double low, double high, double *value) {
    char *end;
    if (!word || !*word)
        return false;
    *value = strtod(word, &end);
    return !*end && *value >= low && *value <= high;
}

static bool parse_int(const char *word, int low, int high, int *value) {
    double number;
    if (!parse_number(word, low, high, &number) || number != (double)(int)number)
        return false;
    *value = (int)number;
    return true;
}

const char *stretto_bench_form_name(stretto_bench_form form) {
    return forms[form];
}

static bool parse_form(const char *word, stretto_bench_form *form) {
    for (int f = 0; f < STRETTO_BENCH_FORMS; f++)
        if (strcmp(word, forms[f]) == 0) {
            *form = (stretto_bench_form)f;
            return true;
        }
    return false;
}

static const char *parse_pattern(stretto_bench_case *shape, const char *text, int nranks) {
    const char *slash = strchr(text, '/');
    shape->pattern = text;
    if (stretto_bench_neighborly(shape->collective)) {
        shape->blocks = slash ? slash + 1 : NULL;
        if (slash && !stretto_bench_irregular(shape->collective))
            return "all blocks of this collective have the same size";
        return stretto_bench_graph_problem(text, nranks);
    }
    shape->blocks = text;
    return stretto_bench_irregular(shape->collective)
               ? stretto_bench_pattern_problem(text)
               : "PATTERN is for collectives with a size for each rank";
}

/* One `case` line. NULL, or what is wrong with it. */
static const char *parse_case(stretto_bench_job *job, char **words, int nwords, int nranks) {
    if (nwords != 6 && nwords != 7)
        return "case wants COLLECTIVE BYTES DATATYPE OPERATION ROOT [PATTERN]";
    stretto_bench_case *cases = realloc(job->cases, (size_t)(job->ncases + 1) * sizeof *job->cases);
    if (!cases)
        return "out of memory";
    job->cases = cases;
    stretto_bench_case *shape = &cases[job->ncases];
    memset(shape, 0, sizeof *shape);
    shape->collective = STRETTO_BENCH_COLLECTIVES;
    for (int c = 0; c < STRETTO_BENCH_COLLECTIVES; c++)
        if (strcmp(words[1], collectives[c]) == 0)
            shape->collective = (stretto_bench_collective)c;
    if (shape->collective == STRETTO_BENCH_COLLECTIVES)
        return "unknown collective (allreduce, bcast, reduce, reduce_scatter, "
               "reduce_scatter_block, allgather, alltoall, gather, scatter, their v-forms, scan, "
               "exscan, neighbor_allgather, neighbor_alltoall, their v-forms, barrier, self)";
    double bytes;
    if (!parse_number(words[2], 0, 1e12, &bytes))
        return "BYTES is not a size";
    shape->bytes = (size_t)bytes;
    shape->datatype = stretto_bench_datatype_index(words[3]);
    if (shape->datatype < 0)
        return "unknown datatype";
    shape->operation = stretto_bench_operation_index(words[4]);
    if (shape->operation < 0)
        return "unknown operation";
    if (!stretto_bench_operation_on(shape->operation, shape->datatype) &&
        stretto_bench_reduces(shape->collective))
        return "MPI does not define this operation on this datatype";
    if (shape->bytes % stretto_bench_datatype_size(shape->datatype) != 0)
        return "BYTES is not a multiple of the datatype's size";
    if (!parse_int(words[5], 0, nranks - 1, &shape->root))
        return "ROOT is not a rank";
    job->ncases++;
    return nwords == 7                                   ? parse_pattern(shape, words[6], nranks)
           : stretto_bench_neighborly(shape->collective) ? "a neighbourhood wants a PATTERN"
                                                         : NULL;
}

static const char *parse_candidate(stretto_bench_job *job, char *choice) {
    if (job->ncases == 0)
        return "candidate before any case";
    stretto_bench_case *shape = &job->cases[job->ncases - 1];
    stretto_bench_choice *candidates =
        realloc(shape->candidates, (size_t)(shape->ncandidates + 1) * sizeof *shape->candidates);
    if (!candidates)
        return "out of memory";
    shape->candidates = candidates;
    candidates[shape->ncandidates++] = (stretto_bench_choice){.name = choice};
    return NULL;
}

static const char *parse_setting(stretto_bench_job *job, const char *name, const char *value) {
    stretto_bench_case *shape = job->ncases ? &job->cases[job->ncases - 1] : NULL;
    if (!shape || shape->ncandidates == 0)
        return "set before any candidate";
    stretto_bench_choice *choice = &shape->candidates[shape->ncandidates - 1];
    stretto_bench_setting *settings =
        realloc(choice->settings, (size_t)(choice->nsettings + 1) * sizeof *settings);
    if (!settings)
        return "out of memory";
    choice->settings = settings;
    settings[choice->nsettings++] = (stretto_bench_setting){name, value};
    return NULL;
}

/* One line cut into words. NULL, or what is wrong with it. */
static const char *parse_words(stretto_bench_job *job, char **words, int nwords, int nranks) {
    const char *key = words[0], *value = nwords > 1 ? words[1] : "";
    const char *value2 = nwords > 2 ? words[2] : "";
    if (strcmp(key, "case") == 0)
        return parse_case(job, words, nwords, nranks);
    if (strcmp(key, "candidate") == 0)
        return nwords == 2 ? parse_candidate(job, words[1]) : "candidate wants one CHOICE";
    if (strcmp(key, "set") == 0)
        return nwords == 3 ? parse_setting(job, value, value2) : "set wants VARIABLE NUMBER";
    if (strcmp(key, "variant") == 0)
        job->variant = value;
    else if (strcmp(key, "seed") == 0)
        job->seed = strtoull(value, NULL, 10);
    else if (strcmp(key, "buffers") == 0 && (!strcmp(value, "warm") || !strcmp(value, "cold")))
        job->cold = strcmp(value, "cold") == 0;
    else if (strcmp(key, "calls") == 0 && parse_form(value, &job->form))
        ;
    else if (strcmp(key, "modes") == 0) {
        job->throughput = strstr(value, "throughput") != NULL;
        job->latency = strstr(value, "latency") != NULL;
        if (!job->throughput && !job->latency)
            return "modes are throughput and latency";
    } else if (strcmp(key, "yield") == 0)
        job->yield = strcmp(value, "0") != 0;
    else if (strcmp(key, "reference") == 0)
        job->reference = strcmp(value, "0") != 0;
    else if (strcmp(key, "launch") == 0 && parse_int(value, 0, 1 << 30, &job->launch))
        ;
    else if (strcmp(key, "budget") == 0 && parse_number(value, 0, 1e9, &job->budget_s))
        ;
    else if (strcmp(key, "ci") == 0 && parse_number(value, 0, 1, &job->relative_ci))
        ;
    else if (strcmp(key, "batch") == 0 && parse_number(value, 1, 1e9, &job->batch_us))
        ;
    else if (strcmp(key, "batches") == 0 && parse_int(value, 1, 100000, &job->min_batches) &&
             parse_int(value2, job->min_batches, 100000, &job->max_batches))
        ;
    else if (strcmp(key, "fake_clock") == 0 &&
             parse_number(value, -1e9, 1e9, &job->fake_offset_us) &&
             parse_number(value2, -1e5, 1e5, &job->fake_drift_ppm))
        ;
    else
        return "unknown key, or a value out of range";
    return NULL;
}

static int parse(stretto_bench_job *job, const char *path, int nranks, char *error,
                 size_t error_size) {
    enum { MOST = 8 };
    int number = 0;
    bool began = false, ended = false;
    for (char *line = job->text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        number++;
        line += strspn(line, " \t\r");
        const char *wrong = NULL;
        if (*line == '\0' || *line == '#')
            continue;
        if (ended)
            wrong = "text after `end`";
        else if (!began)
            wrong = (began = strcmp(line, "stretto-job 1") == 0)
                        ? NULL
                        : "not a stretto job of version 1 (first line `stretto-job 1`)";
        else if (strcmp(line, "end") == 0)
            ended = true;
        else if (strncmp(line, "output ", 7) == 0)
            job->output = line + 7;
        else if (strncmp(line, "status ", 7) == 0)
            job->status = line + 7;
        else {
            char *words[MOST] = {line}, *save = NULL;
            int nwords = 0;
            for (char *word = strtok_r(line, " \t\r", &save); word && nwords < MOST;
                 word = strtok_r(NULL, " \t\r", &save))
                words[nwords++] = word;
            wrong = nwords == MOST ? "too many words" : parse_words(job, words, nwords, nranks);
        }
        if (wrong) {
            snprintf(error, error_size, "%s:%d: %s", path, number, wrong);
            return -1;
        }
    }
    const char *missing = !ended         ? "no `end` line: the job is truncated"
                          : !job->output ? "no `output` line"
                          : !job->ncases ? "no `case` line"
                                         : NULL;
    if (missing) {
        snprintf(error, error_size, "%s: %s", path, missing);
        return -1;
    }
    return 0;
}

int stretto_bench_job_read(stretto_bench_job *job, const char *path, MPI_Comm comm, char *error,
                           size_t error_size) {
    int rank, nranks;
    static const size_t LIMIT = 256u << 20; /* bytes: a line for each case and candidate */
    long size = -1;
    memset(job, 0, sizeof *job);
    job->variant = "stretto";
    job->relative_ci = 0.02;
    job->batch_us = 300;
    job->min_batches = 9;
    job->max_batches = 99;
    job->throughput = job->latency = true;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    if (rank == 0) {
        const char *why = "";
        size_t read = 0;
        job->text = stretto_read_regular(path, LIMIT, &read, &why);
        size = job->text ? (long)read : -1;
        if (!job->text)
            snprintf(error, error_size, "%s: cannot be read: %s", path, why);
    } else
        snprintf(error, error_size, "%s: cannot be read on rank 0", path);
    if (stretto_bench_control_bcast(&size, sizeof size, 0, comm) != MPI_SUCCESS || size < 0)
        return -1;
    if (rank != 0)
        job->text = calloc(1, (size_t)size + 1);
    if (!job->text) { /* the others wait for it: there is no way on */
        fprintf(stderr, "stretto-bench: out of memory for the job (%ld bytes)\n", size);
        MPI_Abort(comm, 1);
    }
    stretto_bench_control_bcast(job->text, (size_t)size, 0, comm);
    return parse(job, path, nranks, error, error_size);
}

void stretto_bench_job_free(stretto_bench_job *job) {
    for (int i = 0; i < job->ncases; i++) {
        for (int c = 0; c < job->cases[i].ncandidates; c++)
            free(job->cases[i].candidates[c].settings);
        free(job->cases[i].candidates);
    }
    free(job->cases);
    free(job->text);
    memset(job, 0, sizeof *job);
}
