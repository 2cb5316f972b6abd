/* Sockets and lines; every wait has a limit. */
#include "net/net.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

bool net_fail(struct net_failure *failure, const char *kind, const char *format, ...) {
    if (failure->kind == NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(failure->text, sizeof failure->text, format, arguments);
        va_end(arguments);
        failure->kind = kind;
    }
    return false;
}

static const char *kind_of(int error) {
    switch (error) {
    case ECONNREFUSED: return "refused";
    case ENETUNREACH:
    case EHOSTUNREACH: return "unreachable";
    case ETIMEDOUT: return "timeout";
    case ECONNRESET:
    case EPIPE: return "closed";
    default: return "system";
    }
}

bool net_fail_errno(struct net_failure *failure, int error, const char *format, ...) {
    char what[300], reason[80];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return net_fail(failure, kind_of(error), "%s: %s", what,
                    strerror_r(error, reason, sizeof reason));
}

double net_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool net_wait(int fd, short events, double until) {
    for (;;) {
        double left = until - net_now();
        if (left <= 0)
            return false;
        struct timespec limit = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        struct pollfd one = {.fd = fd, .events = events};
        int found = ppoll(&one, 1, &limit, NULL);
        if (found > 0)
            return true; /* an error on it, too: the next call says which */
        if (found < 0 && errno != EINTR)
            return true;
    }
}

static void set(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
}

/* A host that has gone without a word ends a connection within seconds. */
void net_prepare(int fd, long buffer) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 5);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)(NET_PATIENCE * 1000));
    if (buffer > 0) {
        set(fd, SOL_SOCKET, SO_SNDBUF, (int)buffer);
        set(fd, SOL_SOCKET, SO_RCVBUF, (int)buffer);
    }
}

/* A numeric address, with a port; NULL where it is none. */
static struct addrinfo *numeric(const char *address, int port, struct net_failure *failure) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found = NULL;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    int code = getaddrinfo(address, service, &hints, &found);
    if (code != 0) {
        net_fail(failure, "system", "'%s' is not an IP address: %s", address, gai_strerror(code));
        return NULL;
    }
    return found;
}

/* Sends and receives over one interface only. Old kernels allow it to root alone; the address of
 * the interface is bound besides. */
static void use_device(int fd, const char *device) {
    if (device[0] != '\0')
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1);
}

int net_listen(const char *address, int port, const char *device, int *taken,
               struct net_failure *failure) {
    struct addrinfo *where = numeric(address, port, failure);
    if (where == NULL)
        return -1;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        use_device(fd, device);
    }
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    if (fd < 0 || bind(fd, where->ai_addr, where->ai_addrlen) != 0 || listen(fd, 1024) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &length) != 0) {
        net_fail_errno(failure, errno, "cannot listen on %s port %d", address, port);
        if (fd >= 0)
            close(fd);
        fd = -1;
    } else {
        *taken = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                                 : ((struct sockaddr_in *)&own)->sin_port);
    }
    freeaddrinfo(where);
    return fd;
}

static bool connected(int fd, const struct addrinfo *to, struct net_failure *failure,
                      const char *address, int port) {
    int error = 0;
    socklen_t size = sizeof error;
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
        if (errno != EINPROGRESS)
            return net_fail_errno(failure, errno, "cannot connect to %s port %d", address, port);
        if (!net_wait(fd, POLLOUT, net_now() + NET_PATIENCE))
            return net_fail(failure, "timeout", "no answer from %s port %d within %.0f s", address,
                            port, NET_PATIENCE);
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    return error == 0 ||
           net_fail_errno(failure, error, "cannot connect to %s port %d", address, port);
}

int net_connect(const char *address, int port, const char *from, const char *device, long buffer,
                struct net_failure *failure) {
    struct addrinfo *to = numeric(address, port, failure), *own = NULL;
    if (to == NULL || (from[0] != '\0' && (own = numeric(from, 0, failure)) == NULL)) {
        if (to != NULL)
            freeaddrinfo(to);
        return -1;
    }
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0;
    if (!good) {
        net_fail_errno(failure, errno, "no more sockets");
    } else {
        net_prepare(fd, buffer);
        use_device(fd, device);
        if (own != NULL) {
            set(fd, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */, 1);
            if (bind(fd, own->ai_addr, own->ai_addrlen) != 0)
                good = net_fail_errno(failure, errno, "cannot send from %s", from);
        }
        good = good && connected(fd, to, failure, address, port);
    }
    freeaddrinfo(to);
    if (own != NULL)
        freeaddrinfo(own);
    if (!good && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool net_send_line(int fd, double until, struct net_failure *failure, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return net_fail(failure, "system", "out of memory");
    text[length++] = '\n'; /* in place of the end: nobody reads it as a string any more */
    bool good = true;
    for (int sent = 0; good && sent < length;) {
        ssize_t n = send(fd, text + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (n > 0)
            sent += (int)n;
        else if (n < 0 && errno != EAGAIN && errno != EINTR)
            good = net_fail_errno(failure, errno, "the control connection broke");
        else if (!net_wait(fd, POLLOUT, until))
            good = net_fail(failure, "timeout", "the other host does not read");
    }
    free(text);
    return good;
}

char *net_read_line(int fd, size_t most, double until, struct net_failure *failure) {
    char *line = NULL;
    size_t length = 0;
    for (;;) {
        char piece[4096];
        if (!net_wait(fd, POLLIN, until)) {
            net_fail(failure, "timeout", "the other host does not answer");
            break;
        }
        ssize_t n = recv(fd, piece, sizeof piece, MSG_PEEK);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n < 0) {
            net_fail_errno(failure, errno, "the control connection broke");
            break;
        }
        if (n == 0) {
            net_fail(failure, "closed", "the other side closed the control connection");
            break;
        }
        char *end = memchr(piece, '\n', (size_t)n);
        size_t take = end != NULL ? (size_t)(end - piece) + 1 : (size_t)n;
        char *grown = length + take < most ? realloc(line, length + take + 1) : NULL;
        if (grown == NULL || recv(fd, grown + length, take, 0) != (ssize_t)take) {
            line = grown != NULL ? grown : line;
            net_fail(failure, "foreign", "it does not speak the protocol of stretto-net");
            break;
        }
        line = grown;
        length += take;
        if (end != NULL) {
            line[length - 1] = '\0';
            return line;
        }
    }
    free(line);
    return NULL;
}

void net_print(const char *line) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool bad = puts(line) < 0 || fflush(stdout) != 0;
    pthread_mutex_unlock(&lock);
    if (bad)
        _exit(1); /* nobody listens any more */
}

void net_json_text(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}
