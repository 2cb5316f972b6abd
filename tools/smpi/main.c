/* Stretto's executor and plans, run by SimGrid SMPI: each case of a file, its times printed.
 *
 *     smpirun ... program CASES PPN REDUCE_S REDUCE_S_PER_BYTE HOP_S HOP_S_PER_BYTE
 *
 * CASES has one case a line: COLLECTIVE CHOICE BYTES ROOT CALLS FOLDED. Rank 0 prints a line of
 * JSON a case. `ends_s` are, for each of the back-to-back calls, the times since their common start
 * at which the last rank left it; `alone_s` is one call that all ranks begin at the same instant
 * after the network has come to rest. Of CALLS = 1 that one call is both. */
#include "simulated.h"

#include <simgrid/barrier.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CALLS = 64 };

simulated_job simulated;

static sg_bar_t together;      /* costs no simulated time */
static double ends[MAX_CALLS]; /* the last rank's */
static int wrong, worst;       /* ranks with a wrong result: in these calls, in any */
static char failed[400];
static simulated_buffers shared; /* of folded cases */
static char *shared_scratch;
static MPI_Op sum;
static stretto_layout layout;
static simulated_node **nodes;

void stretto_say(const char *format, ...) {
    (void)format; /* nothing that is linked here speaks */
}

static void die(const char *what) {
    fprintf(stderr, "smpi program: %s\n", what);
    _exit(2); /* not SMPI's exit, which ends one rank */
}

static void read_cases(const char *path) {
    FILE *file = fopen(path, "r");
    char collective[64], line[500];
    if (!file)
        die("the file of cases cannot be read");
    while (fgets(line, sizeof line, file)) {
        simulated.cases =
            realloc(simulated.cases, (size_t)(simulated.ncases + 1) * sizeof *simulated.cases);
        if (!simulated.cases)
            die("out of memory");
        simulated_case *k = &simulated.cases[simulated.ncases++];
        int folded;
        if (sscanf(line, "%63s %299s %zu %d %d %d", collective, k->choice, &k->bytes, &k->root,
                   &k->calls, &folded) != 6 ||
            (k->collective = stretto_collective_parse(collective)) == STRETTO_COLLECTIVES ||
            k->calls < 1 || k->calls > MAX_CALLS)
            die("a line of the file of cases is malformed");
        k->folded = folded;
    }
    fclose(file);
}

/* Rank 0: the layout and the nodes, which all ranks share. */
static void make_nodes(int nranks, int ppn) {
    const int nnodes = (nranks + ppn - 1) / ppn;
    int *memory = malloc((size_t)(3 * nranks + nnodes + 1) * sizeof *memory);
    nodes = malloc((size_t)nnodes * sizeof *nodes);
    if (!memory || !nodes)
        die("out of memory");
    int *node_of = memory, *local_of = memory + nranks, *ranks = memory + 2 * nranks,
        *start = memory + 3 * nranks;
    for (int r = 0; r < nranks; r++) {
        node_of[r] = r / ppn;
        local_of[r] = r % ppn;
        ranks[r] = r;
    }
    for (int n = 0; n <= nnodes; n++)
        start[n] = n * ppn < nranks ? n * ppn : nranks;
    for (int n = 0; n < nnodes; n++)
        nodes[n] = simulated_node_new(start[n + 1] - start[n]);
    layout = (stretto_layout){nranks, nnodes, node_of, local_of, start, ranks, true, NULL};
}

static bool any_is_ours(void) {
    for (int i = 0; i < simulated.ncases; i++)
        if (strcmp(simulated.cases[i].choice, "native") != 0)
            return true;
    return false;
}

/* What the executor wants to know of a communicator. SMPI's own algorithms need no second one, and
 * some selectors take a million messages to make one of 1024 ranks. */
static void describe(stretto_comm *c) {
    const int node = layout.node_of[c->rank];
    c->comm = MPI_COMM_WORLD;
    c->shadow = MPI_COMM_NULL;
    if (any_is_ours())
        PMPI_Comm_dup(MPI_COMM_WORLD, &c->shadow);
    c->layout = layout;
    c->ppn = simulated.ppn;
    if (layout.node_start[node + 1] - layout.node_start[node] > 1)
        c->node = simulated_node_join(nodes[node], layout.local_of[c->rank]);
}

