/* Two hosts agree on a measurement, connect, measure, and exchange their figures. */
#include "net/net.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 512, RESULT_MOST = 64 << 20, PENDING_MOST = 256 };

/* A measurement that waits for its data connections. */
struct session {
    unsigned long id;
    int *fds;
    int wanted, there;
    struct session *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct session *first;
    unsigned long last;
    int listening;
    char token[NET_TOKEN_MOST + 1];
    atomic_int pending; /* connections that have not said what they are */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

bool net_word(const char *line, const char *key, char *value, size_t size) {
    size_t length = strlen(key);
    for (const char *at = line; (at = strstr(at, key)) != NULL; at += length) {
        if ((at != line && at[-1] != ' ') || at[length] != '=')
            continue;
        size_t end = strcspn(at + length + 1, " ");
        if (end >= size)
            return false;
        memcpy(value, at + length + 1, end);
        value[end] = '\0';
        return true;
    }
    return false;
}

static bool number(const char *line, const char *key, double low, double high, double *value,
                   struct net_failure *failure) {
    char text[64], *end = text;
    bool found = net_word(line, key, text, sizeof text);
    if (found)
        *value = strtod(text, &end);
    if (!found || end == text || *end != '\0' || !(*value >= low && *value <= high))
        return net_fail(failure, "system", "%s must be %g to %g, not '%s'", key, low, high,
                        found ? text : "");
    return true;
}

bool net_parse(const char *line, struct net_params *p, struct net_failure *failure) {
    double mode, direction, streams, threads, bytes, buffer;
    bool good = number(line, "mode", NET_STREAM, NET_LATENCY, &mode, failure) &&
                number(line, "direction", NET_FORWARD, NET_BOTH, &direction, failure) &&
                number(line, "streams", 1, NET_STREAMS_MOST, &streams, failure) &&
                number(line, "threads", 1, NET_STREAMS_MOST, &threads, failure) &&
                number(line, "bytes", 1, NET_BYTES_MOST, &bytes, failure) &&
                number(line, "buffer", 0, 1 << 30, &buffer, failure) &&
                number(line, "warmup", 0, 3600, &p->warmup, failure) &&
                number(line, "seconds", 0.01, 3600, &p->seconds, failure) &&
                number(line, "interval", 0.01, 3600, &p->interval, failure);
    if (!good)
        return false;
    p->mode = (enum net_mode)mode;
    p->direction = (enum net_direction)direction;
    p->streams = p->mode == NET_LATENCY ? 1 : (int)streams;
    p->threads = (int)threads;
    p->bytes = (long)bytes;
    p->buffer = (long)buffer;
    if (p->interval > p->seconds)
        p->interval = p->seconds;
    if (p->mode == NET_LATENCY)
        p->direction = NET_FORWARD;
    return true;
}

void net_format(const struct net_params *p, char *text, size_t size) {
    snprintf(text, size,
             "mode=%d direction=%d streams=%d threads=%d bytes=%ld buffer=%ld warmup=%g seconds=%g "
             "interval=%g",
             p->mode, p->direction, p->streams, p->threads, p->bytes, p->buffer, p->warmup,
             p->seconds, p->interval);
}

static int connections(const struct net_params *p) {
    return p->direction == NET_BOTH ? 2 * p->streams : p->streams;
}

/* The connections on which this side sends come first in `fds`. */
static char *measure(struct net_traffic *traffic, struct net_failure *failure) {
    const struct net_params *p = traffic->params;
    bool sends = p->direction == NET_BOTH || (p->direction == NET_FORWARD) == traffic->client;
    bool receives = p->direction == NET_BOTH || !sends;
    traffic->sending = sends ? p->streams : 0;
    traffic->receiving = receives ? p->streams : 0;
    return p->mode == NET_LATENCY ? net_latency(traffic, failure) : net_stream(traffic, failure);
}

/* What has not been delivered is thrown away: nobody waits for it. */
static void close_all(int *fds, int count) {
    struct linger now = {1, 0};
    for (int i = 0; i < count; i++)
        if (fds[i] >= 0) {
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &now, sizeof now);
            close(fds[i]);
        }
}

