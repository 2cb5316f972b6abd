/* JSON lines, appended with one write each, so that a kill truncates at most the last. */
#include "bench/bench.h"
#include "files/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

struct stretto_bench_output {
    int fd;
    const char *path;
    char *status;
    bool nfs; /* where the status lies: another node sees of it what was synced */
    char *line;
    size_t used, size;
    unsigned beat;
    bool failed; /* reported once, then nothing more is written */
};

static void put(stretto_bench_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(stretto_bench_output *out, const char *format, ...) {
    for (;;) {
        va_list arguments;
        va_start(arguments, format);
        int n = vsnprintf(out->line ? out->line + out->used : NULL,
                          out->line ? out->size - out->used : 0, format, arguments);
        va_end(arguments);
        if (n < 0) {
            out->failed = true;
            return;
        }
        if (out->line && out->used + (size_t)n < out->size) {
            out->used += (size_t)n;
            return;
        }
        size_t size = 2 * (out->used + (size_t)n + 256);
        char *line = realloc(out->line, size);
        if (!line) {
            out->failed = true;
            return;
        }
        out->line = line;
        out->size = size;
    }
}

static void put_string(stretto_bench_output *out, const char *text) {
    put(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            put(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            put(out, "\\u%04x", *c);
        else
            put(out, "%c", *c);
    put(out, "\"");
}

static int flush(stretto_bench_output *out) {
    put(out, "\n");
    for (size_t done = 0; !out->failed && done < out->used;) {
        ssize_t n = write(out->fd, out->line + done, out->used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            fprintf(stderr, "stretto-bench: %s: cannot be written: %s\n", out->path,
                    strerror(errno));
            out->failed = true;
        } else
            done += (size_t)n;
    }
    out->used = 0;
    return out->failed ? -1 : 0;
}

stretto_bench_output *stretto_bench_output_open(const stretto_bench_job *job, char *error,
                                                size_t error_size) {
    stretto_bench_output *out = calloc(1, sizeof *out);
    if (!out) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    out->path = job->output;
    const char *why;
    out->fd = stretto_open_regular(job->output, O_WRONLY | O_APPEND | O_CREAT, &why);
    if (out->fd < 0) {
        snprintf(error, error_size, "%s: cannot be written: %s", job->output, why);
        free(out);
        return NULL;
    }
    /* Without a status file a hang cannot be blamed on its candidate; measuring goes on. */
    int fd = job->status ? stretto_open_regular(job->status, O_RDWR | O_CREAT, &why) : -1;
    if (fd >= 0) {
        /* Room on the disk now: where there is none, the first write to the map would be a SIGBUS.
         */
        if (posix_fallocate(fd, 0, STRETTO_BENCH_STATUS) == 0) {
            void *map = mmap(NULL, STRETTO_BENCH_STATUS, PROT_WRITE, MAP_SHARED, fd, 0);
            out->status = map == MAP_FAILED ? NULL : map;
            struct statfs about;
            out->nfs = fstatfs(fd, &about) == 0 && about.f_type == NFS_SUPER_MAGIC;
        }
        close(fd);
    }
    return out;
}

int stretto_bench_output_close(stretto_bench_output *out) {
    if (!out)
        return 0;
    bool failed = out->failed;
    if (close(out->fd) != 0) {
        fprintf(stderr, "stretto-bench: %s: cannot be written: %s\n", out->path, strerror(errno));
        failed = true;
    }
    if (out->status)
        munmap(out->status, STRETTO_BENCH_STATUS);
    free(out->line);
    free(out);
    return failed ? -1 : 0;
}

void stretto_bench_status(stretto_bench_output *out, int done, int total, const char *collective,
                          size_t bytes, const char *candidate) {
    if (out && out->status)
        snprintf(out->status, STRETTO_BENCH_STATUS, "%d %d %s %zu %s %u\n", done, total, collective,
                 bytes, candidate, ++out->beat);
}

void stretto_bench_status_sync(stretto_bench_output *out) {
    if (out && out->status && out->nfs)
        msync(out->status, STRETTO_BENCH_STATUS, MS_SYNC);
}

void stretto_bench_launch_line(stretto_bench_output *out, const stretto_bench_job *job,
                               const stretto_bench_clock *clock, int nranks, double true_error_us,
                               const char *library) {
    put(out, "{\"type\": \"launch\", \"launch\": %d, \"variant\": ", job->launch);
    put_string(out, job->variant);
    put(out, ", \"nodes\": %d, \"ppn\": %d, \"nranks\": %d, \"candidates\": {",
        stretto_bench_clock_nodes(clock), stretto_bench_clock_ppn(clock), nranks);
    const char *comma = "";
    for (int c = 0; c < STRETTO_BENCH_COLLECTIVES; c++)
        for (int i = 0; i < job->ncases; i++) {
            const stretto_bench_case *shape = &job->cases[i];
            if ((int)shape->collective != c)
                continue;
            put(out, "%s\"%s\": [", comma, stretto_bench_collective_name(shape->collective));
            for (int k = 0; k < shape->ncandidates; k++) {
                put(out, "%s", k ? ", " : "");
                put_string(out, shape->candidates[k].name);
            }
            put(out, "]");
            comma = ", ";
            break; /* the first case stands for the collective */
        }
    put(out, "}, \"clock_error_us\": %.3f, \"timer_ns\": %.1f, \"seed\": %llu, \"buffers\": \"%s\"",
        stretto_bench_clock_error_us(clock), stretto_bench_clock_cost_ns(clock), job->seed,
        job->cold ? "cold" : "warm");
    if (job->fake_offset_us != 0 || job->fake_drift_ppm != 0)
        put(out, ", \"clock_true_error_us\": %.3f", true_error_us);
    put(out, ", \"library\": ");
    put_string(out, library);
    put(out, "}");
    flush(out);
}

void stretto_bench_usage_line(stretto_bench_output *out, const stretto_bench_job *job,
                              const stretto_bench_usage *usage, int cores) {
    put(out, "{\"type\": \"usage\", \"launch\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f", job->launch,
        usage->wall_s, usage->cpu_s);
    if (usage->core_wait_s >= 0)
        put(out, ", \"core_wait_s\": %.6f", usage->core_wait_s);
    if (usage->load >= 0)
        put(out, ", \"load\": %.2f", usage->load);
    put(out, ", \"involuntary\": %.0f, \"cores\": %d}", usage->involuntary, cores);
    flush(out);
}

int stretto_bench_sample_line(stretto_bench_output *out, const stretto_bench_job *job,
                              const stretto_bench_case *shape, const stretto_bench_sample *sample) {
    put(out, "{\"type\": \"sample\", \"launch\": %d, \"collective\": \"%s\", \"candidate\": ",
        job->launch, stretto_bench_collective_name(shape->collective));
    put_string(out, sample->candidate);
    put(out,
        ", \"bytes\": %zu, \"datatype\": \"%s\", \"operation\": \"%s\", \"root\": %d, "
        "\"mode\": \"%s\", \"batch\": %d, \"times_us\": [",
        shape->bytes, stretto_bench_datatype_name(shape->datatype),
        stretto_bench_operation_name(shape->operation), shape->root, sample->mode, sample->batch);
    for (int i = 0; i < sample->n; i++)
        put(out, "%s%.6g", i ? ", " : "", sample->times_us[i]);
    put(out, "]");
    for (int i = 0; sample->flag_ns && i < sample->n; i++)
        put(out, "%s%.0f%s", i ? ", " : ", \"flag_ns\": [", sample->flag_ns[i],
            i + 1 < sample->n ? "" : "]");
    if (shape->pattern) {
        put(out, ", \"pattern\": ");
        put_string(out, shape->pattern);
    }
    put(out, ", \"missed\": %d, \"correct\": %s, \"source\": \"measured\", \"variant\": ",
        sample->missed, sample->correct ? "true" : "false");
    put_string(out, job->variant);
    if (sample->reference_us > 0)
        put(out, ", \"reference_us\": %.6g", sample->reference_us);
    if (sample->clock_error_us > 0)
        put(out, ", \"clock_error_us\": %.3f", sample->clock_error_us);
    if (sample->refused)
        put(out, ", \"refused\": true");
    if (sample->done_by) {
        put(out, ", \"done_by\": ");
        put_string(out, sample->done_by);
    }
    if (sample->detail) {
        put(out, ", \"detail\": ");
        put_string(out, sample->detail);
    }
    put(out, "}");
    return flush(out);
}

int stretto_bench_fingerprint_line(stretto_bench_output *out, const stretto_bench_case *shape,
                                   int nranks, const uint64_t *const prints[2], uint64_t sent) {
    static const char *const names[STRETTO_BENCH_KINDS] = {"sums", "operands", "messages",
                                                           "arrivals"};
    put(out, "{\"type\": \"fingerprint\", \"collective\": \"%s\", \"bytes\": %zu, \"ranks\": %d",
        stretto_bench_collective_name(shape->collective), shape->bytes, nranks);
    for (int k = 0; k < STRETTO_BENCH_KINDS; k++)
        if (prints[0][k] || prints[1][k])
            put(out, ", \"%s\": [\"%016" PRIx64 "\", \"%016" PRIx64 "\"]", names[k], prints[0][k],
                prints[1][k]);
    put(out, ", \"sent\": %" PRIu64 "}", sent);
    return flush(out);
}
