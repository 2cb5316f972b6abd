/* Communicators whose topology is odd: with STRETTO_AFTER=0 and a choice for neighbourhood
 * collectives Stretto looks at each when it is made. Where the ends of all edges match, the
 * collectives are compared with the MPI's own; the others are made, used for a sum, and freed.
 *
 * Usage: odd_graphs, on 4 ranks. Ends the job after two minutes.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16 };

static int rank, size, seen, differences;

/* Makes MPI_Neighbor_alltoall of Stretto's on it, when the ends match, and frees it. */
static void use(const char *what, MPI_Comm *comm, int matches) {
    if (*comm == MPI_COMM_NULL)
        return;
    int one = 1, sum = 0, n, mine[MOST], ours[MOST], theirs[MOST], me;
    MPI_Comm_size(*comm, &n);
    MPI_Comm_rank(*comm, &me);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *comm);
    differences += sum != n;
    for (int i = 0; i < MOST; i++)
        mine[i] = 100 * me + i, ours[i] = theirs[i] = -1;
    if (matches) {
        MPI_Neighbor_alltoall(mine, 1, MPI_INT, ours, 1, MPI_INT, *comm);
        PMPI_Neighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, *comm);
    }
    if (memcmp(ours, theirs, sizeof ours) || sum != n) {
        fprintf(stderr, "rank %d: %s: another result\n", me, what);
        differences++;
    }
    seen += me == 0;
    MPI_Comm_free(comm);
}

/* MPI_Graph_create from a list of neighbours for each of n ranks: "1 1|2|" and so on. */
static void graph(const char *lists, int n, int matches) {
    int index[8], edges[64], at = 0, r = 0;
    for (const char *c = lists; *c; c++) {
        if (*c == '|')
            index[r++] = at;
        else if (*c != ' ')
            edges[at++] = *c - '0';
    }
    MPI_Comm comm;
    MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, 0, &comm);
    use(lists, &comm, matches);
}

/* MPI_Dist_graph_create_adjacent; ranks relative to this one. */
static void adjacent(const char *what, int nin, const int *in, int nout, const int *out,
                     int matches) {
    int from[8], to[8];
    for (int i = 0; i < nin; i++)
        from[i] = (rank + in[i] + size) % size;
    for (int i = 0; i < nout; i++)
        to[i] = (rank + out[i] + size) % size;
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, nin, from, MPI_UNWEIGHTED, nout, to,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    use(what, &comm, matches);
}

static void cartesian(const char *what, int ndims, int first, int second, int periodic) {
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, ndims, (int[2]){first, second}, (int[2]){periodic, periodic}, 0,
                    &comm);
    use(what, &comm, 1);
}

/* MPI_Comm_create_group of some of its ranks, which Open MPI gives the parent's topology. */
static void part(const char *what, MPI_Comm parent, int n, const int *ranks) {
    MPI_Group all, some;
    MPI_Comm comm = MPI_COMM_NULL, again = MPI_COMM_NULL;
    int me, in = 0;
    MPI_Comm_group(parent, &all);
    MPI_Group_incl(all, n, ranks, &some);
    MPI_Comm_rank(parent, &me);
    for (int i = 0; i < n; i++)
        in = in || ranks[i] == me;
    if (in) {
        MPI_Comm_create_group(parent, some, 7, &comm);
        MPI_Comm_split(comm, 0, 0, &again);
    }
    use(what, &comm, 0);
    use(what, &again, 0);
    MPI_Group_free(&all), MPI_Group_free(&some);
}

static void parts(void) {
    MPI_Comm parents[3];
    const int ring[2] = {(rank + 1) % size, (rank + size - 1) % size};
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[2]){2, 2}, (int[2]){1, 0}, 0, &parents[0]);
    MPI_Graph_create(MPI_COMM_WORLD, 4, (int[4]){2, 4, 6, 8}, (int[8]){1, 3, 0, 2, 1, 3, 2, 0}, 0,
                     &parents[1]);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, ring, MPI_UNWEIGHTED, 2, ring, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &parents[2]);
    for (int i = 0; i < 3; i++) {
        part("two of four", parents[i], 2, (int[2]){0, 1});
        part("three of four", parents[i], 3, (int[3]){1, 2, 3});
        part("all in another order", parents[i], 4, (int[4]){1, 0, 3, 2});
        part("all", parents[i], 4, (int[4]){0, 1, 2, 3});
        MPI_Comm_free(&parents[i]);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    alarm(120);
    if (size != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    graph("1 1|2 2|3 3|0 0|", 4, 0); /* repeated, to the right only */
    graph("1|2|3|0|", 4, 0);         /* to the right only */
    graph("1 1 3 3|2 2 0 0|3 3 1 1|0 0 2 2|", 4, 1);
    graph("1 1|0|3|2|", 4, 0);     /* twice in one direction, once in the other */
    graph("1 1 2|0 2|0|3|", 4, 0); /* the numbers of slots are equal, the ends are not */
    graph("0|1|2|3|", 4, 1);       /* each to itself */
    graph("||||", 4, 1);           /* no edge at all */
    graph("1|0||", 3, 1);          /* a rank outside */
    graph("1 1||", 2, 0);          /* two outside */
    adjacent("asymmetric", 1, (int[1]){-1}, 1, (int[1]){1}, 1);
    adjacent("asymmetric, repeated", 2, (int[2]){-1, -1}, 2, (int[2]){1, 1}, 1);
    adjacent("too few ends", 1, (int[1]){-1}, 2, (int[2]){1, 1}, 0);
    adjacent("too many ends", 2, (int[2]){-1, -1}, 1, (int[1]){1}, 0);
    adjacent("other ends", 2, (int[2]){-1, -1}, 2, (int[2]){1, 2}, 0);
    adjacent("ends nowhere", 0, NULL, 1, (int[1]){1}, 0);
    adjacent("no edge", 0, NULL, 0, NULL, 1);
    cartesian("line with ends", 1, 4, 1, 0);
    cartesian("periodic, of two", 2, 2, 2, 1);
    cartesian("periodic, of one", 2, 4, 1, 1);
    parts();
    int total[2], mine[2] = {seen, differences};
    PMPI_Reduce(mine, total, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("odd_graphs: %d communicators, %d differences\n", total[0], total[1]);
    MPI_Finalize();
    return 0;
}
