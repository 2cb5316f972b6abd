/* Cases in which the victim blocks in collectives on other communicators and in making
 * communicators, and cases of several communicators at once (progress_cases.h). */
#include "progress_cases.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

static MPI_Comm const W = MPI_COMM_WORLD;
static MPI_Comm other, made;

static void sums(MPI_Comm comm) {
    int one = 1, sum = 0, n;
    MPI_Comm_size(comm, &n);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == n, "sum");
}

/* ---- collectives on another communicator ----------------------------------------------------- */

static void on_another(void (*all)(void)) {
    MPI_Comm_dup(W, &other);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(other); /* past its set-up */
    one_is_early(all);
    MPI_Comm_free(&other);
}
static void in_barrier(void) {
    MPI_Barrier(other);
}
static void in_bcast(void) {
    int told = rank == partner ? 5 : 0;
    MPI_Bcast(&told, 1, MPI_INT, partner, other);
    check(told == 5, "broadcast");
}
static void in_allreduce(void) {
    sums(other);
}
static void in_rooted(void) {
    int one = rank, sum = 0, all[64];
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, victim, other);
    check(rank != victim || sum == size * (size - 1) / 2, "reduction");
    MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, victim, other);
    MPI_Scatter(all, 1, MPI_INT, &one, 1, MPI_INT, victim, other);
    check(one == rank, "scatter");
    MPI_Scan(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, other);
    check(one == rank * (rank + 1) / 2, "scan");
}
static void in_alltoallv(void) {
    int in[64], out[64], n[64], at[64];
    for (int i = 0; i < size; i++)
        in[i] = 100 * rank + i, n[i] = 1, at[i] = i;
    MPI_Alltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, other);
    for (int i = 0; i < size; i++)
        check(out[i] == 100 * i + rank, "block");
    MPI_Allgather(&rank, 1, MPI_INT, out, 1, MPI_INT, other);
    MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, other);
}
static void in_neighbors(void) {
    int in[2] = {rank, rank}, out[2];
    MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, made);
    check(out[0] == (rank + size - 1) % size && out[1] == (rank + 1) % size, "neighbour");
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, out, 1, MPI_INT, made);
    check(out[0] == (rank + size - 1) % size && out[1] == (rank + 1) % size, "neighbour");
}
static void in_inter(void) { /* the even ranks and the odd ones */
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
    check(sum == (rank % 2 ? (size + 1) / 2 : size / 2), "sum of the others");
}

static void barrier(void) {
    on_another(in_barrier);
}
static void bcast(void) {
    on_another(in_bcast);
}
static void allreduce(void) {
    on_another(in_allreduce);
}
static void rooted(void) {
    on_another(in_rooted);
}
static void alltoallv(void) {
    on_another(in_alltoallv);
}
static void neighbors(void) {
    int periodic = 1;
    MPI_Cart_create(W, 1, &size, &periodic, 0, &made);
    one_is_early(in_neighbors);
    MPI_Comm_free(&made);
}
static void same_communicator(void) {
    other = W;
    one_is_early(in_allreduce);
}

static void make_inter(void) {
    MPI_Comm half;
    MPI_Comm_split(W, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, W, 1 - rank % 2, TAG, &made);
    MPI_Comm_free(&half);
}
static void intercommunicator(void) {
    make_inter();
    one_is_early(in_inter);
    MPI_Comm_free(&made);
}

/* ---- communicators are made and freed -------------------------------------------------------- */

