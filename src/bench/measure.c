/* Measures one case: all candidates in rounds, each round in a new order, until every candidate's
 * median is known well enough or the case's share of the time is spent. Single values: timing.c. */
#include "bench/measuring.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Within a launch times differ little: the reference is timed in each of the first rounds, then in
 * every third one. */
enum { MOST_CALLS = 1 << 16, FEWEST_ROUNDS = 3, REFERENCE_FIRST = 5, REFERENCE_THEN = 3 };

static unsigned long long draw(unsigned long long *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Makes the candidate the one that runs on the work communicator. Same answer on all ranks. */
static bool choose(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    stretto_bench *bench = m->bench;
    /* "native:settings" were given to the MPI through the environment of this launch, or are made
     * where the candidate runs (places.c). */
    if (c->reference || strcmp(c->name, "bare") == 0 || strncmp(c->name, "native:", 7) == 0)
        return true;
    if (!bench->choose) {
        snprintf(c->detail, sizeof c->detail, "libstretto is not preloaded in this launch");
        return false;
    }
    if (m->shape->collective == STRETTO_BENCH_SELF)
        return true; /* passes through in any case */
    int rc = bench->choose(bench->work, stretto_bench_collective_name(m->shape->collective),
                           c->name, c->detail, sizeof c->detail);
    if (rc != 0 && strcmp(c->name, "native") == 0) {
        /* A collective that the library does not know is the MPI's own already. */
        c->detail[0] = '\0';
        return true;
    }
    return rc == 0;
}

/* Calls of Stretto's that are not blocking may be left to the MPI without a word: it counts. */
static bool count(stretto_bench_case_run *m, unsigned long long *ours, unsigned long long *native) {
    stretto_bench *bench = m->bench;
    return bench->job->form != STRETTO_BENCH_BLOCKING && bench->counters &&
           bench->counters(bench->work, stretto_bench_collective_name(m->shape->collective), ours,
                           native) == 0;
}

/* What is done between has the candidate's settings, communicator and request. */
static int within(stretto_bench_case_run *m, stretto_bench_candidate *c,
                  int (*what)(stretto_bench_case_run *, stretto_bench_candidate *)) {
    stretto_bench *bench = m->bench;
    stretto_bench_status(bench->out, m->index, bench->job->ncases,
                         stretto_bench_collective_name(m->shape->collective), m->shape->bytes,
                         c->name);
    int rc = stretto_bench_place_enter(m, c);
    unsigned long long ours = 0, native = 0, ours_now, native_now;
    count(m, &ours, &native);
    m->call.exchanges = c->reference;
    m->call.request = c->request;
    if (rc == MPI_SUCCESS)
        rc = what(m, c);
    c->request = m->call.request;
    m->call.request = MPI_REQUEST_NULL;
    m->call.exchanges = false;
    if (count(m, &ours_now, &native_now)) {
        c->ours += ours_now - ours;
        c->native += native_now - native;
    }
    int left = stretto_bench_place_leave(m, c);
    return rc == MPI_SUCCESS ? left : rc;
}

/* Check, and the number of calls that fills a batch. */
static int first_calls(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    stretto_bench *bench = m->bench;
    int rc = MPI_SUCCESS;
    if (!c->reference)
        rc = stretto_bench_call_check(&m->call, bench->control, bench->clock, &c->correct,
                                      c->detail, sizeof c->detail);
    if (rc != MPI_SUCCESS || !c->correct) {
        c->active = false;
        return rc;
    }
    double us = 0, aim = bench->job->batch_us;
    rc = stretto_bench_call_make(&m->call);
    for (c->batch = 1; rc == MPI_SUCCESS; c->batch *= 2) {
        /* The least of three: one disturbance must not decide on the size of all batches. */
        us = STRETTO_BENCH_MISSED;
        for (int i = 0;
             i < STRETTO_BENCH_TRIES && rc == MPI_SUCCESS && (i < 3 || us >= STRETTO_BENCH_MISSED);
             i++) {
            double once;
            rc = stretto_bench_batch(m, c->batch, &once);
            us = fmin(us, once);
        }
        if (us >= STRETTO_BENCH_MISSED || us * c->batch * 2 > aim || c->batch >= MOST_CALLS)
            break;
    }
    if (rc == MPI_SUCCESS) /* the checks of the other candidates change the blocks */
        rc = stretto_bench_call_free(&m->call.request);
    if (rc != MPI_SUCCESS)
        return rc;
    c->estimate = us < STRETTO_BENCH_MISSED ? 1e-6 * us : 1e-6 * aim / c->batch;
    if (us < STRETTO_BENCH_MISSED && us > 0) {
        double fits = floor(aim / us);
        c->batch = fits < 1 ? 1 : fits > MOST_CALLS ? MOST_CALLS : (int)fits;
    }
    /* What looked right on cold buffers must still be right after many calls: measure_case checks
     * again at the end. */
    return rc;
}

static int prepare(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    c->correct = true;
    c->active = choose(m, c);
    c->refused = !c->active;
    int rc = c->active ? stretto_bench_place_open(m, c) : MPI_SUCCESS;
    return rc == MPI_SUCCESS && c->active ? within(m, c, first_calls) : rc;
}

static int visit(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    stretto_bench *bench = m->bench;
    double us;
    choose(m, c);
    stretto_bench_flag_since(bench);
    int warm = c->batch / 8, rc;
    warm = warm < 1 ? 1 : warm > 32 ? 32 : warm;
    rc = stretto_bench_call_make(&m->call);
    if (rc == MPI_SUCCESS)
        rc = stretto_bench_batch(m, warm, &us);
    if (rc == MPI_SUCCESS && bench->job->throughput)
        rc = stretto_bench_take_throughput(m, c);
    if (rc == MPI_SUCCESS && bench->job->latency && !bench->job->yield)
        rc = stretto_bench_take_latency(m, c);
    return rc;
}

static bool settled(const stretto_bench_values *v, double aim, int least, double *scratch) {
    double median;
    if (v->n < least)
        return false;
    memcpy(scratch, v->us, (size_t)v->n * sizeof *scratch);
    return stretto_bench_half_interval(scratch, v->n, &median) <= aim;
}

/* Rank 0: 0 go on, 1 enough. */
static int enough(const stretto_bench_case_run *m, int rounds, double until, double share) {
    const stretto_bench_job *job = m->bench->job;
    bool all = true;
    int most = 0;
    if (rounds >= job->max_batches)
        return 1;
    /* On a disturbed machine everything takes many times as long: the budget holds all the same. */
    if (until > 0 && rounds >= FEWEST_ROUNDS && stretto_bench_seconds() > until + 2 * share)
        return 1;
    if (rounds < job->min_batches)
        return 0;
    if (until > 0 && stretto_bench_seconds() > until)
        return 1;
    for (int i = 0; i < m->n; i++)
        most = (int)fmax(most, fmax(m->candidates[i].throughput.n, m->candidates[i].latency.n));
    double *scratch = malloc((size_t)(most + 1) * sizeof *scratch);
    for (int i = 0; scratch && all && i < m->n; i++) {
        const stretto_bench_candidate *c = &m->candidates[i];
        if (!c->active || c->reference)
            continue;
        if (job->throughput)
            all = settled(&c->throughput, job->relative_ci, job->min_batches, scratch);
        if (all && job->latency && !job->yield)
            all = settled(&c->latency, job->relative_ci, job->min_batches, scratch);
    }
    free(scratch);
    return all;
}

static int rounds(stretto_bench_case_run *m) {
    stretto_bench *bench = m->bench;
    int *order = malloc((size_t)m->n * sizeof *order);
    double until = 0, share = 0;
    if (!order)
        return MPI_ERR_OTHER;
    if (bench->job->budget_s > 0) { /* an equal share of what is left */
        double left = bench->job->budget_s - (stretto_bench_seconds() - bench->begin);
        share = fmax(left, 0) / (bench->job->ncases - m->index);
        until = stretto_bench_seconds() + share;
    }
    int rc = MPI_SUCCESS;
    for (int done = 0, stop = 0; rc == MPI_SUCCESS && !stop;) {
        for (int i = 0; i < m->n; i++) { /* every rank draws the same order */
            int j = (int)(draw(&m->random) % (unsigned)(i + 1));
            order[i] = order[j];
            order[j] = i;
        }
        for (int i = 0; rc == MPI_SUCCESS && i < m->n; i++) {
            stretto_bench_candidate *c = &m->candidates[order[i]];
            bool skipped = c->reference && done >= REFERENCE_FIRST && done % REFERENCE_THEN;
            if (c->active && !skipped)
                rc = within(m, c, visit);
        }
        done++;
        stop = bench->rank == 0 ? enough(m, done, until, share) : 0;
        if (rc == MPI_SUCCESS)
            rc = stretto_bench_control_bcast(&stop, sizeof stop, 0, bench->control);
    }
    for (int i = 0; rc == MPI_SUCCESS && i < m->n; i++)
        rc = stretto_bench_call_free(&m->candidates[i].request);
    free(order);
    return rc;
}

static int last_calls(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    stretto_bench *bench = m->bench;
    int rc = stretto_bench_call_check(&m->call, bench->control, bench->clock, &c->correct,
                                      c->detail, sizeof c->detail);
    if (bench->last && m->shape->collective != STRETTO_BENCH_SELF &&
        bench->last(bench->work, stretto_bench_collective_name(m->shape->collective), c->done_by,
                    sizeof c->done_by) != 0)
        c->done_by[0] = '\0';
    return rc;
}

static int finish(stretto_bench_case_run *m, stretto_bench_candidate *c) {
    const stretto_bench *bench = m->bench;
    const stretto_bench_form form = bench->job->form;
    bool calls = c->active && !c->reference && choose(m, c);
    int rc = calls ? within(m, c, last_calls) : MPI_SUCCESS;
    if (calls && bench->counters && form != STRETTO_BENCH_BLOCKING && (c->native || !c->ours))
        snprintf(c->done_by, sizeof c->done_by, "native: %s calls", stretto_bench_form_name(form));
    stretto_bench_place_close(c);
    return rc;
}

static double median_of(stretto_bench_values *v) {
    double median = -1;
    if (v->n > 0)
        stretto_bench_half_interval(v->us, v->n, &median);
    return median;
}

/* `reference`: the last of the case's candidates, or NULL. */
static int report(stretto_bench_case_run *m, const stretto_bench_candidate *c,
                  stretto_bench_candidate *reference) {
    const stretto_bench_job *job = m->bench->job;
    stretto_bench_sample sample = {
        .candidate = c->name,
        .correct = c->correct,
        .refused = c->refused,
        .detail = c->detail[0] ? c->detail : NULL,
        .done_by = c->done_by[0] ? c->done_by : NULL,
        .clock_error_us = stretto_bench_clock_error_us(m->bench->clock),
    };
    int rc = 0;
    if (job->throughput || c->refused || !c->correct) {
        sample.mode = "throughput";
        sample.reference_us = reference ? median_of(&reference->throughput) : -1;
        sample.batch = c->batch;
        sample.times_us = c->throughput.us;
        sample.flag_ns = m->bench->flags ? c->throughput.flag_ns : NULL;
        sample.n = c->throughput.n;
        sample.missed = c->throughput.missed;
        rc = stretto_bench_sample_line(m->bench->out, job, m->shape, &sample);
    }
    if (rc == 0 && job->latency && !job->yield && !c->refused && c->latency.n > 0) {
        sample.mode = "latency";
        sample.reference_us = reference ? median_of(&reference->latency) : -1;
        sample.batch = 1;
        sample.times_us = c->latency.us;
        sample.flag_ns = NULL;
        sample.n = c->latency.n;
        sample.missed = c->latency.missed;
        rc = stretto_bench_sample_line(m->bench->out, job, m->shape, &sample);
    }
    return rc;
}

static int measure_case(stretto_bench *bench, int index, char *error, size_t error_size) {
    static const stretto_bench_choice messages = {.name = "reference"};
    const stretto_bench_case *shape = &bench->job->cases[index];
    stretto_bench_case_run m = {
        .bench = bench,
        .shape = shape,
        .n = shape->ncandidates + bench->job->reference,
        .index = index,
        .lead = stretto_bench_clock_nodes(bench->clock) > 1 ? 500e-6 : 30e-6,
        .gap = stretto_bench_clock_nodes(bench->clock) > 1 ? 50e-6 : 5e-6,
        .random = (bench->job->seed + 1) * 0x9E3779B97F4A7C15ull ^
                  ((unsigned long long)index + 1) * 0xD1B54A32D192ED03ull ^
                  (unsigned long long)bench->job->launch << 32,
    };
    int rc = MPI_SUCCESS, written = 0;
    if (m.random == 0)
        m.random = 88172645463325252ull;
    if (shape->ncandidates == 0)
        return 0;
    int opened =
        stretto_bench_call_open(&m.call, shape, bench->work, bench->job->cold, error, error_size);
    if (opened == 0 && bench->job->reference && stretto_bench_reference_open(&m.call) != 0) {
        snprintf(error, error_size, "no memory for the messages of the reference");
        opened = -1;
    }
    m.call.form = bench->job->form;
    m.candidates = calloc((size_t)m.n, sizeof *m.candidates);
    bool bad = opened != 0 || !m.candidates, any = false;
    rc = stretto_bench_control_any(bad, &any, bench->control);
    if (rc != MPI_SUCCESS || any) {
        if (!bad)
            snprintf(error, error_size, "another rank has no memory for %zu bytes", shape->bytes);
        written = -1;
        rc = MPI_SUCCESS;
        goto done;
    }
    rc = stretto_bench_clock_sync(bench->clock);
    for (int i = 0; rc == MPI_SUCCESS && i < m.n; i++) {
        const stretto_bench_choice *choice =
            i < shape->ncandidates ? &shape->candidates[i] : &messages;
        m.candidates[i].name = choice->name;
        m.candidates[i].choice = choice;
        m.candidates[i].reference = choice == &messages;
        m.candidates[i].comm = MPI_COMM_NULL;
        m.candidates[i].request = MPI_REQUEST_NULL;
        stretto_bench_status(bench->out, index, bench->job->ncases,
                             stretto_bench_collective_name(shape->collective), shape->bytes,
                             choice->name);
        stretto_bench_status_sync(bench->out); /* its first calls are where most crash or hang */
        rc = prepare(&m, &m.candidates[i]);
    }
    if (rc == MPI_SUCCESS)
        rc = rounds(&m);
    for (int i = 0; rc == MPI_SUCCESS && i < m.n; i++)
        rc = finish(&m, &m.candidates[i]);
    for (int i = 0; rc == MPI_SUCCESS && bench->rank == 0 && written == 0 && i < shape->ncandidates;
         i++)
        written = report(&m, &m.candidates[i],
                         bench->job->reference ? &m.candidates[shape->ncandidates] : NULL);
    if (written != 0)
        snprintf(error, error_size, "the results could not be written");
    if (rc == MPI_SUCCESS)
        rc = stretto_bench_control_bcast(&written, sizeof written, 0, bench->control);
done:
    for (int i = 0; m.candidates && i < m.n; i++) {
        free(m.candidates[i].throughput.us);
        free(m.candidates[i].throughput.flag_ns);
        free(m.candidates[i].latency.us);
        free(m.candidates[i].latency.flag_ns);
    }
    free(m.candidates);
    stretto_bench_call_close(&m.call);
    if (rc != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING + 1] = "";
        int length = 0;
        MPI_Error_string(rc, text, &length);
        snprintf(error, error_size, "%s of %zu bytes: the MPI says: %s",
                 stretto_bench_collective_name(shape->collective), shape->bytes, text);
        return -1;
    }
    return written;
}

int stretto_bench_measure(stretto_bench *bench, int index, char *error, size_t error_size) {
    const stretto_bench_case *shape = &bench->job->cases[index];
    const MPI_Comm all = bench->work;
    if (!stretto_bench_neighborly(shape->collective))
        return measure_case(bench, index, error, error_size);
    if (stretto_bench_graph_make(shape->pattern, all, &bench->work) != MPI_SUCCESS) {
        bench->work = all;
        snprintf(error, error_size, "the MPI does not make the graph %s", shape->pattern);
        return -1;
    }
    int done = measure_case(bench, index, error, error_size);
    MPI_Comm_free(&bench->work);
    bench->work = all;
    return done;
}
