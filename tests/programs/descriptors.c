/* A program that closes descriptors which are Stretto's (as one does that closes a number of its
 * own twice), and then has a file of its own under their numbers: it stays as it is, and open.
 *
 * Usage: descriptors FILE (".RANK" is added). Prints "rank R: N closed, file as it was".
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 4 << 20, OPEN = 20, LARGE = 1 << 20 };

static int close_foreign(void) {
    int closed = 0;
    for (int fd = 3; fd < 256; fd++) {
        char link[64], name[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, name, sizeof name - 1);
        name[n > 0 ? n : 0] = '\0';
        if (strstr(name, "/memfd:stretto") || strstr(name, "/rank"))
            closed += close(fd) == 0;
    }
    return closed;
}

static void work(void) {
    static double large[LARGE];
    MPI_Comm comm;
    int one = 1, all;
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int k = 0; k < 6; k++)
            MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
        MPI_Bcast(large, LARGE, MPI_DOUBLE, i % all, MPI_COMM_WORLD);
    }
}

static void fail(int rank, const char *what) {
    fprintf(stderr, "descriptors: rank %d: %s\n", rank, what);
    exit(1);
}

int main(int argc, char **argv) {
    static char data[BYTES], back[BYTES];
    char name[4096];
    int rank, fds[OPEN];
    struct stat st;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    work();
    const int closed = close_foreign();
    snprintf(name, sizeof name, "%s.%d", argv[1], rank);
    memset(data, 'x', sizeof data);
    for (int i = 0; i < OPEN; i++)
        if ((fds[i] = open(name, O_RDWR | O_CREAT, 0600)) < 0)
            fail(rank, "cannot open the file");
    if (write(fds[0], data, sizeof data) != BYTES)
        fail(rank, "cannot write the file");
    work();
    MPI_Finalize();
    for (int i = 0; i < OPEN; i++)
        if (fcntl(fds[i], F_GETFD) < 0)
            fail(rank, "a descriptor was closed");
    if (fstat(fds[0], &st) || st.st_size != BYTES)
        fail(rank, "the file has another length");
    if (pread(fds[0], back, sizeof back, 0) != BYTES || memcmp(data, back, sizeof data))
        fail(rank, "the file has other contents");
    unlink(name);
    printf("rank %d: %d closed, file as it was\n", rank, closed);
    return 0;
}
