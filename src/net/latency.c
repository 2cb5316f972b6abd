/* Latency: one message there and back at a time, without delay (TCP_NODELAY). */
#include "net/net.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { ROUNDS_MOST = 1 << 18 };

/* Blocking, with a limit: fewer system calls in what is timed. */
static void make_blocking(int fd) {
    struct timeval limit = {(time_t)NET_STALL, 0};
    int one = 1;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* Moves a whole message. `over` is set where the other side has closed before its first byte. */
static bool move(int fd, char *buffer, size_t size, bool out, bool *over,
                 struct net_failure *failure) {
    for (size_t done = 0; done < size;) {
        ssize_t n = out ? send(fd, buffer + done, size - done, MSG_NOSIGNAL)
                        : recv(fd, buffer + done, size - done, 0);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 && done == 0 && over != NULL) {
            *over = true;
            return true;
        }
        if (n < 0 && errno == EAGAIN)
            return net_fail(failure, "timeout", "no message comes back within %.0f s", NET_STALL);
        return net_fail_errno(failure, n == 0 ? ECONNRESET : errno,
                              "the connection broke while measuring latency");
    }
    return true;
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static char *report(float *rounds_us, int count) {
    char *text = NULL;
    qsort(rounds_us, (size_t)count, sizeof *rounds_us, by_value);
    int last = (int)(0.99 * (count - 1) + 0.5);
    /* one way is half of there and back */
    if (asprintf(&text,
                 "{\"count\":%d,\"min_us\":%.3f,\"median_us\":%.3f,\"p99_us\":%.3f,"
                 "\"max_us\":%.3f}",
                 count, rounds_us[0] / 2, rounds_us[count / 2] / 2, rounds_us[last] / 2,
                 rounds_us[count - 1] / 2) < 0)
        return NULL;
    return text;
}

static char *ping(const struct net_traffic *of, char *buffer, struct net_failure *failure) {
    size_t size = (size_t)of->params->bytes;
    float *rounds = malloc(ROUNDS_MOST * sizeof *rounds);
    if (rounds == NULL) {
        net_fail(failure, "system", "out of memory");
        return NULL;
    }
    double begin = net_now() + of->params->warmup, last = net_now();
    int count = 0;
    bool good = true;
    while (good && count < ROUNDS_MOST && (count == 0 || last < begin + of->params->seconds)) {
        double sent = last;
        good = move(of->fds[0], buffer, size, true, NULL, failure) &&
               move(of->fds[0], buffer, size, false, NULL, failure);
        last = net_now();
        if (sent >= begin)
            rounds[count++] = (float)((last - sent) * 1e6);
    }
    char *json = good ? report(rounds, count) : NULL;
    free(rounds);
    if (json != NULL && !of->finish(of->context, json, failure)) {
        free(json);
        json = NULL;
    }
    return json;
}

static char *pong(const struct net_traffic *of, char *buffer, struct net_failure *failure) {
    size_t size = (size_t)of->params->bytes;
    double end = net_now() + of->params->warmup + of->params->seconds + NET_PATIENCE;
    bool over = false, good = true;
    while (good && !over && net_now() < end) {
        good = move(of->fds[0], buffer, size, false, &over, failure);
        if (good && !over)
            good = move(of->fds[0], buffer, size, true, NULL, failure);
    }
    char *json = good ? strdup("{}") : NULL;
    if (json != NULL && !of->finish(of->context, json, failure)) {
        free(json);
        json = NULL;
    }
    return json;
}

char *net_latency(const struct net_traffic *of, struct net_failure *failure) {
    char *buffer = calloc(1, (size_t)of->params->bytes);
    char *json = NULL;
    make_blocking(of->fds[0]);
    if (buffer != NULL)
        json = of->client ? ping(of, buffer, failure) : pong(of, buffer, failure);
    if (json == NULL)
        net_fail(failure, "system", "out of memory");
    free(buffer);
    return json;
}
