/* Call shapes that conformance.c does not go through: attributes, errors, handles that are freed
 * and used again, inter-communicators, MPI_COMM_SELF, every predefined operation on every datatype,
 * threads, blocks beyond 2^31 bytes, and the end of a program with everything still alive.
 *
 * Usage: call_shapes CASE... Prints "call_shapes CASE: done" for each; exit status 1 when a result
 * is wrong.
 * References are the MPI's own results (PMPI_X on a communicator that Stretto never sees).
 */
#include <mpi.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 4, THREADS = 4 };

static int rank, size, failed;
static MPI_Comm reference;

static void expect(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "call_shapes: rank %d: wrong %s\n", rank, what);
        failed = 1;
    }
}

static void warm(MPI_Comm comm) { /* past the set-up of the communicator */
    for (int i = 0; i < WARM; i++)
        MPI_Barrier(comm);
}

static int sum_of(MPI_Comm comm) {
    int one = rank + 1, sum = -1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

/* --- attributes --------------------------------------------------------------------------- */

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key;
    copied++;
    *(void **)out = (char *)in + 1;
    *flag = extra == NULL;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int key, void *value, void *extra) {
    int n;
    (void)key, (void)value, (void)extra;
    MPI_Comm_size(comm, &n); /* still usable */
    deleted++;
    return MPI_SUCCESS;
}

/* Setting up a communicator copies none of its attributes; dup copies each once. */
static void attributes(void) {
    int key, dropped, flag;
    void *value;
    MPI_Comm base, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &base);
    MPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_create_keyval(copy, delete, &dropped, &dropped);
    MPI_Comm_set_attr(base, key, (void *)40);
    MPI_Comm_set_attr(base, dropped, (void *)50);
    warm(base);
    expect(copied == 0 && deleted == 0, "callbacks at set-up");
    MPI_Comm_dup(base, &other);
    expect(copied == 2 && deleted == 0, "callbacks of dup");
    MPI_Comm_get_attr(other, key, &value, &flag);
    expect(flag && value == (void *)41, "copied attribute");
    MPI_Comm_get_attr(other, dropped, &value, &flag);
    expect(!flag, "attribute that was not to be copied");
    warm(other);
    expect(sum_of(other) == size * (size + 1) / 2, "sum on the duplicate");
    MPI_Comm_free(&base);
    expect(deleted == 2, "callbacks of the first free");
    MPI_Comm_free(&other);
    expect(deleted == 3 && copied == 2, "callbacks of the second free");
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&dropped);
}

/* --- errors ------------------------------------------------------------------------------- */

static int handled, handled_class;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    handled++;
    MPI_Error_class(*code, &handled_class);
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* The same wrong call through MPI_ and PMPI_, by all ranks: the same class, given to the handler
 * once. */
#define SAME(name, call, pcall)                                                                    \
    do {                                                                                           \
        int ours = class_of(call), wanted = class_of(pcall);                                       \
        if (ours != wanted) {                                                                      \
            fprintf(stderr, "%s: class %d, the MPI's %d\n", name, ours, wanted);                   \
            failed = 1;                                                                            \
        }                                                                                          \
        expect(wanted != MPI_SUCCESS, name);                                                       \
    } while (0)