/* --- the side that listens */

static bool finish_server(void *context, const char *json, struct net_failure *failure) {
    int control = *(int *)context;
    double until = net_now() + 3 * NET_PATIENCE;
    if (!net_send_line(control, until, failure, "result %s", json))
        return false;
    while (net_wait(control, POLLIN, until)) { /* the other side closes when it is done */
        char byte;
        ssize_t n = recv(control, &byte, 1, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            break;
    }
    return true;
}

static bool gather(struct session *s, int control, struct net_failure *failure) {
    pthread_mutex_lock(&server.lock);
    s->id = ++server.last;
    s->next = server.first;
    server.first = s;
    pthread_mutex_unlock(&server.lock);
    bool good = net_send_line(control, net_now() + NET_PATIENCE, failure, "session %lu", s->id);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += (time_t)NET_PATIENCE;
    pthread_mutex_lock(&server.lock);
    while (good && s->there < s->wanted)
        if (pthread_cond_timedwait(&server.arrived, &server.lock, &limit) != 0)
            good = net_fail(failure, "timeout", "%d of %d data connections came within %.0f s",
                            s->there, s->wanted, NET_PATIENCE);
    for (struct session **at = &server.first; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&server.lock);
    return good;
}

static void serve_control(int control) {
    struct net_failure failure = {0};
    struct net_params params;
    struct session s = {0};
    double until = net_now() + NET_PATIENCE;
    char *line = net_read_line(control, LINE, until, &failure);
    bool good = line != NULL && net_parse(line, &params, &failure);
    free(line);
    if (good) {
        s.wanted = connections(&params);
        s.fds = malloc((size_t)s.wanted * sizeof *s.fds);
        good = s.fds != NULL || net_fail(&failure, "system", "out of memory");
    }
    for (int i = 0; good && i < s.wanted; i++)
        s.fds[i] = -1;
    good = good && gather(&s, control, &failure) &&
           net_send_line(control, net_now() + NET_PATIENCE, &failure, "connected");
    line = good ? net_read_line(control, LINE, net_now() + NET_PATIENCE, &failure) : NULL;
    if (line != NULL) { /* "go" */
        struct net_traffic traffic = {.params = &params,
                                      .fds = s.fds,
                                      .control = control,
                                      .finish = finish_server,
                                      .context = &control};
        for (int i = 0; i < s.wanted; i++)
            net_prepare(s.fds[i], params.buffer);
        free(measure(&traffic, &failure));
    }
    free(line);
    if (failure.kind != NULL) {
        struct net_failure ignored = {0};
        net_send_line(control, net_now() + 1, &ignored, "error %s %s", failure.kind, failure.text);
    }
    if (s.fds != NULL)
        close_all(s.fds, s.wanted);
    free(s.fds);
    close(control);
}

/* Connection `index` of a session; where both sides send, the other side's come first. */
static void serve_data(int fd, unsigned long id, int index) {
    pthread_mutex_lock(&server.lock);
    struct session *s = server.first;
    while (s != NULL && s->id != id)
        s = s->next;
    if (s != NULL && index >= 0 && index < s->wanted && s->fds[index] < 0) {
        s->fds[index] = fd;
        s->there++;
        fd = -1;
        pthread_cond_broadcast(&server.arrived);
    }
    pthread_mutex_unlock(&server.lock);
    if (fd >= 0)
        close(fd);
}

static bool same_token(const char *one, const char *two) {
    size_t length = strlen(two);
    unsigned char differs = strlen(one) != length;
    for (size_t i = 0; i < length && one[i] != '\0'; i++)
        differs |= (unsigned char)(one[i] ^ two[i]);
    return !differs && length > 0;
}

static void *greet(void *argument) {
    int fd = (int)(intptr_t)argument, version = 0, index = -1;
    unsigned long id = 0;
    char token[NET_TOKEN_MOST + 1] = "", kind[16] = "";
    struct net_failure failure = {0};
    net_prepare(fd, 0);
    char *line = net_read_line(fd, LINE, net_now() + NET_PATIENCE, &failure);
    atomic_fetch_sub(&server.pending, 1);
    int words = line == NULL ? 0
                             : sscanf(line, "stretto-net %d %64s %15s %lu %d", &version, token,
                                      kind, &id, &index);
    free(line);
    bool known = words >= 3 && same_token(token, server.token);
    struct net_failure ignored = {0};
    if (words >= 1 && version != NET_VERSION)
        net_send_line(fd, net_now() + 1, &ignored,
                      "error version it has version %d of stretto-net, and this side version %d",
                      NET_VERSION, version);
    else if (words >= 1 && !known)
        net_send_line(fd, net_now() + 1, &ignored,
                      "error foreign it belongs to another run of stretto net");
    else if (known && strcmp(kind, "control") == 0) {
        serve_control(fd);
        return NULL;
    } else if (known && strcmp(kind, "data") == 0) {
        serve_data(fd, id, index);
        return NULL;
    }
    close(fd);
    return NULL;
}

static void *accept_all(void *argument) {
    (void)argument;
    for (;;) {
        struct timespec pause = {0, 10000000};
        int fd = accept4(server.listening, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            nanosleep(&pause, NULL); /* too many descriptors, say: others end */
            continue;
        }
        while (atomic_load(&server.pending) >= PENDING_MOST)
            nanosleep(&pause, NULL);
        pthread_t thread;
        atomic_fetch_add(&server.pending, 1);
        if (pthread_create(&thread, NULL, greet, (void *)(intptr_t)fd) != 0) {
            atomic_fetch_sub(&server.pending, 1);
            close(fd);
        } else {
            pthread_detach(thread);
        }
    }
    return NULL;
}

bool net_serve(const char *address, int port, const char *device, const char *token, int *taken,
               struct net_failure *failure) {
    pthread_t thread;
    if (server.listening > 0)
        return net_fail(failure, "system", "it already listens");
    int fd = net_listen(address, port, device, taken, failure);
    if (fd < 0)
        return false;
    snprintf(server.token, sizeof server.token, "%s", token);
    server.listening = fd;
    int error = pthread_create(&thread, NULL, accept_all, NULL);
    if (error != 0)
        return net_fail_errno(failure, error, "cannot start a thread");
    pthread_detach(thread);
    return true;
}

/* --- the side that connects */

struct client {
    const char *id, *address, *bind, *device, *token;
    int port, control;
    int *fds;
    struct net_params params;
};

/* The next line of the server, which must begin with `word`; what follows, for the caller to free.
 */
static char *answer(struct client *c, const char *word, size_t most, double patience,
                    struct net_failure *failure) {
    struct net_failure own = {0};
    char *line = net_read_line(c->control, most, net_now() + patience, &own);
    size_t length = strlen(word);
    if (line == NULL) {
        net_fail(failure, own.kind, "%s port %d: %s", c->address, c->port, own.text);
        return NULL;
    }
    if (strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == '\0')) {
        char *rest = strdup(line[length] == ' ' ? line + length + 1 : "");
        free(line);
        return rest;
    }
    char kind[16] = "";
    int at = 0;
    if (sscanf(line, "error %15s %n", kind, &at) == 1 && at > 0)
        net_fail(failure, strcmp(kind, "version") == 0 ? "version" : "closed", "%s port %d: %.200s",
                 c->address, c->port, line + at);
    else
        net_fail(failure, "foreign", "%s port %d: something else listens there", c->address,
                 c->port);
    free(line);
    return NULL;
}

