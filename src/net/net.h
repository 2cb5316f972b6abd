/* stretto-net: measures TCP between hosts, without an MPI.
 *
 * One process a host, started by `stretto net`. It takes commands from standard input, one a line,
 * and writes one JSON object a line (main.c). It ends when standard input does. Between two hosts:
 *
 *   control connection      "stretto-net 1 TOKEN control", parameters; "connected"; "go";
 *                           the other side's figures ("result {...}"); then it is closed
 *   data connections        "stretto-net 1 TOKEN data SESSION", then bytes
 *
 * Only who knows the token is served. Every wait has a limit.
 */
#ifndef STRETTO_NET_H
#define STRETTO_NET_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NET_VERSION 1
#define NET_TOKEN_MOST 64
#define NET_STREAMS_MOST 4096
#define NET_BYTES_MOST (64L << 20)
/* Limits of waits, in seconds: to connect and to agree; without a byte while measuring. */
#define NET_PATIENCE 10.0
#define NET_STALL 5.0

enum net_mode { NET_STREAM, NET_LATENCY };
enum net_direction { NET_FORWARD = 1, NET_REVERSE = 2, NET_BOTH = 3 };

/* What one measurement is; equal on both sides. */
struct net_params {
    enum net_mode mode;
    enum net_direction direction;
    int streams; /* connections in each direction */
    int threads; /* that serve them, on each side */
    long bytes;  /* of a message: of one send() */
    long buffer; /* SO_SNDBUF and SO_RCVBUF; 0: the kernel's choice */
    double warmup, seconds, interval;
};

/* What went wrong, for a person, and a word for it that Python gives a remedy for. */
struct net_failure {
    const char *kind; /* refused unreachable timeout closed foreign version system; NULL: nothing */
    char text[400];
};
bool net_fail(struct net_failure *failure, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* always false; the first failure stays */
bool net_fail_errno(struct net_failure *failure, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Values of "key=value key=value" in a line; false where there is none. */
bool net_word(const char *line, const char *key, char *value, size_t size);
bool net_parse(const char *line, struct net_params *params, struct net_failure *failure);
void net_format(const struct net_params *params, char *text, size_t size);

/* io.c: sockets, all waits with a limit (`until`: on the clock of net_now). */
double net_now(void);
bool net_wait(int fd, short events, double until); /* false: the time is over */
int net_listen(const char *address, int port, const char *device, int *taken, struct net_failure *);
int net_connect(const char *address, int port, const char *bind, const char *device, long buffer,
                struct net_failure *);
void net_prepare(int fd, long buffer);
bool net_send_line(int fd, double until, struct net_failure *, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* One line without its end; the caller frees it. */
char *net_read_line(int fd, size_t most, double until, struct net_failure *);
void net_print(const char *line); /* to standard output, whole */
void net_json_text(FILE *out, const char *text);

/* stream.c, latency.c: carry out a measurement over connected sockets; JSON of this side, or NULL.
 * `fds` holds those on which this side sends first. `finish` is called when this side's window is
 * over, with its JSON; the traffic goes on until it returns. */
typedef bool net_finish(void *context, const char *json, struct net_failure *);
struct net_traffic {
    const struct net_params *params;
    const int *fds;
    int sending, receiving; /* of the fds, in this order */
    int control;            /* watched while measuring */
    bool client;
    net_finish *finish;
    void *context;
};
char *net_stream(const struct net_traffic *, struct net_failure *);
char *net_latency(const struct net_traffic *, struct net_failure *);

/* session.c */
bool net_serve(const char *address, int port, const char *device, const char *token, int *taken,
               struct net_failure *);
/* Measures with a server: prints the figures of both sides, or an error. */
void net_run(const char *line, const char *token);
#endif
