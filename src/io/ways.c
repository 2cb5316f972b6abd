/* Ways to read and write one file: by POSIX calls of all ranks or of one, by collective MPI-IO. */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void io_require(bool good, const char *what, const char *path) {
    if (good)
        return;
    fprintf(stderr, "stretto-io: %s: %s: %s\n", path, what, errno ? strerror(errno) : "it failed");
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void require_mpi(int code, const char *what, const char *path) {
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "stretto-io: %s: %s: %s\n", path, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t io_part(const io_job *job, int rank, int64_t *from) {
    int64_t each = (job->bytes / job->nranks + 7) / 8 * 8;
    *from = least(each * rank, job->bytes);
    return rank == job->nranks - 1 ? job->bytes - *from : least(each, job->bytes - *from);
}

/* Words that tell where they are: a block that went astray shows. */
static uint64_t word_at(int64_t offset) {
    return (uint64_t)offset * 0x9e3779b97f4a7c15ull;
}

void io_fill(char *buffer, int64_t bytes, int64_t from) {
    for (int64_t i = 0; i < bytes; i += 8) {
        uint64_t word = word_at(from + i);
        memcpy(buffer + i, &word, (size_t)least(8, bytes - i));
    }
}

/* The first and the last whole word of what was read from there on. */
static void check(const io_job *job, int64_t bytes, int64_t from) {
    uint64_t first, last;
    if (!job->made || bytes < 8)
        return;
    int64_t at = (bytes - 8) / 8 * 8;
    memcpy(&first, job->buffer, 8);
    memcpy(&last, job->buffer + at, 8);
    errno = 0;
    io_require(first == word_at(from) && last == word_at(from + at), "wrong data were read",
               job->path);
}

static int open_file(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    io_require(fd >= 0, "cannot be opened", path);
    return fd;
}

static void move(bool writes, int fd, char *buffer, int64_t bytes, int64_t from, const char *path) {
    for (int64_t done = 0; done < bytes;) {
        size_t n = (size_t)(bytes - done);
        errno = 0;
        ssize_t moved = writes ? pwrite(fd, buffer + done, n, from + done)
                               : pread(fd, buffer + done, n, from + done);
        io_require(moved > 0, writes ? "cannot be written" : "cannot be read", path);
        done += moved;
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_file(io_job *job, bool all_read, bool broadcast) {
    int fd = all_read || job->rank == 0 ? open_file(job->path, O_RDONLY) : -1;
    for (int64_t at = 0; at < job->bytes; at += IO_CHUNK) {
        int64_t n = least(IO_CHUNK, job->bytes - at);
        if (fd >= 0)
            move(false, fd, job->buffer, n, at, job->path);
        if (broadcast)
            MPI_Bcast(job->buffer, (int)n, MPI_BYTE, 0, job->comm);
        check(job, n, at);
    }
    if (fd >= 0)
        close(fd);
}

static void read_all(io_job *job) {
    read_file(job, true, false);
}

static void read_bcast(io_job *job) {
    read_file(job, false, true);
}

/* Collective: all ranks make as many calls as the one with most to read, or write. */
static void collective(io_job *job, bool writes, int64_t bytes, int64_t from, int64_t most) {
    MPI_File file;
    MPI_Status status;
    const char *path = writes ? job->out : job->path;
    int mode = writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    require_mpi(MPI_File_open(job->comm, path, mode, MPI_INFO_NULL, &file), "MPI_File_open", path);
    for (int64_t done = 0; done < most; done += IO_CHUNK) {
        int n = (int)(done < bytes ? least(IO_CHUNK, bytes - done) : 0), moved = 0;
        MPI_Offset at = from + least(done, bytes);
        if (writes)
            require_mpi(MPI_File_write_at_all(file, at, job->buffer, n, MPI_BYTE, &status),
                        "MPI_File_write_at_all", path);
        else
            require_mpi(MPI_File_read_at_all(file, at, job->buffer, n, MPI_BYTE, &status),
                        "MPI_File_read_at_all", path);
        MPI_Get_count(&status, MPI_BYTE, &moved);
        errno = 0;
        io_require(moved == n, "MPI-IO moved fewer bytes than were asked for", path);
        if (!writes)
            check(job, n, at);
    }
    if (writes)
        require_mpi(MPI_File_sync(file), "MPI_File_sync", path);
    require_mpi(MPI_File_close(&file), "MPI_File_close", path);
}

static int64_t largest_part(const io_job *job) {
    int64_t most = 0, from;
    for (int r = 0; r < job->nranks; r++) {
        int64_t n = io_part(job, r, &from);
        most = n > most ? n : most;
    }
    return most;
}

static void read_parts(io_job *job) {
    int64_t from, n = io_part(job, job->rank, &from);
    collective(job, false, n, from, largest_part(job));
}

static void read_whole(io_job *job) {
    collective(job, false, job->bytes, 0, job->bytes);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_gather(io_job *job) {
    int fd = job->rank == 0 ? open_file(job->out, O_CREAT | O_WRONLY) : -1;
    for (int r = 0; r < job->nranks; r++) {
        int64_t from, bytes = io_part(job, r, &from);
        for (int64_t done = 0; done < bytes; done += IO_CHUNK) {
            int n = (int)least(IO_CHUNK, bytes - done);
            if (r && job->rank == r)
                MPI_Send(job->buffer, n, MPI_BYTE, 0, 0, job->comm);
            if (r && job->rank == 0)
                MPI_Recv(job->buffer, n, MPI_BYTE, r, 0, job->comm, MPI_STATUS_IGNORE);
            if (job->rank == 0)
                move(true, fd, job->buffer, n, from + done, job->out);
        }
    }
    if (fd >= 0) {
        io_require(fsync(fd) == 0, "fsync", job->out);
        io_require(close(fd) == 0, "cannot be written", job->out);
    }
}

static void write_own(io_job *job) {
    int64_t from, bytes = io_part(job, job->rank, &from);
    int fd = open_file(job->own_out, O_CREAT | O_WRONLY);
    for (int64_t done = 0; done < bytes; done += IO_CHUNK)
        move(true, fd, job->buffer, least(IO_CHUNK, bytes - done), done, job->own_out);
    io_require(fsync(fd) == 0, "fsync", job->own_out);
    io_require(close(fd) == 0, "cannot be written", job->own_out);
}

static void write_parts(io_job *job) {
    int64_t from, n = io_part(job, job->rank, &from);
    collective(job, true, n, from, largest_part(job));
}

static const io_way WAYS[] = {
    {"read-all", false, read_all},        {"read-bcast", false, read_bcast},
    {"read-parts", false, read_parts},    {"read-whole", false, read_whole},
    {"write-gather", true, write_gather}, {"write-own", true, write_own},
    {"write-parts", true, write_parts},
};

const io_way *io_find(const char *name) {
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++)
        if (strcmp(WAYS[i].name, name) == 0)
            return &WAYS[i];
    return NULL;
}
