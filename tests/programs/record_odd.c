/* What programs do that a recorder may get wrong, for test_record_odd.py: record_odd CASE [FILE].
 *
 * failed    rank 1 gets an error from a broadcast that is truncated there (or, unmatched: from one
 *           with wrong arguments), and both go on
 * large     a message of 2200 MiB arrives in a buffer of 3000 MiB
 * callback  communicators freed by a delete callback; says by how much the heap has grown
 * errors    waits that fail with many collectives under way, waits for messages, and an error
 * handler that never returns; says by how much the heap has grown in the failing ones paused
 * computes, and writes FILE, where MPI_Pcontrol(0) has switched the recording off traffic exchanges
 * much, and is put to, with computing between; no file is touched files     the same, and rank 0
 * writes 8 MiB to FILE in the computing, 5 times */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank, size;

static void fail(const char *what) {
    fprintf(stderr, "record_odd: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Calls of two sizes in turn, so that it is seen which were taken for the same. */
static void sums(MPI_Comm comm, int n) {
    double in[2] = {1, 1}, out[2];
    for (int i = 0; i < n; i++)
        MPI_Allreduce(in, out, 1 + i % 2, MPI_DOUBLE, MPI_SUM, comm);
}

static void failed(void) {
    MPI_Comm copy;
    int data[4] = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    sums(copy, 10);
    int code = MPI_Bcast(data, rank == 1 ? 1 : 4, MPI_INT, 0, copy);
    if ((rank == 1) != (code != MPI_SUCCESS))
        fail("a truncated broadcast is to fail on rank 1 alone");
    sums(copy, 10);
    MPI_Comm_free(&copy);
}

/* The call does nothing where its arguments are wrong: the next one is the other ranks' first. */
static void unmatched(void) {
    MPI_Comm copy;
    int data[4] = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    sums(copy, 10);
    if (rank == 1 && MPI_Bcast(data, -1, MPI_INT, 0, copy) == MPI_SUCCESS)
        fail("a negative count is to be an error");
    sums(copy, 10);
    MPI_Comm_free(&copy);
}

/* So many MiB of addresses that are all the same 2 MiB of memory. */
static char *folded(size_t mib) {
    int file = memfd_create("record_odd", 0);
    char *all =
        mmap(NULL, mib << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || ftruncate(file, 2 << 20) || all == MAP_FAILED)
        fail("no memory");
    for (size_t at = 0; at < mib << 20; at += 2 << 20)
        if (mmap(all + at, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED)
            fail("no memory");
    close(file);
    return all;
}

static void large(void) {
    MPI_Datatype mib;
    MPI_Type_contiguous(1 << 20, MPI_BYTE, &mib);
    MPI_Type_commit(&mib);
    char *buffer = folded(3000);
    if (rank == 0)
        MPI_Send(buffer, 2200, mib, 1, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(buffer, 3000, mib, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&mib);
}

static MPI_Comm inner;

static int freeing(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_Comm_free(&inner);
}

static void callback(void) {
    int key;
    size_t before = 0;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freeing, &key, NULL);
    for (int i = 0; i < 3000; i++) {
        MPI_Comm outer;
        MPI_Comm_dup(MPI_COMM_WORLD, &outer);
        MPI_Comm_dup(MPI_COMM_WORLD, &inner);
        MPI_Comm_set_attr(outer, key, NULL);
        MPI_Comm_free(&outer);
        if (inner != MPI_COMM_NULL)
            fail("the callback was not called");
        if (i == 999)
            before = mallinfo2().uordblks;
    }
    printf("rank %d grew by %ld\n", rank, (long)(mallinfo2().uordblks - before));
    MPI_Comm_free_keyval(&key);
}

enum { COLLECTIVES = 100, WAITED = COLLECTIVES + 2 };

/* A message that does not fit beside them: the wait fails, and some requests may be left. */
static void failing_wait(MPI_Comm comm) {
    MPI_Request requests[WAITED];
    MPI_Status statuses[WAITED];
    int one = 1, totals[COLLECTIVES], sent[4] = {0}, got[4];
    for (int i = 0; i < COLLECTIVES; i++)
        MPI_Iallreduce(&one, &totals[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
    MPI_Irecv(got, 1, MPI_INT, rank, 0, comm, &requests[COLLECTIVES]);
    MPI_Isend(sent, 4, MPI_INT, rank, 0, comm, &requests[COLLECTIVES + 1]);
    MPI_Waitall(WAITED, requests, statuses);
    for (int i = 0; i < WAITED; i++)
        while (requests[i] != MPI_REQUEST_NULL)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    longjmp(back, 1);
}

static void errors(void) {
    MPI_Errhandler handler;
    size_t before = 0;
    int sent = 0, got, which;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 300; i++) {
        failing_wait(MPI_COMM_WORLD);
        if (i == 99)
            before = mallinfo2().uordblks;
    }
    printf("rank %d grew by %ld\n", rank, (long)(mallinfo2().uordblks - before));
    for (int i = 0; i < 500; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(1, &requests[0], &which, MPI_STATUS_IGNORE);
        MPI_Waitany(1, &requests[1], &which, MPI_STATUS_IGNORE);
    }
    sums(MPI_COMM_WORLD, 10);
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (!setjmp(back)) {
        MPI_Send(&sent, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
        fail("a send to a rank that there is not is to be an error");
    }
    sums(MPI_COMM_WORLD, 100);
    MPI_Errhandler_free(&handler);
}

static void compute(double seconds) {
    double end = PMPI_Wtime() + seconds;
    while (PMPI_Wtime() < end)
        ;
}

static void write_file(const char *name, size_t mib) {
    char *data = calloc(mib, 1 << 20);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (!data || file < 0 || write(file, data, mib << 20) != (ssize_t)(mib << 20))
        fail("the file cannot be written");
    close(file);
    free(data);
}

static void paused(const char *name) {
    sums(MPI_COMM_WORLD, 10);
    compute(0.2);
    for (int i = 0; i < 2; i++) {
        MPI_Pcontrol(0);
        compute(0.5);
        if (rank == 0)
            write_file(name, 64);
        sums(MPI_COMM_WORLD, 1000);
        MPI_Pcontrol(0);
        compute(0.5);
        MPI_Pcontrol(1);
        sums(MPI_COMM_WORLD, 10);
    }
    MPI_Pcontrol(0);
    sums(MPI_COMM_WORLD, 10);
    compute(0.3);
}

enum { MOST = 1 << 20 };

static void traffic(const char *name) {
    char *in = calloc((size_t)size, MOST), *out = calloc((size_t)size, MOST);
    char *shown = calloc(1, MOST);
    MPI_Win window; /* not allocated by the MPI: that would be shared memory, and no traffic */
    MPI_Win_create(shown, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int i = 0; i < 20; i++) {
        for (int block = 1 << 14; block <= MOST; block *= 4) {
            MPI_Alltoall(in, block, MPI_CHAR, out, block, MPI_CHAR, MPI_COMM_WORLD);
            compute(2e-3);
            MPI_Gather(in, block, MPI_CHAR, out, block, MPI_CHAR, 0, MPI_COMM_WORLD);
            compute(2e-3);
            MPI_Win_fence(0, window);
            if (rank == 1)
                for (int r = 0; r < size; r++)
                    MPI_Put(in, block, MPI_CHAR, r, 0, block, MPI_CHAR, window);
            MPI_Win_fence(0, window);
            compute(2e-3);
        }
        if (name && rank == 0 && i % 4 == 0)
            write_file(name, 8);
    }
    MPI_Win_free(&window);
    free(in);
    free(out);
    free(shown);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(what, "failed"))
        failed();
    if (!strcmp(what, "unmatched"))
        unmatched();
    if (!strcmp(what, "large"))
        large();
    if (!strcmp(what, "callback"))
        callback();
    if (!strcmp(what, "errors"))
        errors();
    if (!strcmp(what, "paused"))
        paused(name);
    if (!strcmp(what, "traffic") || !strcmp(what, "files"))
        traffic(name);
    MPI_Finalize();
    return 0;
}
