/* What a launch counts besides time: bytes of each interface of a node while a point is measured,
 * and TCP connections between the two ranks of a pair. */
#include "net/rails.h"
#include "p2p/p2p.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 256, SOCKETS_MOST = 4096, ESTABLISHED = 1 };

typedef struct {
    int count;
    stretto_rail rail[STRETTO_RAILS_MOST];
} rails;

struct p2p_counters {
    bool leads; /* the lowest rank of its node reads the node's counters */
    char host[NAME];
    rails before;
    rails *point; /* what each point has moved so far */
};

/* Both ends as the kernel's table has them: 32 digits of the address, and the port. */
typedef struct {
    char here[40], there[40];
} connection;

static void *need(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "stretto-p2p: no memory for counters\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

p2p_counters *p2p_counters_open(const p2p *self, int points) {
    p2p_counters *counters = need(1, sizeof *counters);
    char *names = need((size_t)self->nranks, NAME);
    gethostname(counters->host, NAME - 1);
    MPI_Allgather(counters->host, NAME, MPI_CHAR, names, NAME, MPI_CHAR, self->comm);
    counters->leads = true;
    for (int i = 0; i < self->rank; i++)
        if (strcmp(names + (size_t)i * NAME, counters->host) == 0)
            counters->leads = false;
    counters->point = need((size_t)points, sizeof *counters->point);
    free(names);
    return counters;
}

void p2p_counters_before(p2p_counters *counters) {
    if (counters && counters->leads)
        counters->before.count = stretto_rails_read("", counters->before.rail, STRETTO_RAILS_MOST);
}

void p2p_counters_after(p2p_counters *counters, int point) {
    if (!counters || !counters->leads)
        return;
    rails now, *sum = &counters->point[point];
    now.count = stretto_rails_read("", now.rail, STRETTO_RAILS_MOST);
    for (int i = 0; i < now.count; i++) {
        const stretto_rail *was = NULL;
        for (int k = 0; k < counters->before.count && !was; k++)
            if (strcmp(counters->before.rail[k].name, now.rail[i].name) == 0)
                was = &counters->before.rail[k];
        int at = 0;
        while (at < sum->count && strcmp(sum->rail[at].name, now.rail[i].name) != 0)
            at++;
        if (at == STRETTO_RAILS_MOST)
            continue;
        if (at == sum->count) {
            sum->rail[sum->count++] = now.rail[i];
            sum->rail[at].sent = sum->rail[at].received = 0;
        }
        sum->rail[at].up = now.rail[i].up;
        if (was && now.rail[i].sent >= was->sent && now.rail[i].received >= was->received) {
            sum->rail[at].sent += now.rail[i].sent - was->sent;
            sum->rail[at].received += now.rail[i].received - was->received;
        }
    }
}

static int compare_inodes(const void *a, const void *b) {
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;
    return (x > y) - (x < y);
}

/* The sockets of this process, by inode. */
static int own_sockets(unsigned long *inodes) {
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    for (struct dirent *one; all && count < SOCKETS_MOST && (one = readdir(all));) {
        char path[300], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", one->d_name);
        if (readlink(path, target, sizeof target - 1) > 0 &&
            sscanf(target, "socket:[%lu]", &inodes[count]) == 1)
            count++;
    }
    if (all)
        closedir(all);
    qsort(inodes, (size_t)count, sizeof *inodes, compare_inodes);
    return count;
}

/* An end of a connection: IPv4 as the IPv6 address that stands for it. */
static void set_end(char *end, const char *address, unsigned port) {
    if (strlen(address) == 8)
        snprintf(end, 40, "0000000000000000FFFF0000%.8s:%04X", address, port);
    else
        snprintf(end, 40, "%.32s:%04X", address, port);
}

/* Adds the connections of a table of the kernel's that are among the inodes. */
static int add_connections(const char *path, const unsigned long *inodes, int sockets,
                           connection *found, int count) {
    FILE *table = fopen(path, "re");
    char line[512], here[33], there[33];
    while (table && count < SOCKETS_MOST && fgets(line, sizeof line, table)) {
        unsigned from, to, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*s %*s %lu", here,
                   &from, there, &to, &state, &inode) != 6 ||
            state != ESTABLISHED ||
            !bsearch(&inode, inodes, (size_t)sockets, sizeof *inodes, compare_inodes))
            continue;
        set_end(found[count].here, here, from);
        set_end(found[count++].there, there, to);
    }
    if (table)
        fclose(table);
    return count;
}