static void errors(void) {
    MPI_Comm comm;
    MPI_Errhandler mine;
    int a[64] = {0}, b[64] = {0};
    double x[8] = {0}, y[8] = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    warm(comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(reference, MPI_ERRORS_RETURN);
#define TRY(name, NAME, ...)                                                                       \
    SAME(name, MPI_##NAME(__VA_ARGS__, comm), PMPI_##NAME(__VA_ARGS__, reference))
    TRY("negative count", Allreduce, a, b, -1, MPI_INT, MPI_SUM);
    TRY("negative count of a bcast", Bcast, a, -3, MPI_INT, 0);
    TRY("negative count of an allgather", Allgather, a, -1, MPI_INT, b, -1, MPI_INT);
    TRY("negative count of a scan", Scan, a, b, -1, MPI_INT, MPI_SUM);
    TRY("no datatype", Allreduce, a, b, 1, MPI_DATATYPE_NULL, MPI_SUM);
    TRY("no operation", Allreduce, a, b, 1, MPI_INT, MPI_OP_NULL);
    TRY("operation that the datatype lacks", Allreduce, x, y, 1, MPI_DOUBLE, MPI_BAND);
    TRY("root beyond the ranks", Bcast, a, 1, MPI_INT, size);
    TRY("negative root", Reduce, a, b, 1, MPI_INT, MPI_SUM, -7);
    TRY("no datatype of a bcast", Bcast, a, 3, MPI_DATATYPE_NULL, 0);
    TRY("no operation of an exscan", Exscan, a, b, 1, MPI_INT, MPI_OP_NULL);
    TRY("root of a gather", Gather, a, 1, MPI_INT, b, 1, MPI_INT, size + 3);
    TRY("root of a scatter", Scatter, a, 1, MPI_INT, b, 1, MPI_INT, -5);
#undef TRY
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    int code = MPI_Bcast(a, 1, MPI_INT, size, comm);
    expect(handled == 1 && handled_class == MPI_ERR_ROOT && class_of(code) == MPI_ERR_ROOT,
           "call of the error handler");
    expect(sum_of(comm) == size * (size + 1) / 2, "sum after errors");
    MPI_Errhandler_free(&mine);
    MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(class_of(MPI_Barrier(MPI_COMM_NULL)) == MPI_ERR_COMM, "class for MPI_COMM_NULL");
    /* Open MPI's handles are pointers: what one points to when it is freed, nobody may look at. */
    if (sizeof(MPI_Comm) == sizeof(int)) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        warm(comm);
        const MPI_Comm gone = comm;
        MPI_Comm_free(&comm);
        SAME("freed communicator", MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, gone),
             PMPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, gone));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* More comes than the receiver has room for: it hears of that, and not that some status tells it.
 * What goes wrong in a message, Intel MPI gives to the handler of MPI_COMM_WORLD, whosever it is.
 */
static void truncated(void) {
    int a[64] = {0};
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    warm(comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int code = MPI_Bcast(a, rank == 0 ? 64 : 8, MPI_INT, 0, comm);
    expect(class_of(code) == (rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "class when truncated");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

/* --- types of Fortran's kinds: no name, and predefined all the same ----------------------------
 */

static void kinds(void) {
    MPI_Datatype real, two;
    MPI_Comm comm;
    double x[2] = {rank == 0 ? 1.0 : 0.0, rank == 0 ? 2.0 : 0.0};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    warm(comm);
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real);
    for (int i = 0; i < 20; i++) {
        MPI_Type_contiguous(2, real, &two);
        MPI_Type_commit(&two);
        MPI_Bcast(x, 1, two, 0, comm);
        MPI_Type_free(&two);
    }
    expect(x[0] == 1.0 && x[1] == 2.0, "vector of a kind's reals");
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    struct {
        int64_t value;
        int index;
    } y[2] = {{rank == 0 ? 5 : 0, rank == 0 ? 6 : 0}, {rank == 0 ? 7 : 0, rank == 0 ? 8 : 0}};
    MPI_Type_get_value_index(MPI_INT64_T, MPI_INT, &pair);
    for (int i = 0; pair != MPI_DATATYPE_NULL && i < 20; i++) {
        MPI_Type_contiguous(2, pair, &two);
        MPI_Type_commit(&two);
        MPI_Bcast(y, 1, two, 0, comm);
        MPI_Type_free(&two);
    }
    expect(pair == MPI_DATATYPE_NULL || (y[1].value == 7 && y[1].index == 8), "pairs");
#endif
    MPI_Comm_free(&comm);
}

/* --- handles that are freed ----------------------------------------------------------------- */

static void weighted(void *in, void *inout, int *n, MPI_Datatype *type) {
    int elements, bytes;
    MPI_Type_size(*type, &bytes);
    elements = *n * bytes / (int)sizeof(int);
    for (int i = 0; i < elements; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void largest_of(void *in, void *inout, int *n, MPI_Datatype *type) {
    int elements, bytes;
    MPI_Type_size(*type, &bytes);
    elements = *n * bytes / (int)sizeof(int);
    for (int i = 0; i < elements; i++)
        if (((int *)in)[i] > ((int *)inout)[i])
            ((int *)inout)[i] = ((int *)in)[i];
}

/* Datatypes and operations that go at once; the MPI gives their handles to the next ones. */
static void freed(void) {
    enum { ROUNDS = 200, MOST = 40 };
    int in[MOST], out[MOST], wanted[MOST];
    warm(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        int length = 1 + round * 7 % MOST;
        MPI_Datatype type;
        MPI_Op op;
        for (int i = 0; i < MOST; i++)
            in[i] = rank * 100 + i + round, out[i] = wanted[i] = -1;
        MPI_Type_contiguous(length, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Op_create(round % 2 ? weighted : largest_of, 1, &op);
        MPI_Allreduce(in, out, 1, type, op, MPI_COMM_WORLD);
        PMPI_Allreduce(in, wanted, 1, type, op, reference);
        expect(memcmp(out, wanted, sizeof out) == 0, "allreduce with handles used again");
        MPI_Op_free(&op);
        MPI_Bcast(in, 1, type, round % size, MPI_COMM_WORLD);
        MPI_Type_free(&type);
        expect(in[0] == round % size * 100 + round, "bcast with a datatype used again");
        if (length < MOST)
            expect(in[length] == rank * 100 + length + round, "memory behind a bcast");
    }
}

/* --- inter-communicators, COMM_SELF, nothing to do ----------------------------------------- */

static void inter(void) {
    MPI_Comm half, both, merged;
    int low = rank < (size + 1) / 2, lows = (size + 1) / 2, sum = 0, mine = rank + 1;
    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    warm(half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? lows : 0, 5, &both);
    int there = low ? size * (size + 1) / 2 - lows * (lows + 1) / 2 : lows * (lows + 1) / 2;
    for (int i = 0; i < 8; i++) {
        MPI_Barrier(both);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both);
        expect(sum == there, "allreduce over an inter-communicator");
        int value = low && rank == 0 ? 77 : 0;
        MPI_Bcast(&value, 1, MPI_INT, low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, both);
        expect(value == (low && rank != 0 ? 0 : 77), "bcast over an inter-communicator");
        int all[64], n;
        MPI_Comm_remote_size(both, &n);
        MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, both);
        expect(all[n - 1] == (low ? size : lows), "allgather over an inter-communicator");
    }
    MPI_Intercomm_merge(both, !low, &merged);
    warm(merged);
    expect(sum_of(merged) == size * (size + 1) / 2, "sum on the merged communicator");
    MPI_Comm_free(&merged), MPI_Comm_free(&both), MPI_Comm_free(&half);
}

static void self(void) {
    for (int i = 0; i < 8; i++) {
        int in = rank + i, out = -1;
        MPI_Barrier(MPI_COMM_SELF);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        expect(out == in, "allreduce on MPI_COMM_SELF");
        MPI_Alltoall(&in, 1, MPI_INT, &out, 1, MPI_INT, MPI_COMM_SELF);
        MPI_Scan(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_SELF);
        MPI_Bcast(&out, 1, MPI_INT, 0, MPI_COMM_SELF);
        expect(out == in, "collectives on MPI_COMM_SELF");
    }
}

static void nothing(void) { /* zero counts with no buffers at all */
    int zeros[64] = {0};
    warm(MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) {
        MPI_Bcast(NULL, 0, MPI_INT, i % size, MPI_COMM_WORLD);
        MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoallv(NULL, zeros, zeros, MPI_INT, zeros, zeros, zeros, MPI_INT, MPI_COMM_WORLD);
        MPI_Gatherv(NULL, 0, MPI_INT, NULL, zeros, zeros, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(sum_of(MPI_COMM_WORLD) == size * (size + 1) / 2, "sum between calls of nothing");
    }
}

/* --- every predefined operation on every datatype ------------------------------------------- */

typedef enum { INTEGER, REAL, COMPLEX, LOGICAL, BYTE } kind_of_type;

/* A small value; padding is zero. */
static void element(char *at, kind_of_type kind, size_t bytes, int value) {
    double d = value;
    float f = (float)value;
    long double l = value;
    if (kind == REAL && bytes == 4)
        memcpy(at, &f, 4);
    else if (kind == REAL && bytes == 8)
        memcpy(at, &d, 8);
    else if (kind == REAL)
        memcpy(at, &l, 10);
    else if (kind == COMPLEX && bytes == 8)
        memcpy(at, (float[]){f, 1}, 8);
    else if (kind == COMPLEX && bytes == 16)
        memcpy(at, (double[]){d, 1}, 16);
    else if (kind == COMPLEX)
        memcpy(at, &l, 10), memcpy(at + 16, &(long double){1}, 10);
    else if (kind == LOGICAL)
        *at = (char)(value & 1);
    else
        memcpy(at, &(int64_t){value}, bytes);
}

static void predefined(void) {
    const struct {
        const char *name;
        MPI_Datatype type;
        kind_of_type kind;
    } types[] = {
#define T(name, kind) {#name, name, kind},
        T(MPI_CHAR, INTEGER) T(MPI_SIGNED_CHAR, INTEGER) T(MPI_UNSIGNED_CHAR, INTEGER)
            T(MPI_SHORT, INTEGER) T(MPI_UNSIGNED_SHORT, INTEGER) T(MPI_INT, INTEGER) T(
                MPI_UNSIGNED, INTEGER) T(MPI_LONG, INTEGER) T(MPI_UNSIGNED_LONG, INTEGER)
                T(MPI_LONG_LONG, INTEGER) T(MPI_UNSIGNED_LONG_LONG,
                                            INTEGER) T(MPI_INT8_T, INTEGER) T(MPI_INT16_T, INTEGER)
                    T(MPI_INT32_T, INTEGER) T(MPI_INT64_T, INTEGER) T(MPI_UINT8_T, INTEGER)
                        T(MPI_UINT16_T, INTEGER) T(MPI_UINT32_T, INTEGER) T(MPI_UINT64_T, INTEGER)
                            T(MPI_AINT, INTEGER) T(MPI_OFFSET, INTEGER) T(MPI_COUNT, INTEGER)
                                T(MPI_FLOAT, REAL) T(MPI_DOUBLE, REAL) T(MPI_LONG_DOUBLE, REAL)
                                    T(MPI_C_FLOAT_COMPLEX, COMPLEX) T(MPI_C_DOUBLE_COMPLEX, COMPLEX)
                                        T(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX) T(MPI_C_BOOL, LOGICAL)
                                            T(MPI_BYTE, BYTE) T(MPI_WCHAR, INTEGER)
#undef T
    };
    const struct {
        const char *name;
        MPI_Op op;
    } ops[] = {
#define O(name) {#name, name},
        O(MPI_SUM) O(MPI_PROD) O(MPI_MAX) O(MPI_MIN) O(MPI_LAND) O(MPI_LOR) O(MPI_LXOR) O(MPI_BAND)
            O(MPI_BOR) O(MPI_BXOR) O(MPI_REPLACE) O(MPI_MINLOC) O(MPI_MAXLOC)
#undef O
    };
    enum { COUNT = 5, ROOM = COUNT * 32 };
    int refused = 0, carried = 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(reference, MPI_ERRORS_RETURN);
    warm(comm);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            char in[ROOM] = {0}, ours[ROOM] = {0}, theirs[ROOM] = {0};
            MPI_Aint lb, extent;
            if (MPI_Type_get_extent(types[t].type, &lb, &extent) != MPI_SUCCESS || extent > 32)
                continue;
            for (int i = 0; i < COUNT; i++)
                element(in + i * extent, types[t].kind, (size_t)extent, 1 + (rank + i) % 3);
            int wanted = PMPI_Allreduce(in, theirs, COUNT, types[t].type, ops[o].op, reference);
            int got = MPI_Allreduce(in, ours, COUNT, types[t].type, ops[o].op, comm);
            if (wanted != MPI_SUCCESS || got != MPI_SUCCESS) {
                refused++;
                expect(class_of(wanted) == class_of(got),
                       "class for an operation that is not defined");
                continue;
            }
            carried++;
            if (types[t].kind == REAL &&
                extent == 16) /* what follows the ten bytes means nothing */
                for (int i = 0; i < COUNT; i++)
                    memset(ours + 16 * i + 10, 0, 6), memset(theirs + 16 * i + 10, 0, 6);
            if (types[t].kind == COMPLEX && extent == 32)
                for (int i = 0; i < 2 * COUNT; i++)
                    memset(ours + 16 * i + 10, 0, 6), memset(theirs + 16 * i + 10, 0, 6);
            if (memcmp(ours, theirs, (size_t)(COUNT * extent)) != 0) {
                fprintf(stderr, "%s of %s differs on rank %d\n", ops[o].name, types[t].name, rank);
                failed = 1;
            }
        }
    expect(carried > 100 && refused > 10, "number of operations tried");
    MPI_Comm_free(&comm);
}

/* MINLOC and MAXLOC on all pairs, with ties: the lower index wins (MPI-4.1 6.9.4). */
#define PAIRS(T, type)                                                                             \
    do {                                                                                           \
        struct {                                                                                   \
            T value;                                                                               \
            int index;                                                                             \
        } in[6], low[6], high[6];                                                                  \
        memset(in, 0, sizeof in), memset(low, 0, sizeof low), memset(high, 0, sizeof high);        \
        for (int i = 0; i < 6; i++)                                                                \
            in[i].value = (T)((rank + i) % 2 * 10 - 3), in[i].index = 100 + rank;                  \
        MPI_Allreduce(in, low, 6, type, MPI_MINLOC, MPI_COMM_WORLD);                               \
        MPI_Request request;                                                                       \
        MPI_Iallreduce(in, high, 6, type, MPI_MAXLOC, MPI_COMM_WORLD, &request);                   \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        for (int i = 0; i < 6; i++) {                                                              \
            int first_low = 100 + i % 2, first_high = 100 + (i + 1) % 2;                           \
            expect(low[i].value == (T)-3 && low[i].index == first_low, "MINLOC of " #type);        \
            expect(high[i].value == (T)7 && high[i].index == first_high, "MAXLOC of " #type);      \
        }                                                                                          \
    } while (0)

static void pairs(void) {
    if (size < 2)
        return;
    warm(MPI_COMM_WORLD);
    PAIRS(int, MPI_2INT);
    PAIRS(short, MPI_SHORT_INT);
    PAIRS(long, MPI_LONG_INT);
    PAIRS(float, MPI_FLOAT_INT);
    PAIRS(double, MPI_DOUBLE_INT);
    PAIRS(long double, MPI_LONG_DOUBLE_INT);
}

/* --- threads on communicators of their own ------------------------------------------------- */

static MPI_Comm of_thread[THREADS];
static int wrong_in_threads;
static atomic_int ended;

static void *work(void *argument) {
    int me = (int)(intptr_t)argument;
    MPI_Comm comm = of_thread[me];
    int all[64], blocks[64], moved[64];
    for (int i = 0; i < 150; i++) {
        int value = rank * 1000 + i, root = (i + me) % size, sum = 0, scanned = 0;
        MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Scan(&value, &scanned, 1, MPI_INT, MPI_SUM, comm);
        int given = rank == root ? i : -1;
        MPI_Bcast(&given, 1, MPI_INT, root, comm);
        for (int r = 0; r < size; r++)
            blocks[r] = rank * 64 + r;
        MPI_Alltoall(blocks, 1, MPI_INT, moved, 1, MPI_INT, comm);
        int good = given == i && all[size - 1] == (size - 1) * 1000 + i;
        good = good && sum == size * (size - 1) / 2 * 1000 + size * i;
        good = good && scanned == rank * (rank + 1) / 2 * 1000 + (rank + 1) * i;
        for (int r = 0; r < size; r++)
            good = good && moved[r] == r * 64 + rank;
        if (!good)
            wrong_in_threads = 1;
    }
    return NULL;
}

/* Nobody changes an error handler here. */
static void *look(void *argument) {
    while (!atomic_load(&ended)) {
        for (int i = 0; i <= THREADS; i++) {
            MPI_Errhandler handler;
            MPI_Comm_get_errhandler(i ? of_thread[i - 1] : MPI_COMM_WORLD, &handler);
            if (handler != MPI_ERRORS_ARE_FATAL)
                wrong_in_threads = 1;
            MPI_Errhandler_free(&handler);
        }
        sched_yield();
    }
    return argument;
}

static void threads(void) {
    pthread_t thread[THREADS], looker;
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[i]);
    pthread_create(&looker, NULL, look, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    atomic_store(&ended, 1);
    pthread_join(looker, NULL);
    expect(!wrong_in_threads, "result in a thread, or error handler");
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&of_thread[i]);
}

/* --- blocks beyond 2^31 bytes --------------------------------------------------------------- */

/* Rank 0 gives rank 1 a block of 2^31 + 40 bytes and gets 16; 4.4 GB of memory in all. */
static void large(void) {
    size_t bytes = ((size_t)1 << 31) + 40, elements = bytes / 8;
    int scounts[2] = {0, 0}, rcounts[2] = {0, 0}, displs[2] = {0, 0};
    char *buffer = calloc(rank < 2 ? bytes : 8, 1);
    uint64_t *numbers = (uint64_t *)(void *)buffer, got[2] = {0, 0}, given[2] = {5, 6};
    if (size != 2 || !buffer)
        MPI_Abort(MPI_COMM_WORLD, 2);
    warm(MPI_COMM_WORLD);
    if (rank == 0)
        for (size_t i = 0; i < elements; i += 509)
            numbers[i] = i * 3 + 1;
    int other = 1 - rank;
    scounts[other] = rank == 0 ? (int)elements : 2;
    rcounts[other] = rank == 0 ? 2 : (int)elements;
    MPI_Alltoallv(rank == 0 ? (void *)buffer : (void *)given, scounts, displs, MPI_UINT64_T,
                  rank == 0 ? (void *)got : (void *)buffer, rcounts, displs, MPI_UINT64_T,
                  MPI_COMM_WORLD);
    if (rank == 0)
        expect(got[0] == 5 && got[1] == 6, "small block against a large one");
    else
        for (size_t i = 0; i < elements; i++)
            if (numbers[i] != (i % 509 ? 0 : i * 3 + 1)) {
                expect(0, "large block");
                break;
            }
    free(buffer);
}

/* Rank 0 gives rank 1 one element of 2^31 bytes with a gap in it, and gets one; 6.5 GB of memory in
 * all. */
static void elements(void) {
    const size_t half = (size_t)1 << 30, gap = 8, bytes = 2 * half + gap;
    const int other = 1 - rank, root = rank == 0, displs[2] = {0, 0};
    int counts[2] = {0, 0};
    MPI_Datatype apart, together, types[2] = {MPI_BYTE, MPI_BYTE};
    char none[8], *buffer = calloc(rank < 2 ? bytes : 8, 1);
    if (size != 2 || !buffer)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Type_vector(2, (int)half, (int)(half + gap), MPI_BYTE, &apart);
    MPI_Type_contiguous((int)half / 4, MPI_UINT64_T, &together);
    MPI_Type_commit(&apart);
    MPI_Type_commit(&together);
    warm(MPI_COMM_WORLD);
    size_t at[] = {0, half - 1, half, 2 * half - 1}; /* of the bytes of the element */
    for (int i = 0; i < 4; i++)
        at[i] += root && at[i] >= half ? gap : 0;
    counts[other] = 1;
    types[other] = root ? apart : together;
    const int nothing[2] = {0, 0};
    for (int to = 1; to >= 0; to--) { /* to rank 1 and back */
        for (int i = 0; i < 4; i++)
            buffer[at[i]] = (char)(rank == to ? 0 : 10 * to + i + 1);
        MPI_Alltoallw(rank == to ? none : buffer, rank == to ? nothing : counts, displs, types,
                      rank == to ? buffer : none, rank == to ? counts : nothing, displs, types,
                      MPI_COMM_WORLD);
        for (int i = 0; i < 4; i++)
            expect(buffer[at[i]] == 10 * to + i + 1, "element of 2^31 bytes");
    }
    for (size_t i = half; root && i < half + gap; i++)
        expect(buffer[i] == 0, "gap in an element of 2^31 bytes");
    MPI_Type_free(&apart);
    MPI_Type_free(&together);
    free(buffer);
}

/* --- the end of a program ------------------------------------------------------------------ */

static int at_end(MPI_Comm comm, int key, void *value, void *extra) {
    int sum = sum_of(MPI_COMM_WORLD); /* MPI is still there (MPI-4.1 11.2.4) */
    (void)comm, (void)key, (void)value, (void)extra;
    if (sum != size * (size + 1) / 2)
        abort();
    if (rank == 0)
        printf("call_shapes: collectives in MPI_Finalize\n");
    return MPI_SUCCESS;
}

static void finalize(void) { /* communicators, datatypes, operations stay */
    int key, out[4], in[4] = {rank, 1, 2, 3};
    MPI_Op op;
    MPI_Datatype type;
    MPI_Op_create(weighted, 1, &op);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 5; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        warm(comm);
        MPI_Allreduce(in, out, 2, type, op, comm);
        expect(out[1] == size, "sum on a communicator that stays");
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    warm(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"attributes", attributes}, {"errors", errors},       {"freed", freed},
             {"inter", inter},           {"self", self},           {"nothing", nothing},
             {"predefined", predefined}, {"pairs", pairs},         {"large", large},
             {"elements", elements},     {"truncated", truncated}, {"kinds", kinds},
             {"threads", threads},       {"finalize", finalize}};

static int run(const char *name) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(name, cases[i].name) == 0)
            return cases[i].run(), 1;
    return 0;
}

int main(int argc, char **argv) {
    int any = 0, wanted = MPI_THREAD_SINGLE, provided;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "threads") == 0)
            wanted = MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    if (provided < wanted)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_dup(MPI_COMM_WORLD, &reference);
    for (int i = 1; i < argc && !any; i++) {
        const int mine = !run(argv[i]) || failed;
        PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, reference);
        if (rank == 0 && !any) {
            printf("call_shapes %s: done\n", argv[i]);
            fflush(stdout);
        }
    }
    PMPI_Comm_free(&reference);
    MPI_Finalize();
    return any;
}
