/* Which rank of a communicator becomes which process of a topology (MPI_Cart_create and its kin
 * with reorder), so that little is sent between nodes. Knows no MPI: graphs and places in, a
 * permutation out, the same for the same input. docs/explanation/reorder.md describes the method.
 */
#ifndef STRETTO_REORDER_H
#define STRETTO_REORDER_H

#include <stdbool.h>
#include <stdint.h>

/* What the n processes of a topology send to one another, both directions as one: row v lists
 * v's neighbours in ascending order, each once, without v itself. Each pair stands in two rows. */
typedef struct {
    int n;
    int64_t *start;  /* [n + 1] */
    int *to;         /* [start[n]] */
    int64_t *weight; /* [start[n]], never negative */
    int64_t total;   /* of all pairs, and of what processes send to themselves */
    int ndims;       /* of a grid; 0: another graph */
    int *dims, *periods;
} stretto_traffic;

/* Links of a grid in row-major order, one of weight 1 from each process to the next in each
 * dimension. The product of dims is below 2^31. False: no memory. */
bool stretto_traffic_of_grid(stretto_traffic *t, int ndims, const int *dims, const int *periods);
/* Each edge three numbers: from, to, weight (not negative). False: no memory. */
bool stretto_traffic_of_edges(stretto_traffic *t, int n, int64_t nedges, const int *edges);
void stretto_traffic_free(stretto_traffic *t);

/* Weight of the pairs whose ends lie in different groups: group[v] of process v. */
int64_t stretto_traffic_between(const stretto_traffic *t, const int *group);

/* Weights between nodes, and between domains (parts of nodes) with what is between nodes. */
typedef struct {
    int64_t total, nodes_before, nodes_after, domains_before, domains_after;
} stretto_reordering;

/* Gives each process v of the topology a rank, rank_of[v], so that less is sent between nodes, and
 * where that stays the same, less between domains. node and domain: [t->n] of each rank, any
 * numbers from 0 to keys - 1 (the first rank there, say); domain NULL: each node is one.
 * Process 0 keeps rank 0 where all nodes, and all domains, are of one size. 1: rank_of
 * is better than the given order; 0: it is the given order, because nothing better was found; -1:
 * no memory. */
int stretto_reorder(const stretto_traffic *t, int keys, const int *node, const int *domain,
                    int *rank_of, stretto_reordering *result);

#endif