/* SMPI's own algorithms pay for their reductions, too. */
static void native_sum(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    simulated_sum(in, inout, inout, (size_t)*n);
}

static int call_native(const simulated_case *k, const simulated_buffers *b) {
    const int n = (int)k->bytes, doubles = n / (int)sizeof(double);
    switch (k->collective) {
    case STRETTO_ALLREDUCE:
        return PMPI_Allreduce(b->in, b->out, doubles, MPI_DOUBLE, sum, MPI_COMM_WORLD);
    case STRETTO_REDUCE:
        return PMPI_Reduce(b->in, b->out, doubles, MPI_DOUBLE, sum, k->root, MPI_COMM_WORLD);
    case STRETTO_BCAST: return PMPI_Bcast(b->out, n, MPI_BYTE, k->root, MPI_COMM_WORLD);
    case STRETTO_ALLGATHER:
        return PMPI_Allgather(b->in, n, MPI_BYTE, b->out, n, MPI_BYTE, MPI_COMM_WORLD);
    case STRETTO_ALLTOALL:
        return PMPI_Alltoall(b->in, n, MPI_BYTE, b->out, n, MPI_BYTE, MPI_COMM_WORLD);
    case STRETTO_BARRIER: return PMPI_Barrier(MPI_COMM_WORLD);
    default: return MPI_ERR_UNSUPPORTED_OPERATION;
    }
}

/* One call of the case on this rank; says why when it cannot be done. */
static bool call(stretto_comm *c, const simulated_case *k, const simulated_buffers *b) {
    char error[300];
    stretto_choice choice;
    if (strcmp(k->choice, "native") == 0)
        return call_native(k, b) == MPI_SUCCESS;
    const bool doubles = k->collective == STRETTO_ALLREDUCE || k->collective == STRETTO_REDUCE;
    const int stride = doubles ? (int)sizeof(double) : 1;
    const stretto_elements e = {MPI_BYTE, stride, stride, doubles ? simulated_sum : NULL,
                                doubles ? MPI_SUM : MPI_OP_NULL};
    stretto_cached_plan *plan = NULL;
    if (stretto_choice_parse(k->collective, k->choice, &choice, error, sizeof error) == 0)
        plan = stretto_plan_for(c, k->collective, &choice, k->root, k->bytes, false, true, error,
                                sizeof error);
    if (!plan) {
        snprintf(failed, sizeof failed, "%s", error);
        return false;
    }
    if (simulated_folded) /* never freed meanwhile: it counts as large enough */
        for (int i = 0; i < STRETTO_SCRATCHES; i++) {
            c->scratch[i] = shared_scratch;
            c->scratch_size[i] = SIZE_MAX;
        }
    const stretto_buffers where = {
        .in = b->in,
        .out = b->out,
        .out_is_scratch = k->collective == STRETTO_REDUCE && c->rank != k->root,
        .count = (long long)k->bytes / stride,
    };
    int rc = stretto_execute(c, plan, &e, &where);
    if (simulated_folded)
        for (int i = 0; i < STRETTO_SCRATCHES; i++) {
            c->scratch[i] = NULL;
            c->scratch_size[i] = 0;
        }
    if (rc != MPI_SUCCESS)
        snprintf(failed, sizeof failed, "the executor gave MPI error %d", rc);
    return rc == MPI_SUCCESS;
}

static bool get_buffers(stretto_comm *c, const simulated_case *k, simulated_buffers *b) {
    b->in_bytes = simulated_in_bytes(k, c->rank, c->nranks);
    b->out_bytes = simulated_out_bytes(k, c->rank, c->nranks);
    if (k->folded && c->rank == 0) { /* SMPI copies nothing into such memory, and it is small */
        const size_t most = k->bytes * (size_t)c->nranks + 4096;
        shared =
            (simulated_buffers){SMPI_SHARED_MALLOC(most), SMPI_SHARED_MALLOC(most), most, most};
        shared_scratch = SMPI_SHARED_MALLOC(3 * most);
    }
    sg_barrier_wait(together);
    b->in = k->folded ? shared.in : malloc(b->in_bytes + 1);
    b->out = k->folded ? shared.out : malloc(b->out_bytes + 1);
    return b->in && b->out;
}