/* How many TCP connections of this rank end at its partner: those that both have. */
static int shared_connections(const p2p *self) {
    unsigned long *inodes = need(SOCKETS_MOST, sizeof *inodes);
    connection *mine = need(SOCKETS_MOST, sizeof *mine);
    connection *others = need(SOCKETS_MOST, sizeof *others);
    int sockets = own_sockets(inodes), shared = 0, bytes = 0;
    int count = add_connections("/proc/self/net/tcp", inodes, sockets, mine, 0);
    count = add_connections("/proc/self/net/tcp6", inodes, sockets, mine, count);
    if (self->pair >= 0) {
        MPI_Status status;
        MPI_Sendrecv(mine, count * (int)sizeof *mine, MPI_BYTE, self->partner, 5, others,
                     SOCKETS_MOST * (int)sizeof *others, MPI_BYTE, self->partner, 5, self->comm,
                     &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < bytes / (int)sizeof *others; k++)
            shared += strcmp(mine[i].here, others[k].there) == 0 &&
                      strcmp(mine[i].there, others[k].here) == 0;
    free(inodes);
    free(mine);
    free(others);
    return shared;
}

static char *text_of(const p2p_counters *counters, const p2p_point *points, int count) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = counters->leads ? open_memstream(&text, &size) : NULL;
    for (int i = 0; out && i < count; i++) {
        const p2p_point *point = &points[i];
        fprintf(out,
                "{\"kind\":\"rails\",\"test\":\"%s\",\"bytes\":%ld,\"pairs\":%d,\"window\":%d,"
                "\"threads\":%d,\"host\":\"",
                point->test->name, point->bytes, point->pairs, point->window, point->threads);
        for (const char *c = counters->host; *c; c++)
            if (isalnum((unsigned char)*c) || strchr("-._", *c))
                fputc(*c, out);
        fputs("\",\"rails\":", out);
        stretto_rails_write(out, counters->point[i].rail, counters->point[i].count);
        fputs("}\n", out);
    }
    if (out)
        fclose(out);
    return text;
}

void p2p_counters_write(p2p_counters *counters, const p2p *self, const p2p_point *points, int count,
                        FILE *out) {
    if (!counters)
        return;
    int shared = shared_connections(self), total = 0;
    char *text = text_of(counters, points, count), *all = NULL;
    int length = text ? (int)strlen(text) : 0;
    int *each = need((size_t)self->nranks, sizeof *each);
    int *starts = need((size_t)self->nranks, sizeof *starts);
    MPI_Gather(&shared, 1, MPI_INT, each, 1, MPI_INT, 0, self->comm);
    if (self->rank == 0) {
        fprintf(out, "{\"kind\":\"sockets\",\"pairs\":[");
        for (int i = 0; i < self->nranks / 2; i++)
            fprintf(out, "%s%d", i ? "," : "", each[i]);
        fprintf(out, "]}\n");
    }
    MPI_Gather(&length, 1, MPI_INT, each, 1, MPI_INT, 0, self->comm);
    for (int i = 0; i < self->nranks && self->rank == 0; i++) {
        starts[i] = total;
        total += each[i];
    }
    all = need((size_t)total, 1);
    MPI_Gatherv(text, length, MPI_CHAR, all, each, starts, MPI_CHAR, 0, self->comm);
    if (self->rank == 0)
        fwrite(all, 1, (size_t)total, out);
    free(all);
    free(text);
    free(each);
    free(starts);
}

void p2p_counters_close(p2p_counters *counters) {
    if (counters)
        free(counters->point);
    free(counters);
}
