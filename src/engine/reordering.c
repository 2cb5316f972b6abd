/* See engine/reordering.h; src/reorder computes the order.
 *
 * Rank 0 computes the order from the whole graph and sends it to all. What one rank alone knows is
 * agreed: its arguments of a distributed graph, that something is wrong with them, whether it has
 * threads that make communicators. All collectives are carried out whatever `reorder` says: a rank
 * that says something else than the others then waits for nobody.
 */
#include "engine/reordering.h"

#include "engine/engine.h"
#include "engine/memory.h"
#include "reorder/reorder.h"

#include <stdio.h>
#include <stdlib.h>

static bool wanted(void) {
    return stretto_config.reorder && stretto_the_world.active != STRETTO_OFF;
}

void *stretto_order_room(size_t number, size_t size) {
    void *memory = calloc(number + 1, size);
    if (!memory)
        stretto_no_memory();
    return memory;
}

static const char left[] = "left to the MPI";

static void say(const stretto_order *o, const char *what, const char *why) {
    if (stretto_config.verbose && o->rank == 0)
        stretto_say("%s of %s%d ranks: %s: %s", o->function, o->shape, o->n, what, why);
}

/* What is known without the other ranks, and is the same on all of them. False: no business of
 * ours. */
bool stretto_order_begin(stretto_order *o, const char *function, MPI_Comm comm) {
    int inter = 1;
    o->function = function;
    o->comm = comm;
    if (!wanted() || comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        inter || PMPI_Comm_size(comm, &o->nranks) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &o->rank) != MPI_SUCCESS)
        return false;
    o->n = o->nranks;
    o->world = stretto_order_room((size_t)o->nranks, sizeof *o->world);
    if (stretto_comm_world_ranks(comm, o->nranks, o->world))
        return true;
    say(o, left, "it has ranks of another MPI_COMM_WORLD");
    return false;
}

void stretto_order_end(stretto_order *o) {
    free(o->world);
    free(o->edges);
    free(o->rank_of);
    free(o->lists);
}

void stretto_order_add_edge(stretto_order *o, int from, int to, int weight) {
    int *edge = o->edges + 3 * o->nedges++;
    edge[0] = from;
    edge[1] = to;
    edge[2] = weight;
}

/* Whether all ranks want another order and none has a reason against it. */
static bool all_agree(const stretto_order *o) {
    const uint64_t mine[4] = {!o->well, stretto_threads_make_communicators(), o->digest,
                              ~o->digest};
    uint64_t most[4];
    if (PMPI_Allreduce(mine, most, 4, MPI_UINT64_T, MPI_MAX, o->comm) != MPI_SUCCESS)
        return false;
    const char *why = most[1] ? "several threads create communicators: under Open MPI this may "
                                "deadlock if Stretto creates some too"
                      : most[0] || most[2] != ~most[3]
                          ? "not all ranks request reorder with matching arguments"
                          : NULL;
    if (why && o->well)
        say(o, left, why);
    return !why;
}

/* Why no order of the ranks is better than another; NULL: one may be. */
static const char *settled(const stretto_order *o) {
    const stretto_world *w = &stretto_the_world;
    char *seen = stretto_order_room((size_t)w->nranks, 1);
    int nodes = 0, domains = 0;
    for (int r = 0; r < o->n; r++) {
        const int node = w->node_of[o->world[r]], domain = w->domain_of[o->world[r]];
        nodes += !(seen[node] & 1);
        seen[node] |= 1;
        domains += !(seen[domain] & 2);
        seen[domain] |= 2;
    }
    free(seen);
    return o->n == 1         ? "there is one"
           : domains == 1    ? "all ranks are on one node"
           : nodes == o->n   ? "each rank is on a separate node"
           : domains == o->n ? "each rank is in a separate domain"
                             : NULL;
}

/* Brings the edges of all ranks to rank 0. False where the MPI fails. */
static bool gather_edges(stretto_order *o, int64_t total) {
    int *counts = NULL, *displs = NULL, *all = NULL;
    const int mine = (int)(3 * o->nedges);
    if (o->rank == 0) {
        counts = stretto_order_room((size_t)o->nranks, sizeof *counts);
        displs = stretto_order_room((size_t)o->nranks, sizeof *displs);
        all = stretto_order_room(3 * (size_t)total, sizeof *all);
    }
    bool well = PMPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, o->comm) == MPI_SUCCESS;
    for (int r = 1; well && o->rank == 0 && r < o->nranks; r++)
        displs[r] = displs[r - 1] + counts[r - 1];
    well = PMPI_Gatherv(o->edges, mine, MPI_INT, all, counts, displs, MPI_INT, 0, o->comm) ==
               MPI_SUCCESS &&
           well;
    free(counts);
    free(displs);
    if (o->rank == 0) {
        free(o->edges);
        o->edges = all;
        o->nedges = total;
    }
    return well;
}

