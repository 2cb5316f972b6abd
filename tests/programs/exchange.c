/* Irregular exchanges (MPI_Alltoallv, MPI_Alltoallw), with what a receiver has to find there
 * computed and the bytes around it guarded.
 *
 * Usage: exchange 'CHOICE WHAT'..., each on a communicator of its own with this choice of Stretto's
 * API. Prints "exchange CHOICE WHAT: N faults" for each. WHAT is one of
 * - repeat SEED CALLS: counts stay, come again in turn, change for one pair, change for
 *   all; in place; with derived datatypes, dense and not, on some ranks.
 * - known: an exchange that repeats is not told its sizes again, and says so.
 * - truncate [all]: one rank has less room than is sent to it (all: none): there
 *   MPI_ERR_TRUNCATE, nowhere else, and nothing written behind the room.
 * - retry: the program goes on after such an error, and makes room.
 * - alias: sendbuf == recvbuf, which is erroneous: it must end, no more.
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, GUARD = 8, SETS = 6 };

static int rank, size, wrong;
static MPI_Comm comm;

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Sizes of an exchange; the same on all ranks, so that each can compute its own. */
typedef struct {
    int n[MOST][MOST]; /* [from][to] */
} sizes;

static void draw(sizes *s, unsigned *state, int most, int symmetric) {
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++) {
            unsigned r = next_random(state);
            s->n[a][b] = r % 3 == 0 ? 0 : (int)(r / 3 % (unsigned)(most + 1));
            if (symmetric && b < a)
                s->n[a][b] = s->n[b][a];
        }
}

static int value(int from, int to, int i, int call) {
    return ((from * 31 + to) * 1009 + i) * 7 + call;
}

/* Lays blocks out with gaps and guards, in an order that is not the ranks'. */
static int *lay_out(const int *counts, int *displs, int room) {
    int at = GUARD;
    for (int i = 0; i < size; i++) {
        int r = (i * 3 + 1) % size;
        if (size % 3 == 0)
            r = size - 1 - i;
        displs[r] = at;
        at += counts[r] + (i % 2 ? GUARD : 0);
    }
    int *memory = malloc((size_t)(at + room + GUARD) * sizeof *memory);
    for (int i = 0; i < at + room + GUARD; i++)
        memory[i] = -77;
    return memory;
}

static void compare(const int *data, const int *displs, const int *counts, int call) {
    char *used = calloc((size_t)(1 << 22), 1);
    int end = 0;
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < counts[r]; i++) {
            used[displs[r] + i] = 1;
            if (data[displs[r] + i] != value(r, rank, i, call) && wrong++ < 5)
                printf("rank %d, call %d: element %d from rank %d is %d\n", rank, call, i, r,
                       data[displs[r] + i]);
        }
        if (displs[r] + counts[r] > end)
            end = displs[r] + counts[r];
    }
    for (int i = 0; i < end + GUARD; i++)
        if (!used[i] && data[i] != -77 && wrong++ < 5)
            printf("rank %d, call %d: place %d outside of all blocks was written\n", rank, call, i);
    free(used);
}

/* Two ints by a type made in one of several ways; the last one sends the second first. */
static MPI_Datatype two_ints(int way) {
    MPI_Datatype type, inner = MPI_DATATYPE_NULL;
    switch (way) {
    case 0: MPI_Type_contiguous(2, MPI_INT, &type); break;
    case 1: MPI_Type_vector(2, 1, 1, MPI_INT, &type); break;
    case 2:
        MPI_Type_contiguous(2, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 2 * (MPI_Aint)sizeof(int), &type);
        break;
    case 3:
        MPI_Type_dup(MPI_INT, &inner);
        MPI_Type_create_hvector(2, 1, sizeof(int), inner, &type);
        break;
    default:
        MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){sizeof(int), 0},
                               (MPI_Datatype[]){MPI_INT, MPI_INT}, &type);
    }
    if (inner != MPI_DATATYPE_NULL)
        MPI_Type_free(&inner);
    MPI_Type_commit(&type);
    return type;
}

