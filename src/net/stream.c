/* Bandwidth: threads that serve connections with epoll, and a clock that looks at what has passed.
 *
 * Thread t serves connections t, t + threads, ...: one thread is one core with many sockets, as
 * many threads as connections are cores of their own. Bytes count where they arrive.
 */
#include "net/net.h"
#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_LEAST = 128 << 10, EVENTS = 64, SAMPLES_MOST = 4096 };

struct flow {
    _Alignas(64) atomic_uint_fast64_t bytes;
    int fd;
    bool sends;
    size_t offset; /* in the message that is being sent */
    uint64_t first_bytes, last_bytes;
    struct tcp_info first, last;
};

struct worker {
    struct traffic *traffic;
    pthread_t thread;
    clockid_t clock;
    double first_cpu, last_cpu;
    char *buffer;
    size_t size;
    int epoll;
    struct net_failure failure; /* read when `failed` is set */
    atomic_bool failed;
};

struct traffic {
    const struct net_traffic *of;
    struct flow *flows;
    int count;
    struct worker *workers;
    int threads, started;
    atomic_bool stop;    /* end now */
    atomic_bool closing; /* this side's window is over: the other may close */
};

static void no_bytes(struct worker *w, struct flow *flow, ssize_t n) {
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int error = n == 0 ? ECONNRESET : errno;
    if (!atomic_load(&w->traffic->closing)) {
        net_fail_errno(&w->failure, error, "a data connection broke while measuring");
        atomic_store(&w->failed, true);
    }
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, flow->fd, NULL);
}

static void serve(struct worker *w, struct flow *flow) {
    size_t message = (size_t)w->traffic->of->params->bytes;
    ssize_t n;
    if (flow->sends) {
        n = send(flow->fd, w->buffer + flow->offset, message - flow->offset, MSG_NOSIGNAL);
        if (n > 0)
            flow->offset = (flow->offset + (size_t)n) % message;
    } else {
        n = recv(flow->fd, w->buffer, w->size, 0);
    }
    if (n > 0)
        atomic_fetch_add_explicit(&flow->bytes, (uint64_t)n, memory_order_relaxed);
    else
        no_bytes(w, flow, n);
}

static void *work(void *argument) {
    struct worker *w = argument;
    struct epoll_event events[EVENTS];
    while (!atomic_load_explicit(&w->traffic->stop, memory_order_relaxed) &&
           !atomic_load_explicit(&w->failed, memory_order_relaxed)) {
        int n = epoll_wait(w->epoll, events, EVENTS, 50);
        for (int i = 0; i < n; i++)
            serve(w, events[i].data.ptr);
    }
    return NULL;
}

static bool start(struct traffic *t, struct net_failure *failure) {
    for (int i = 0; i < t->threads; i++) {
        struct worker *w = &t->workers[i];
        w->traffic = t;
        w->size = (size_t)t->of->params->bytes;
        if (w->size < READ_LEAST)
            w->size = READ_LEAST;
        w->buffer = calloc(1, w->size);
        w->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (w->buffer == NULL || w->epoll < 0)
            return net_fail(failure, "system", "out of memory or descriptors (ulimit -n)");
    }
    for (int i = 0; i < t->count; i++) {
        struct flow *flow = &t->flows[i];
        flow->fd = t->of->fds[i];
        flow->sends = i < t->of->sending;
        /* of both directions each by itself is dealt out to the threads */
        int at = flow->sends ? i : i - t->of->sending;
        struct epoll_event event = {.events = flow->sends ? EPOLLOUT : EPOLLIN, .data.ptr = flow};
        if (epoll_ctl(t->workers[at % t->threads].epoll, EPOLL_CTL_ADD, flow->fd, &event) != 0)
            return net_fail_errno(failure, errno, "epoll");
    }
    for (; t->started < t->threads; t->started++) {
        struct worker *w = &t->workers[t->started];
        int error = pthread_create(&w->thread, NULL, work, w);
        if (error != 0)
            return net_fail_errno(failure, error, "cannot start a thread");
        pthread_getcpuclockid(w->thread, &w->clock);
    }
    return true;
}