/* On rank 0, which has the whole graph. 1: o->rank_of is better; 0: the order stays. */
static int compute(stretto_order *o, stretto_reordering *r) {
    const stretto_world *w = &stretto_the_world;
    int *node = stretto_order_room((size_t)o->n, sizeof *node),
        *domain = stretto_order_room((size_t)o->n, sizeof *domain);
    for (int i = 0; i < o->n; i++) {
        node[i] = w->node_of[o->world[i]];
        domain[i] = w->domain_of[o->world[i]];
    }
    stretto_traffic t;
    if (o->ndims ? !stretto_traffic_of_grid(&t, o->ndims, o->dims, o->periods)
                 : !stretto_traffic_of_edges(&t, o->n, o->nedges, o->edges))
        stretto_no_memory();
    const int better = stretto_reorder(&t, w->nranks, node, domain, o->rank_of, r);
    if (better < 0)
        stretto_no_memory();
    stretto_traffic_free(&t);
    free(node);
    free(domain);
    return better;
}

static void say_found(const stretto_order *o, int better, const stretto_reordering *r) {
    char inside[96] = "", between[64];
    const char *what = o->ndims ? "edges" : "weight";
    const long long before = r->domains_before - r->nodes_before,
                    after = r->domains_after - r->nodes_after;
    if (!stretto_config.verbose || o->rank != 0)
        return;
    if (before || after)
        snprintf(inside, sizeof inside, ", between domains of a node %lld -> %lld", before, after);
    snprintf(between, sizeof between, "%lld -> %lld", (long long)r->nodes_before,
             (long long)r->nodes_after);
    if (!better)
        snprintf(between, sizeof between, "%lld", (long long)r->nodes_before);
    stretto_say("%s of %s%d ranks: %s%s between nodes %s of %lld%s", o->function, o->shape, o->n,
                better ? "" : "the given order is kept: ", what, between, (long long)r->total,
                better ? inside : "");
}

/* The ranks of o->comm in the new order. Agreed. */
static bool split(stretto_order *o) {
    int key = o->rank, rank = -1;
    for (int v = 0; v < o->n; v++)
        if (o->rank_of[v] == o->rank)
            key = v;
    const bool made = PMPI_Comm_split(o->comm, 0, key, &o->permuted) == MPI_SUCCESS;
    if (made)
        PMPI_Comm_set_errhandler(o->permuted, MPI_ERRORS_RETURN);
    const bool fits = made && PMPI_Comm_rank(o->permuted, &rank) == MPI_SUCCESS && rank == key;
    if (stretto_agree(o->comm, fits))
        return true;
    if (made)
        PMPI_Comm_free(&o->permuted);
    return false;
}

/* Collective over o->comm, agreed. */
static stretto_outcome find(stretto_order *o) {
    if (!all_agree(o))
        return STRETTO_ORDER_NATIVE;
    const char *why = settled(o);
    int64_t total = o->nedges;
    if (why) {
        say(o, "the given order is kept", why);
        return STRETTO_ORDER_KEPT;
    }
    if (o->local &&
        PMPI_Allreduce(&o->nedges, &total, 1, MPI_INT64_T, MPI_SUM, o->comm) != MPI_SUCCESS)
        why = "the MPI failed";
    if (!why && total > STRETTO_MOST_EDGES)
        why = "the graph has too many edges to gather on one rank";
    if (why) {
        say(o, left, why);
        return STRETTO_ORDER_NATIVE;
    }
    const bool gathered = !o->local || gather_edges(o, total);
    stretto_reordering r;
    int better = 0;
    o->rank_of = stretto_order_room((size_t)o->n, sizeof *o->rank_of);
    if (o->rank == 0 && gathered) {
        better = compute(o, &r);
        say_found(o, better, &r);
    }
    if (PMPI_Bcast(&better, 1, MPI_INT, 0, o->comm) != MPI_SUCCESS || !better)
        return STRETTO_ORDER_KEPT;
    const bool well = PMPI_Bcast(o->rank_of, o->n, MPI_INT, 0, o->comm) == MPI_SUCCESS;
    return stretto_agree(o->comm, well && gathered) && split(o) ? STRETTO_ORDER_PERMUTED
                                                                : STRETTO_ORDER_NATIVE;
}

stretto_outcome stretto_order_find(stretto_order *o) {
    MPI_Errhandler before = stretto_be_quiet(o->comm);
    const stretto_outcome found = find(o);
    stretto_be_as_before(o->comm, before);
    return found;
}

/* What the MPI makes of the permuted communicator has its error handler, as if made of o->comm. */
void stretto_order_take_handler(const stretto_order *o) {
    MPI_Errhandler handler;
    if (PMPI_Comm_get_errhandler(o->comm, &handler) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(o->permuted, handler);
    PMPI_Errhandler_free(&handler);
}