static void exchange(const sizes *s, int call, int in_place, int how) {
    int sent[MOST], got[MOST], sent_at[MOST], got_at[MOST];
    for (int r = 0; r < size; r++) {
        sent[r] = s->n[rank][r];
        got[r] = s->n[r][rank];
    }
    int *in = lay_out(sent, sent_at, 0), *out = lay_out(got, got_at, 0);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < sent[r]; i++)
            *(in_place ? &out[got_at[r] + i] : &in[sent_at[r] + i]) = value(rank, r, i, call);
    int rc;
    if (how == 1) {
        MPI_Datatype types[MOST], other[MOST];
        for (int r = 0; r < size; r++) {
            types[r] = MPI_INT;
            other[r] = MPI_INT;
            if (rank % 2 && sent[r] % 2 == 0 && !in_place) {
                const int way = (call + r) % 5;
                types[r] = two_ints(way);
                for (int i = 0; way == 4 && i < sent[r]; i++)
                    in[sent_at[r] + (i ^ 1)] = value(rank, r, i, call);
                sent[r] /= 2;
            }
            if (rank % 2)
                MPI_Type_contiguous(1, MPI_INT, &other[r]), MPI_Type_commit(&other[r]);
            sent_at[r] *= (int)sizeof(int);
            got_at[r] *= (int)sizeof(int);
        }
        rc = MPI_Alltoallw(in_place ? MPI_IN_PLACE : in, sent, sent_at, types, out, got, got_at,
                           in_place ? types : other, comm);
        for (int r = 0; r < size; r++) {
            got_at[r] /= (int)sizeof(int);
            if (rank % 2)
                MPI_Type_free(&other[r]);
            if (types[r] != MPI_INT)
                MPI_Type_free(&types[r]);
        }
    } else if (how == 2) { /* every second int of a type with gaps, on this side only */
        MPI_Datatype gaps, wide;
        int *apart = malloc(((size_t)(1 << 20)) * sizeof *apart);
        int at[MOST], total = 0;
        MPI_Type_vector(1, 1, 2, MPI_INT, &gaps);
        MPI_Type_create_resized(gaps, 0, 2 * (MPI_Aint)sizeof(int), &wide);
        MPI_Type_commit(&wide);
        for (int r = 0; r < size; r++) {
            at[r] = total;
            for (int i = 0; i < sent[r]; i++)
                apart[2 * (total + i)] = value(rank, r, i, call);
            total += sent[r];
        }
        rc = MPI_Alltoallv(apart, sent, at, wide, out, got, got_at, MPI_INT, comm);
        MPI_Type_free(&gaps);
        MPI_Type_free(&wide);
        free(apart);
    } else {
        rc = MPI_Alltoallv(in_place ? MPI_IN_PLACE : in, sent, sent_at, MPI_INT, out, got, got_at,
                           MPI_INT, comm);
    }
    if (rc != MPI_SUCCESS && wrong++ < 5)
        printf("rank %d, call %d: error %d\n", rank, call, rc);
    compare(out, got_at, got, call);
    free(in);
    free(out);
}

static void repeat(unsigned seed, int calls) {
    static sizes sets[SETS];
    unsigned state = seed;
    for (int i = 0; i < SETS; i++)
        draw(&sets[i], &state, i == 5 ? 3000 : 9, 0);
    for (int call = 0; call < calls;) {
        unsigned mode = next_random(&state) % 6, length = 1 + next_random(&state) % 9;
        unsigned first = next_random(&state) % SETS, period = 1 + next_random(&state) % SETS;
        for (unsigned i = 0; i < length && call < calls; i++, call++) {
            sizes *s = &sets[(first + i % period) % SETS];
            int how = (int)(next_random(&state) % 3);
            if (mode == 3) { /* one pair of ranks differs: nobody else can know */
                unsigned a = next_random(&state) % (unsigned)size;
                unsigned b = next_random(&state) % (unsigned)size;
                s->n[a][b] = (int)(next_random(&state) % 12);
            } else if (mode == 4) {
                draw(s, &state, 40, 0);
            }
            if (mode == 5) {
                sizes both;
                draw(&both, &state, 20, 1);
                exchange(&both, call, 1, how % 2);
            } else {
                exchange(s, call, 0, how);
            }
        }
    }
}

/* Does Stretto say that the last exchange was carried out without telling its sizes? */
static void expect_known(int known, const char *when) {
    typedef int last_function(MPI_Comm, const char *, char *, size_t);
    last_function *last = NULL;
    char text[400] = "";
    *(void **)&last = dlsym(NULL, "stretto_last");
    if (!last || last(comm, "alltoallv", text, sizeof text) != 0 ||
        (strstr(text, "sizes of an earlier") != NULL) != known) {
        wrong++;
        printf("rank %d, %s: %s\n", rank, when, text);
    }
}

static void known(void) {
    static sizes sets[3];
    unsigned state = 3;
    for (int i = 0; i < 3; i++)
        draw(&sets[i], &state, 9, 0);
    for (int call = 0; call < 6; call++) {
        exchange(&sets[0], call, 0, 0);
        expect_known(call >= 2, "the same again");
    }
    sets[0].n[0][size - 1]++; /* a change that two ranks can see */
    exchange(&sets[0], 6, 0, 0);
    expect_known(0, "one pair changed");
    for (int call = 7; call < 25; call++) {
        exchange(&sets[call % 3], call, 0, 0);
        if (call < 8 || call >= 15)
            expect_known(call >= 15, "three in turn");
    }
}