static void give_back(const stretto_comm *c, const simulated_case *k, const simulated_buffers *b) {
    sg_barrier_wait(together);
    if (!k->folded) {
        free(b->in);
        free(b->out);
    } else if (c->rank == 0) {
        SMPI_SHARED_FREE(shared.in);
        SMPI_SHARED_FREE(shared.out);
        SMPI_SHARED_FREE(shared_scratch);
    }
}

/* `calls` calls from one instant on; ends[] = when the last rank left each. */
static void run_calls(stretto_comm *c, const simulated_case *k, const simulated_buffers *b,
                      int calls) {
    if (!k->folded)
        simulated_fill(k, c->rank, c->nranks, b);
    sg_barrier_wait(together);
    const double start = simgrid_get_clock();
    if (c->rank == 0)
        memset(ends, 0, sizeof ends);
    for (int i = 0; i < calls && !*failed; i++) {
        if (!call(c, k, b))
            break;
        const double now = simgrid_get_clock() - start;
        if (now > ends[i])
            ends[i] = now;
    }
    if (!k->folded && k->collective != STRETTO_BARRIER &&
        !simulated_right(k, c->rank, c->nranks, b))
        wrong++;
    sg_barrier_wait(together);
    if (c->rank == 0) {
        worst = wrong > worst ? wrong : worst;
        wrong = 0;
    }
}

static void run_case(stretto_comm *c, const simulated_case *k) {
    simulated_buffers b;
    if (c->rank == 0) {
        wrong = worst = 0;
        *failed = '\0';
        simulated_folded = k->folded;
    }
    if (!get_buffers(c, k, &b))
        die("out of memory");
    run_calls(c, k, &b, k->calls);
    if (c->rank == 0) {
        printf("{\"collective\": \"%s\", \"choice\": \"%s\", \"bytes\": %zu, \"ends_s\": [",
               stretto_collective_name(k->collective), k->choice, k->bytes);
        for (int i = 0; i < k->calls; i++)
            printf("%s%.12g", i ? ", " : "", ends[i]);
    }
    if (k->calls > 1)
        run_calls(c, k, &b, 1);
    if (c->rank == 0) {
        printf("], \"alone_s\": %.12g, \"checked\": %s, \"wrong_ranks\": %d, \"failed\": \"%s\"}\n",
               ends[0], k->folded ? "false" : "true", worst, failed);
        fflush(stdout);
    }
    stretto_plans_forget(c);
    stretto_comm_trim(c);
    give_back(c, k, &b);
}

int main(int argc, char **argv) {
    stretto_comm c = {0};
    PMPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &c.nranks);
    if (c.rank == 0) {
        if (argc != 7)
            die("usage: program CASES PPN REDUCE_S REDUCE_S_PER_BYTE HOP_S HOP_S_PER_BYTE");
        simulated = (simulated_job){.nranks = c.nranks,
                                    .ppn = atoi(argv[2]),
                                    .reduce_s = atof(argv[3]),
                                    .reduce_s_per_byte = atof(argv[4]),
                                    .hop_s = atof(argv[5]),
                                    .hop_s_per_byte = atof(argv[6])};
        if (simulated.ppn < 1 || simulated.ppn > STRETTO_SIMULATED_PPN)
            die("so many ranks a node cannot be");
        read_cases(argv[1]);
        make_nodes(c.nranks, simulated.ppn);
        PMPI_Op_create(native_sum, 1, &sum);
        together = sg_barrier_init((unsigned)c.nranks);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    describe(&c);
    for (int i = 0; i < simulated.ncases; i++)
        run_case(&c, &simulated.cases[i]);
    free(c.requests);
    free(c.node);
    if (c.shadow != MPI_COMM_NULL)
        PMPI_Comm_free(&c.shadow);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (c.rank == 0)
        PMPI_Op_free(&sum);
    PMPI_Finalize();
    return 0;
}