static void use_and_free(void) {
    sums(made);
    MPI_Comm_free(&made);
}
static void in_dup(void) {
    MPI_Comm_dup(W, &made);
    use_and_free();
    MPI_Comm_dup_with_info(W, MPI_INFO_NULL, &made);
    use_and_free();
}
static void in_split(void) {
    MPI_Comm_split(W, rank % 2, -rank, &made);
    use_and_free();
    MPI_Comm_split_type(W, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    use_and_free();
}
static void in_create(void) {
    MPI_Group group;
    MPI_Comm_group(W, &group);
    MPI_Comm_create(W, group, &made);
    MPI_Group_free(&group);
    use_and_free();
}
static void in_create_group(void) { /* these two only */
    int two[2] = {victim, partner};
    MPI_Group all, group;
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, 2, two, &group);
    MPI_Comm_create_group(W, group, TAG, &made);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    use_and_free();
}
static void in_intercomm(void) {
    MPI_Comm both;
    make_inter();
    MPI_Intercomm_merge(made, rank % 2, &both);
    MPI_Comm_free(&made);
    made = both;
    use_and_free();
}
static void in_cart(void) {
    int periodic = 0, keep = 1;
    MPI_Comm sub;
    MPI_Cart_create(W, 1, &size, &periodic, 1, &made);
    MPI_Cart_sub(made, &keep, &sub);
    sums(sub);
    MPI_Comm_free(&sub);
    use_and_free();
}
static void in_graph(void) {
    int index[64], edges[64], next = (rank + 1) % size, before = (rank + size - 1) % size, one = 1;
    for (int i = 0; i < size; i++)
        index[i] = i + 1, edges[i] = (i + 1) % size;
    MPI_Graph_create(W, size, index, edges, 0, &made);
    use_and_free();
    MPI_Dist_graph_create(W, 1, &rank, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    use_and_free();
    MPI_Dist_graph_create_adjacent(W, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &made);
    use_and_free();
}
static void in_idup(void) {
    MPI_Request request;
    MPI_Comm_idup(W, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use_and_free();
}
static void in_disconnect(void) {
    MPI_Comm_disconnect(&other);
    MPI_Comm_dup(W, &other);
}

static void duplicate(void) {
    one_is_early(in_dup);
}
static void split(void) {
    one_is_early(in_split);
}
static void create(void) {
    one_is_early(in_create);
}
static void create_group(void) {
    one_blocks(in_create_group, in_create_group);
}
static void intercomm(void) {
    one_is_early(in_intercomm);
}
static void cart(void) {
    one_is_early(in_cart);
}
static void graph(void) {
    one_is_early(in_graph);
}
static void idup(void) {
    one_is_early(in_idup);
}
static void disconnect(void) {
    on_another(in_disconnect);
}

/* The communicator goes while its collectives are under way (MPI-4.1, 7.4.3: legal). */
static void freed(void) {
    static pending p;
    for (int round = 0; round < 2; round++) {
        MPI_Comm comm, again;
        victim = round % size;
        MPI_Comm_dup(W, &comm);
        for (int i = 0; i < 5; i++)
            sums(comm);
        again = comm;
        if (rank != victim)
            usleep(LATE);
        begin(&p, comm);
        MPI_Comm_free(&comm);
        check(comm == MPI_COMM_NULL && again != MPI_COMM_NULL, "handle");
        MPI_Waitall(4, p.requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < VECTOR; i++)
            check(p.out[i] == size * (size - 1) / 2 + (double)size * i, "sum");
    }
}

/* ---- several communicators ------------------------------------------------------------------- */

/* Two communicators of the same ranks; even ranks begin and end in one order, odd ranks in the
 * other. */
static void orders(void) {
    static pending p[2];
    MPI_Comm comm[2];
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(W, &comm[i]);
        for (int j = 0; j < 5; j++)
            sums(comm[i]);
    }
    for (int round = 0; round < 4; round++) {
        int first = (rank + round) % 2, last = round < 2 ? first : 1 - first;
        usleep((unsigned)(rank * 500));
        begin(&p[first], comm[first]);
        begin(&p[1 - first], comm[1 - first]);
        end(&p[last], comm[last]);
        end(&p[1 - last], comm[1 - last]);
    }
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comm[i]);
}

/* Rank r shares a communicator with rank r + 1, and another one with rank r - 1. Each begins on
 * both, and waits for its right one first: no order of the ranks exists in which each could be
 * done with one before the other begins. */
static void ring(void) {
    static pending p[2];
    MPI_Comm pair[2] = {MPI_COMM_NULL, MPI_COMM_NULL}; /* left, right */
    if (size < 3)
        return;
    for (int r = 0; r < size; r++) {
        int here = rank == r || rank == (r + 1) % size;
        MPI_Comm comm;
        MPI_Comm_split(W, here ? 0 : MPI_UNDEFINED, rank, &comm);
        if (here)
            pair[rank == r] = comm;
    }
    for (int i = 0; i < 5; i++) { /* past the set-up, in an order that ends */
        MPI_Barrier(pair[rank == 0]);
        MPI_Barrier(pair[rank != 0]);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            begin(&p[i], pair[i]);
        if (rank == round)
            usleep(LATE);
        end(&p[1], pair[1]);
        end(&p[0], pair[0]);
    }
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&pair[rank == 0 ? !i : i]);
}

/* Many on one communicator, ended in another order than they began; blocking ones between. */
static void many(void) {
    enum { MANY = 24 };
    static double in[MANY][512], out[MANY][512];
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) {
        for (int j = 0; j < 512; j++)
            in[i][j] = i + rank;
        MPI_Iallreduce(in[i], out[i], 512, MPI_DOUBLE, MPI_SUM, W, &requests[i]);
        if (i == MANY / 2)
            sums(W);
    }
    for (int n = 0; n < MANY; n++) {
        int i = (n * 7 + rank) % MANY;
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        for (int j = 0; j < 512; j++)
            check(out[i][j] == (double)size * i + size * (size - 1) / 2, "sum");
    }
}

