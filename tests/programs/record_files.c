/* Every way of reading and writing that the recorder knows, for test_record_files.py:
 *     record_files DIRECTORY
 * DIRECTORY holds read, pread, lfs64, readv, fread, fgets, getline, fscanf, getc, unlocked, thread:
 * 1 MiB each, lines of 15 digits that count from 0. Each rank writes files of its own there. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, LINE = 16, LINES = BYTES / LINE };

static int rank;
static const char *directory;
static char data[BYTES + 1];

static void check(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "record_files: rank %d: %s is wrong (%s)\n", rank, what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static const char *in(const char *name) {
    static __thread char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static const char *out(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", directory, name, rank);
    return path;
}

static void whole(const char *what) {
    check(!memcmp(data, "000000000000000\n000000000000001\n", 2 * LINE), what);
    check(strtol(data + BYTES - LINE, NULL, 10) == LINES - 1, what);
    memset(data, 0, sizeof data);
}

static void descriptors(void) {
    int fd = open(in("read"), O_RDONLY);
    for (int at = 0; at < BYTES; at += BYTES / 16)
        check(read(fd, data + at, BYTES / 16) == BYTES / 16, "read");
    check(read(fd, data, 1) == 0 && !close(fd), "the end");
    whole("read");
    fd = openat(AT_FDCWD, in("pread"), O_RDONLY);
    check(pread(fd, data, BYTES, 0) == BYTES && !close(fd), "pread");
    whole("pread");
    fd = open64(in("lfs64"), O_RDONLY);
    check(pread64(fd, data, BYTES, 0) == BYTES && !close(fd), "pread64");
    whole("pread64");
    struct iovec parts[2] = {{data, 1000}, {data + 1000, BYTES - 1000}};
    fd = open(in("readv"), O_RDONLY | O_CLOEXEC);
    check(readv(fd, parts, 2) == BYTES && !close(fd), "readv");
    whole("readv");
    fd = open(out("write"), O_CREAT | O_WRONLY | O_TRUNC, 0640);
    check(write(fd, data, 1000000) == 1000000, "write");
    check(pwrite(fd, data, 500000, 1000000) == 500000, "pwrite");
    check(writev(fd, (struct iovec[]){{data, 300000}}, 1) == 300000 && !fsync(fd), "writev");
    check(dup2(fd, fd + 40) == fd + 40 && write(fd + 40, data, 200000) == 200000, "dup2");
    check(!close(fd) && !close(fd + 40), "close");
    check(open(in("missing"), O_RDONLY) == -1 && errno == ENOENT, "a file that is missing");
    check(read(-1, data, 1) == -1 && errno == EBADF, "no descriptor");
}

static void streams(void) {
    FILE *file = fopen(in("fread"), "rb");
    check(file && fread(data, 1024, BYTES / 1024, file) == BYTES / 1024 && !fclose(file), "fread");
    whole("fread");
    file = fopen(in("fgets"), "r");
    long n = 0;
    for (char line[100]; fgets(line, sizeof line, file); n++)
        check(strtol(line, NULL, 10) == n, "fgets");
    check(n == LINES && !fclose(file), "fgets");
    file = fopen(in("getline"), "r");
    char *line = NULL;
    size_t room = 0;
    for (n = 0; getline(&line, &room, file) > 0; n++)
        check(strtol(line, NULL, 10) == n, "getline");
    free(line);
    check(n == LINES && !fclose(file), "getline");
    file = fopen(in("fscanf"), "r");
    long number = 0;
    for (n = 0; fscanf(file, "%ld", &number) == 1; n++)
        check(number == n, "fscanf");
    check(n == LINES && !fclose(file), "fscanf");
    file = fopen(in("getc"), "r");
    for (n = 0; getc(file) != EOF;)
        n++;
    check(n == BYTES && !fclose(file), "getc");
    file = fopen(in("unlocked"), "r");
    for (n = 0; getc_unlocked(file) != EOF;)
        n++;
    check(n == BYTES && !fclose(file), "getc_unlocked");
    file = fopen(out("text"), "w");
    check(file != NULL, "fopen");
    for (int i = 0; i < 20000; i++) {
        check(fprintf(file, "%d and %s\n", 12345, "text") == 15, "fprintf");
        check(fputs("fifteen letters", file) >= 0, "fputs");
        check(fwrite("ten bytes!", 1, 10, file) == 10, "fwrite");
        check(fputc('a', file) == 'a' && putc('b', file) == 'b', "putc");
    }
    check(!fflush(file) && !fflush(NULL) && !fclose(file), "fclose");
    file = fopen64(out("unlocked"), "w");
    for (int i = 0; i < 1000000; i++) /* so many that it counts for more than slow small files */
        check(putc_unlocked('c', file) == 'c', "putc_unlocked");
    check(!fclose(file), "fclose");
}

/* What must not be counted, and what must not be changed. */
static void others(void) {
    pid_t child = fork();
    if (!child) {
        int fd = open(out("child"), O_CREAT | O_WRONLY, 0640);
        _exit(write(fd, data, 1000) == 1000 && !close(fd) ? 0 : 1);
    }
    int status = 1;
    check(waitpid(child, &status, 0) == child && status == 0, "a child");
    child = vfork();
    if (!child) {
        int fd = open(out("child"), O_CREAT | O_WRONLY, 0640);
        _exit(write(fd, data, 1000) == 1000 ? 0 : 1); /* open: the parent has its number free */
    }
    check(waitpid(child, &status, 0) == child && status == 0, "a child of vfork");
    char text[] = "one\ntwo\n";
    FILE *memory = fmemopen(text, sizeof text - 1, "r");
    errno = 0;
    check(memory && fgets(data, 100, memory) && !strcmp(data, "one\n"), "fmemopen");
    check(errno == 0, "errno");
    fclose(memory);
    int pipes[2];
    check(!pipe(pipes) && write(pipes[1], "x", 1) == 1 && read(pipes[0], data, 1) == 1, "a pipe");
    close(pipes[0]);
    close(pipes[1]);
    FILE *kernel = fopen("/proc/self/stat", "r");
    check(kernel && fgets(data, 100, kernel), "/proc");
    fclose(kernel);
}

/* Before MPI_Init, the recorder's own constructor and all else: passed on. */
__attribute__((constructor)) static void early(void) {
    char line[100];
    FILE *file = fopen("/proc/self/cmdline", "r");
    if (!file || !fgets(line, sizeof line, file) || fclose(file) ||
        fprintf(stderr, "record_files: early\n") < 0)
        abort();
}

static void *threads_own(void *unused) {
    static char all[BYTES];
    int fd = open(in("thread"), O_RDONLY);
    check(read(fd, all, BYTES) == BYTES && !close(fd), "a thread's own");
    return unused;
}

/* More than are kept: the small ones are put together. */
static void many(void) {
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "small-%03d", i);
        int fd = open(out(name), O_CREAT | O_WRONLY, 0640);
        check(write(fd, data, 10) == 10 && !close(fd), "a small file");
    }
}

static void by_mpi(void) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, (char *)in("mpi"), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at(file, rank * 500000, data, 500000, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    directory = argv[1];
    descriptors();
    streams();
    others();
    pthread_t thread;
    pthread_create(&thread, NULL, threads_own, NULL);
    pthread_join(thread, NULL);
    many();
    by_mpi();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