static int class_of(int rc) {
    int class = MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}

/* Rank 0's room for what the last rank sends is `less` elements short. */
static void truncate_one(int n, int less, int call) {
    int sent[MOST], got[MOST], sent_at[MOST], got_at[MOST];
    const int short_here = rank == 0 && less > 0;
    for (int r = 0; r < size; r++)
        sent[r] = got[r] = n;
    int *in = lay_out(sent, sent_at, 0);
    if (short_here)
        got[size - 1] -= less;
    int *out = lay_out(got, got_at, 0);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++)
            in[sent_at[r] + i] = value(rank, r, i, call);
    int class =
        class_of(MPI_Alltoallv(in, sent, sent_at, MPI_INT, out, got, got_at, MPI_INT, comm));
    if (class != (short_here ? MPI_ERR_TRUNCATE : MPI_SUCCESS) && wrong++ < 5)
        printf("rank %d, %d elements, %d less: error class %d\n", rank, n, less, class);
    if (short_here) { /* what is in the room too small is not said */
        for (int i = 0; i < got[size - 1]; i++)
            out[got_at[size - 1] + i] = value(size - 1, rank, i, call);
        for (int r = 0; r < size - 1; r++) /* nor whether the others' came */
            for (int i = 0; i < n; i++)
                out[got_at[r] + i] = value(r, rank, i, call);
    }
    compare(out, got_at, got, call);
    free(in);
    free(out);
}

/* In turns C A B C A B, of which the first B had too little room: it is what is expected as soon as
 * C A have come as before. Twice, as the second time all is known. */
static void retry(int n) {
    for (int turn = 0, call = 0; turn < 4; turn++) {
        truncate_one(n + 5, 0, call++);
        truncate_one(n + 3, 0, call++);
        truncate_one(n, turn == 0 ? n - 1 : 0, call++);
    }
}

static void alias(void) {
    for (int bytes = 8; bytes <= 1 << 20; bytes *= 8) {
        char *both = calloc((size_t)size, (size_t)bytes);
        int counts[MOST], displs[MOST];
        for (int r = 0; r < size; r++) {
            counts[r] = bytes;
            displs[r] = r * bytes;
        }
        (void)MPI_Alltoall(both, bytes, MPI_BYTE, both, bytes, MPI_BYTE, comm);
        (void)MPI_Alltoallv(both, counts, displs, MPI_BYTE, both, counts, displs, MPI_BYTE, comm);
        free(both);
    }
}

/* One rank after another finds that it has too little room; `all`: none. No room at all: a message
 * of which only the sender knows cannot be received. */
static void truncated(int all) {
    const int n[] = {2, 8, 300, 5000, 60000, 400000};
    for (int i = 0, call = 0; i < 6; i++)
        for (int again = 0; again < 3; again++, call += 2) {
            truncate_one(n[i], again % 2 ? n[i] - !all : 1, call);
            truncate_one(n[i], 0, call + 1);
        }
}

static void choose(const char *collective, const char *choice) {
    typedef int choose_function(MPI_Comm, const char *, const char *, char *, size_t);
    choose_function *function = NULL;
    char error[400] = "the library is not there";
    *(void **)&function = dlsym(NULL, "stretto_choose");
    if (!function || function(comm, collective, choice, error, sizeof error) != 0) {
        fprintf(stderr, "exchange: %s: %s\n", choice, error);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static int run(const char *one) {
    char choice[64] = "", what[32] = "", word[32] = "";
    int calls = 0, all = 0;
    sscanf(one, "%63s %31s %31s %d", choice, what, word, &calls);
    wrong = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    choose("alltoallv", choice);
    if (!strcmp(what, "known"))
        known();
    else if (!strcmp(what, "truncate"))
        truncated(!strcmp(word, "all"));
    else if (!strcmp(what, "retry"))
        for (int n = 20; n < 60000; n *= 50)
            retry(n);
    else if (!strcmp(what, "alias"))
        choose("alltoall", choice), alias();
    else
        repeat((unsigned)atoi(word), calls);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf("exchange %s: %d faults\n", one, all);
    MPI_Comm_free(&comm);
    return all != 0;
}

int main(int argc, char **argv) {
    int faults = 0;
    MPI_Init(&argc, &argv);
    /* where Intel MPI raises errors in messages, whatever their communicator */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc; i++)
        faults |= run(argv[i]);
    MPI_Finalize();
    return faults;
}
