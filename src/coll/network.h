/* A flat plan X over the nodes, put into a plan over the ranks: which rank stands for a node, and
 * what X's blocks are there. */
#ifndef STRETTO_COLL_NETWORK_H
#define STRETTO_COLL_NETWORK_H

#include "coll/build.h"

typedef struct {
    stretto_buffer buffer;
    const int *at; /* X's block b is blocks at[b] to at[b + 1]; NULL: X never touches the buffer */
} stretto_map;

typedef struct {
    stretto_plan x;
    const stretto_layout *layout;
    const int *local;    /* [nodes] local index of the rank that stands for the node */
    stretto_map in, out; /* of X's IN and OUT */
    /* X's block s of the call is the plan's blocks shapes[i], i = shape_at[s] to shape_at[s + 1] */
    const int *shapes, *shape_at;
} stretto_network;

static inline int stretto_ranks_on(const stretto_layout *layout, int node) {
    return layout->node_start[node + 1] - layout->node_start[node];
}

/* A block of each rank, or those of a part of the ranks, from block `first` of a buffer on. */
typedef struct {
    stretto_buffer buffer;
    int first;
} stretto_block_place;

/* New room in TMP for all ranks' blocks grouped by node; the second: where they are in rank order,
 * if nodes hold consecutive ranks. */
stretto_block_place stretto_group_in_tmp(stretto_plan *plan, const stretto_layout *layout);
stretto_block_place stretto_group(stretto_plan *plan, const stretto_layout *layout,
                                  stretto_block_place ranked);
/* Copies between the two, runs of consecutive ranks at a time where they lie side by side, but not
 * the block of rank `skip`. */
void stretto_regroup(stretto_plan *plan, const stretto_layout *layout, stretto_block_place ranked,
                     stretto_block_place grouped, bool into_group, int skip);
static inline stretto_span stretto_node_run(const stretto_layout *layout,
                                            stretto_block_place grouped, int node) {
    return stretto_span_of(grouped.buffer, grouped.first + layout->node_start[node],
                           stretto_ranks_on(layout, node));
}

/* A faulty algorithm must come out in the tests by its name, not as a damaged heap of ours. */
bool stretto_spans_fit(const stretto_plan *x);
/* Builds X for the caller's node; shape: the call over the ranks. */
int stretto_network_build(stretto_network *network, const stretto_choice *choice,
                          const stretto_shape *shape, int root, bool in_place, size_t bytes,
                          char *error, size_t error_size);
/* Appends X's actions. -1 when X's TMP does not say which blocks it is for. */
int stretto_network_append(stretto_plan *plan, const stretto_network *network);

/* Orders each node's ranks as layout.lane_ranks has them: the first n are spread over packages as
 * evenly as can be, then over the domains of each, so that n lanes use as many network cards as n
 * ranks can. package, domain: [nranks] equal for two ranks of a node in the same one. -1: no
 * memory. */
int stretto_lane_order(const stretto_layout *layout, const int *package, const int *domain,
                       int *order);
/* The local index of the rank that is a lane of a node. Where all are lanes they are in the order
 * of their ranks, as the node phases of a block a rank want them. */
static inline int stretto_lane_at(const stretto_layout *layout, int node, int lane, int lanes) {
    if (!layout->lane_ranks || lanes == stretto_ranks_on(layout, node))
        return lane;
    return layout->local_of[layout->lane_ranks[layout->node_start[node] + lane]];
}
/* Which lane of its node a rank is; `lanes`: none. */
static inline int stretto_lane_of(const stretto_layout *layout, int rank, int lanes) {
    int lane = 0;
    while (lane < lanes &&
           stretto_lane_at(layout, layout->node_of[rank], lane, lanes) != layout->local_of[rank])
        lane++;
    return lane;
}

/* Lanes: `lanes` ranks of each node carry a share each; 2 at least, and no more than the node with
 * the fewest ranks has. */
int stretto_build_lanes(stretto_plan *plan, const stretto_choice *choice,
                        const stretto_shape *shape, int lanes, size_t bytes, char *error,
                        size_t error_size);
/* The same for collectives of a block a rank: allgather(v), reduce_scatter(_block). */
int stretto_build_lanes_blocks(stretto_plan *plan, const stretto_choice *choice,
                               const stretto_shape *shape, int lanes, size_t bytes, char *error,
                               size_t error_size);
/* shm+X of allreduce, reduce, bcast, allgather(v), barrier. */
int stretto_build_composed(stretto_plan *plan, const stretto_choice *choice,
                           const stretto_shape *shape, size_t bytes, char *error,
                           size_t error_size);
/* shm+X and lanes+X of alltoall. */
int stretto_build_composed_alltoall(stretto_plan *plan, const stretto_choice *choice,
                                    const stretto_shape *shape, size_t bytes, char *error,
                                    size_t error_size);
int stretto_build_composed_blocks(stretto_plan *plan, const stretto_choice *choice,
                                  const stretto_shape *shape, size_t bytes, char *error,
                                  size_t error_size);
int stretto_build_composed_scan(stretto_plan *plan, const stretto_choice *choice,
                                const stretto_shape *shape, size_t bytes, char *error,
                                size_t error_size);

#endif