static bool finish_client(void *context, const char *json, struct net_failure *failure) {
    struct client *c = context;
    if (c->params.mode == NET_LATENCY)
        shutdown(c->fds[0], SHUT_WR);
    char *other = answer(c, "result", RESULT_MOST, 3 * NET_PATIENCE, failure), *text = NULL;
    if (other == NULL)
        return false;
    bool good = asprintf(&text, "{\"event\":\"result\",\"id\":%s,\"client\":%s,\"server\":%s}",
                         c->id, json, other) >= 0;
    if (good)
        net_print(text);
    free(text);
    free(other);
    return good;
}

static bool join_session(struct client *c, unsigned long session, struct net_failure *failure) {
    int count = connections(&c->params);
    for (int i = 0; i < count; i++) {
        /* this side's own come first here, and the other side's there */
        int index = c->params.direction == NET_BOTH ? (i + c->params.streams) % count : i;
        c->fds[i] = net_connect(c->address, c->port, c->bind, c->device, c->params.buffer, failure);
        if (c->fds[i] < 0 ||
            !net_send_line(c->fds[i], net_now() + NET_PATIENCE, failure,
                           "stretto-net %d %s data %lu %d", NET_VERSION, c->token, session, index))
            return false;
    }
    return true;
}

static bool run(struct client *c, struct net_failure *failure) {
    char text[LINE];
    c->control = net_connect(c->address, c->port, c->bind, c->device, 0, failure);
    if (c->control < 0)
        return false;
    net_format(&c->params, text, sizeof text);
    double until = net_now() + NET_PATIENCE;
    if (!net_send_line(c->control, until, failure, "stretto-net %d %s control", NET_VERSION,
                       c->token) ||
        !net_send_line(c->control, until, failure, "%s", text))
        return false;
    char *session = answer(c, "session", LINE, NET_PATIENCE, failure);
    if (session == NULL)
        return false;
    bool good = join_session(c, strtoul(session, NULL, 10), failure);
    free(session);
    char *word = good ? answer(c, "connected", LINE, 2 * NET_PATIENCE, failure) : NULL;
    good = word != NULL && net_send_line(c->control, net_now() + NET_PATIENCE, failure, "go");
    free(word);
    if (!good)
        return false;
    struct net_traffic traffic = {.params = &c->params,
                                  .fds = c->fds,
                                  .control = c->control,
                                  .client = true,
                                  .finish = finish_client,
                                  .context = c};
    char *json = measure(&traffic, failure);
    free(json);
    return json != NULL;
}