static double cpu_of(const struct worker *w) {
    struct timespec t;
    if (clock_gettime(w->clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct tcp_info info_of(int fd) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info;
}

static uint64_t total(const struct traffic *t, bool sends) {
    uint64_t sum = 0;
    for (int i = 0; i < t->count; i++)
        if (t->flows[i].sends == sends)
            sum += atomic_load_explicit(&t->flows[i].bytes, memory_order_relaxed);
    return sum;
}

/* The begin or end of what counts; bytes first, all at nearly the same time. */
static void mark(struct traffic *t, bool first) {
    for (int i = 0; i < t->count; i++) {
        struct flow *flow = &t->flows[i];
        *(first ? &flow->first_bytes : &flow->last_bytes) =
            atomic_load_explicit(&flow->bytes, memory_order_relaxed);
    }
    for (int i = 0; i < t->count; i++)
        *(first ? &t->flows[i].first : &t->flows[i].last) = info_of(t->flows[i].fd);
    for (int i = 0; i < t->threads; i++)
        *(first ? &t->workers[i].first_cpu : &t->workers[i].last_cpu) = cpu_of(&t->workers[i]);
}

static bool healthy(struct traffic *t, struct net_failure *failure) {
    for (int i = 0; i < t->threads; i++)
        if (atomic_load(&t->workers[i].failed))
            return net_fail(failure, t->workers[i].failure.kind, "%s", t->workers[i].failure.text);
    return true;
}

/* Waits on the control connection, where nothing is to come. */
static bool until(struct traffic *t, double when, struct net_failure *failure) {
    static const double LOOK = 0.1;
    for (;;) {
        double now = net_now(), next = now + LOOK < when ? now + LOOK : when;
        if (!healthy(t, failure))
            return false;
        if (net_wait(t->of->control, POLLIN, next)) {
            char byte;
            ssize_t n = recv(t->of->control, &byte, 1, MSG_PEEK);
            if (n < 0 && (errno == EAGAIN || errno == EINTR))
                continue;
            if (n < 0)
                return net_fail_errno(failure, errno, "the other side is gone");
            if (n == 0)
                return net_fail(failure, "closed", "the other side ended while measuring");
            /* it is the other side's result or error, a little earlier than ours */
            struct timespec rest = {0, (long)((next - net_now()) * 1e9)};
            if (rest.tv_nsec > 0)
                nanosleep(&rest, NULL);
        }
        if (net_now() >= when)
            return true;
    }
}

struct samples {
    double seconds[SAMPLES_MOST];
    uint64_t sent[SAMPLES_MOST], received[SAMPLES_MOST];
    int count;
};

static bool sample(struct traffic *t, struct samples *s, struct net_failure *failure) {
    const struct net_params *p = t->of->params;
    if (!until(t, net_now() + p->warmup, failure))
        return false;
    double begin = net_now(), last = begin, moved = begin;
    uint64_t sent = total(t, true), received = total(t, false);
    mark(t, true);
    while (s->count < SAMPLES_MOST && last < begin + p->seconds - 0.5 * p->interval) {
        if (!until(t, begin + (s->count + 1) * p->interval, failure))
            return false;
        double now = net_now();
        uint64_t out = total(t, true), in = total(t, false);
        s->seconds[s->count] = now - last;
        s->sent[s->count] = out - sent;
        s->received[s->count++] = in - received;
        if (out != sent || in != received)
            moved = now;
        else if (now - moved > NET_STALL)
            return net_fail(failure, "timeout", "no data arrives for %.0f s", NET_STALL);
        last = now, sent = out, received = in;
    }
    mark(t, false);
    return true;
}

static void put_list(FILE *out, const char *name, const uint64_t *values, int count) {
    fprintf(out, ",\"%s\":[", name);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%" PRIu64, i ? "," : "", values[i]);
    fputc(']', out);
}

static void put_flow(FILE *out, const struct flow *flow, bool first) {
    const struct tcp_info *a = &flow->first, *b = &flow->last;
    int sndbuf = 0, rcvbuf = 0;
    socklen_t size = sizeof sndbuf;
    getsockopt(flow->fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, &size);
    getsockopt(flow->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &size);
    fprintf(out,
            "%s{\"sends\":%s,\"bytes\":%" PRIu64 ",\"retransmitted\":%u,\"cwnd_segments\":%u,"
            "\"mss\":%u,\"rtt_us\":%u,\"min_rtt_us\":%u,\"path_mtu\":%u,\"send_buffer\":%d,"
            "\"receive_buffer\":%d,\"busy_us\":%llu,\"receiver_limited_us\":%llu,"
            "\"buffer_limited_us\":%llu}",
            first ? "" : ",", flow->sends ? "true" : "false", flow->last_bytes - flow->first_bytes,
            b->tcpi_total_retrans - a->tcpi_total_retrans, b->tcpi_snd_cwnd, b->tcpi_snd_mss,
            b->tcpi_rtt, b->tcpi_min_rtt, b->tcpi_pmtu, sndbuf, rcvbuf,
            b->tcpi_busy_time - a->tcpi_busy_time, b->tcpi_rwnd_limited - a->tcpi_rwnd_limited,
            b->tcpi_sndbuf_limited - a->tcpi_sndbuf_limited);
}

static char *report(const struct traffic *t, const struct samples *s) {
    char *text = NULL, congestion[16] = "";
    size_t size = 0;
    socklen_t length = sizeof congestion;
    double cpu = 0, busiest = 0, seconds = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    for (int i = 0; i < t->threads; i++) {
        double mine = t->workers[i].last_cpu - t->workers[i].first_cpu;
        cpu += mine;
        busiest = mine > busiest ? mine : busiest;
    }
    if (t->count > 0)
        getsockopt(t->flows[0].fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &length);
    fprintf(out, "{\"cpu_s\":%.6f,\"busiest_thread_s\":%.6f,\"congestion\":", cpu, busiest);
    congestion[sizeof congestion - 1] = '\0';
    net_json_text(out, congestion);
    fputs(",\"seconds\":[", out);
    for (int i = 0; i < s->count; i++) {
        fprintf(out, "%s%.6f", i ? "," : "", s->seconds[i]);
        seconds += s->seconds[i];
    }
    fprintf(out, "],\"measured_s\":%.6f", seconds);
    put_list(out, "sent", s->sent, s->count);
    put_list(out, "received", s->received, s->count);
    fputs(",\"flows\":[", out);
    for (int i = 0; i < t->count; i++)
        put_flow(out, &t->flows[i], i == 0);
    fputs("]}", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void clear(struct traffic *t) {
    atomic_store(&t->stop, true);
    for (int i = 0; i < t->started; i++)
        pthread_join(t->workers[i].thread, NULL);
    for (int i = 0; t->workers != NULL && i < t->threads; i++) {
        free(t->workers[i].buffer);
        if (t->workers[i].epoll > 0)
            close(t->workers[i].epoll);
    }
    free(t->workers);
    free(t->flows);
}

char *net_stream(const struct net_traffic *of, struct net_failure *failure) {
    struct traffic t = {.of = of, .count = of->sending + of->receiving};
    int most = of->sending > of->receiving ? of->sending : of->receiving;
    t.threads = of->params->threads < most ? of->params->threads : most;
    size_t size = (size_t)t.count * sizeof *t.flows;
    t.flows = aligned_alloc(64, size);
    t.workers = calloc((size_t)t.threads, sizeof *t.workers);
    struct samples *samples = calloc(1, sizeof *samples);
    char *json = NULL;
    if (t.flows != NULL && t.workers != NULL && samples != NULL) {
        memset(t.flows, 0, size);
        if (start(&t, failure) && sample(&t, samples, failure)) {
            atomic_store(&t.closing, true);
            json = report(&t, samples);
            if (json != NULL && !of->finish(of->context, json, failure)) {
                free(json);
                json = NULL;
            }
        }
    }
    if (json == NULL)
        net_fail(failure, "system", "out of memory");
    clear(&t);
    free(samples);
    return json;
}
