/* stretto-io: reads one file, or writes as much, in several ways inside one launch.
 *
 *   stretto-io-F FILE BYTES SAMPLES BUDGET_S WAY...
 *
 * BYTES > 0: rank 0 makes FILE with so many bytes first; 0: it is there, and is only read. Writing
 * goes to FILE.out and FILE.out.RANK, which are removed again. All ways are measured in turn,
 * SAMPLES times; before each reading the file is taken out of the page caches of the nodes where it
 * is the caller's own. Rank 0 prints a JSON line a sample. Statistics are Python's part.
 *
 * The program is not linked with an MPI: every call goes through the host table (abi/host.h).
 */
#ifndef STRETTO_IO_H
#define STRETTO_IO_H

#include "abi/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IO_CHUNK = 16 << 20, IO_PATH = 4096 };

typedef struct {
    int rank, nranks;
    MPI_Comm comm;
    const char *path;
    char out[IO_PATH];     /* of what is written by all ranks together */
    char own_out[IO_PATH]; /* and by this one */
    int64_t bytes;
    bool made; /* by rank 0: its content is known */
    bool own;  /* of this user, whose page cache is his to drop */
    char *buffer;
} io_job;

typedef struct {
    const char *name;
    bool writes;
    /* All ranks call it; what goes wrong ends the job. */
    void (*run)(io_job *job);
} io_way;

/* NULL: there is none of this name. */
const io_way *io_find(const char *name);
/* Ends the job where `good` is false: what failed, of which file, and errno. */
void io_require(bool good, const char *what, const char *path);
/* The bytes of a rank's part, from where on. */
int64_t io_part(const io_job *job, int rank, int64_t *from);
/* Writes the bytes that a made file holds from there on into a buffer. */
void io_fill(char *buffer, int64_t bytes, int64_t from);

/* Takes the file out of this node's page cache, as far as the kernel does. */
void io_drop(const io_job *job);
/* Which part of the file this node's page cache holds; -1: the kernel does not say. */
double io_cached(const io_job *job);

#endif