static void print_failure(const char *id, const struct net_failure *failure) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    fprintf(out, "{\"event\":\"error\",\"id\":%s,\"kind\":\"%s\",\"text\":", id, failure->kind);
    net_json_text(out, failure->text);
    fputc('}', out);
    if (fclose(out) == 0)
        net_print(text);
    free(text);
}

void net_run(const char *line, const char *token) {
    struct net_failure failure = {0};
    char id[24] = "0", address[64] = "", from[64] = "", device[16] = "";
    double port = 0, number_of_run = 0;
    struct client c = {.id = id,
                       .address = address,
                       .bind = from,
                       .device = device,
                       .token = token,
                       .control = -1};
    bool good = number(line, "id", 0, 1e15, &number_of_run, &failure);
    snprintf(id, sizeof id, "%.0f", number_of_run);
    good = good && number(line, "port", 1, 65535, &port, &failure) &&
           net_parse(line, &c.params, &failure);
    if (good && !net_word(line, "address", address, sizeof address))
        good = net_fail(&failure, "system", "address is missing");
    net_word(line, "bind", from, sizeof from);
    net_word(line, "device", device, sizeof device);
    c.port = (int)port;
    int count = good ? connections(&c.params) : 0;
    c.fds = malloc(((size_t)count + 1) * sizeof *c.fds);
    if (good && c.fds == NULL)
        good = net_fail(&failure, "system", "out of memory");
    for (int i = 0; good && i < count; i++)
        c.fds[i] = -1;
    if (!good || !run(&c, &failure)) {
        net_fail(&failure, "system", "out of memory");
        print_failure(id, &failure);
    }
    if (c.control >= 0)
        close(c.control);
    if (c.fds != NULL)
        close_all(c.fds, count);
    free(c.fds);
}