/* Each rank starts the second one only when the first has ended there: Wait of one communicator's
 * must go on with another's. */
static void crossed(void) {
    static pending p[2];
    MPI_Comm comm;
    MPI_Comm_dup(W, &comm);
    for (int i = 0; i < 5; i++)
        sums(comm);
    for (int round = 0; round < 2; round++) {
        victim = round % size;
        begin(&p[0], W);
        if (rank == victim) { /* waits for the second with the first one under way */
            begin(&p[1], comm);
            end(&p[1], comm);
            end(&p[0], W);
        } else {
            end(&p[0], W);
            begin(&p[1], comm);
            end(&p[1], comm);
        }
    }
    MPI_Comm_free(&comm);
}

#if HAS_PERSISTENT
static double from[VECTOR], to[VECTOR];
static MPI_Request again[2];

static void start_again(void) {
    for (int i = 0; i < VECTOR; i++)
        from[i] = rank + i;
    MPI_Startall(2, again);
}
static void end_again(void) {
    MPI_Waitall(2, again, MPI_STATUSES_IGNORE);
    for (int i = 0; i < VECTOR; i++)
        check(to[i] == size * (size - 1) / 2 + (double)size * i, "persistent sum");
}
static void persistent(void) {
    MPI_Allreduce_init(from, to, VECTOR, MPI_DOUBLE, MPI_SUM, W, MPI_INFO_NULL, &again[0]);
    MPI_Barrier_init(W, MPI_INFO_NULL, &again[1]);
    for (int round = 0; round < 4; round++) {
        victim = round % 2;
        partner = 1 - victim;
        int one = 1;
        if (rank != victim)
            usleep(LATE);
        start_again();
        if (rank == victim)
            MPI_Recv(&one, 1, MPI_INT, partner, TAG, W, MPI_STATUS_IGNORE);
        end_again();
        if (rank == partner)
            MPI_Send(&one, 1, MPI_INT, victim, TAG, W);
    }
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&again[i]);
}
/* Others are made while some are under way. */
static void in_init(void) {
    MPI_Request request;
    int told = rank == partner;
    MPI_Bcast_init(&told, 1, MPI_INT, partner, W, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(told == 1, "persistent broadcast");
    MPI_Request_free(&request);
}
static void persistent_made(void) {
    one_is_early(in_init);
}
#endif

/* ---- the end of the job ---------------------------------------------------------------------- */

/* The root's part may be over long before the others': it goes to Finalize (the program's end, so
 * this case comes last) while they still need it. */
static void finalize(void) {
    static double vector[VECTOR];
    MPI_Request request;
    for (int i = 0; i < VECTOR; i++)
        vector[i] = rank == 0 ? i : 0;
    if (rank)
        usleep(LATE);
    MPI_Ibcast(vector, VECTOR, MPI_DOUBLE, 0, W, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < VECTOR; i++)
        check(vector[i] == i, "broadcast");
    if (rank == 0)
        printf("finalize done\n"), fflush(stdout);
    free(data);
    MPI_Finalize();
    exit(0);
}

/* Ends the job with 3, although collectives are under way and the victim blocks. */
static void abort_job(void) {
    static pending p;
    begin(&p, W);
    if (rank == 0)
        MPI_Recv(data, 1, MPI_CHAR, 1, TAG, W, MPI_STATUS_IGNORE);
    if (rank == 1) {
        end(&p, W);
        MPI_Abort(W, 3);
    }
    end(&p, W);
    MPI_Barrier(W);
}

const progress_case collective_cases[] = {
    {"barrier", barrier, 2},
    {"bcast", bcast, 2},
    {"allreduce", allreduce, 2},
    {"rooted", rooted, 2},
    {"alltoallv", alltoallv, 2},
    {"neighbors", neighbors, 3},
    {"same_communicator", same_communicator, 2},
    {"intercommunicator", intercommunicator, 2},
    {"dup", duplicate, 2},
    {"split", split, 2},
    {"create", create, 2},
    {"create_group", create_group, 2},
    {"intercomm", intercomm, 2},
    {"cart", cart, 2},
    {"graph", graph, 2},
    {"idup", idup, 2},
    {"disconnect", disconnect, 2},
    {"freed", freed, 2},
    {"orders", orders, 2},
    {"ring", ring, 3},
    {"many", many, 2},
    {"crossed", crossed, 2},
#if HAS_PERSISTENT
    {"persistent", persistent, 2},
    {"persistent_made", persistent_made, 2},
#endif
    {"abort", abort_job, 2},
    {NULL, NULL, 0},
};
const progress_case last_cases[] = {{"finalize", finalize, 2}, {NULL, NULL, 0}};
