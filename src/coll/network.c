/* X over the nodes within a plan over the ranks: see network.h. */
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>

bool stretto_spans_fit(const stretto_plan *x) {
    for (int i = 0; i < x->nactions; i++) {
        const stretto_span spans[] = {x->actions[i].src, x->actions[i].dst};
        for (int s = 0; s < 2; s++)
            if (spans[s].count < 0 || spans[s].first < 0 ||
                spans[s].first + spans[s].count > stretto_plan_blocks_of(x, spans[s].buffer))
                return false;
    }
    return true;
}

int stretto_network_build(stretto_network *network, const stretto_choice *choice,
                          const stretto_shape *shape, int root, bool in_place, size_t bytes,
                          char *error, size_t error_size) {
    stretto_shape over_nodes = *shape;
    over_nodes.rank = shape->layout->node_of[shape->rank];
    over_nodes.nranks = shape->layout->nnodes;
    over_nodes.root = root;
    over_nodes.in_place = in_place;
    over_nodes.layout = NULL;
    over_nodes.in_place = stretto_shape_in_place(&over_nodes);
    if (stretto_build_flat(&network->x, choice, &over_nodes, bytes, error, error_size) != 0)
        return -1;
    network->layout = shape->layout;
    if (stretto_spans_fit(&network->x))
        return 0;
    snprintf(error, error_size, "%s is faulty: it uses blocks that there are not",
             choice->algorithm->name);
    return -1;
}

/* Reserves X's TMP; tmp_at[j]: where its block j is now. */
static int reserve(stretto_plan *plan, const stretto_network *n, int *tmp_at) {
    tmp_at[0] = plan->tmp_blocks;
    for (int j = 0; j < n->x.tmp_blocks; j++) {
        const int s = n->x.tmp_shape[j];
        if (s == STRETTO_SHAPE_LARGEST) {
            if (!stretto_collective_vector(plan->shape.collective))
                return -1;
            stretto_plan_tmp(plan, s);
        } else {
            for (int i = n->shape_at[s]; i < n->shape_at[s + 1]; i++)
                stretto_plan_tmp(plan, n->shapes[i]);
        }
        tmp_at[j + 1] = plan->tmp_blocks;
    }
    return 0;
}

static stretto_span translate(const stretto_network *n, const int *tmp_at, stretto_span span) {
    const stretto_map tmp = {STRETTO_TMP, tmp_at};
    const stretto_map *map = span.buffer == STRETTO_TMP  ? &tmp
                             : span.buffer == STRETTO_IN ? &n->in
                                                         : &n->out;
    if (span.count == 0 || !map->at)
        return stretto_span_of(STRETTO_OUT, 0, 0);
    return stretto_span_of(map->buffer, map->at[span.first],
                           map->at[span.first + span.count] - map->at[span.first]);
}

/* A domain of a node: its first rank, how many are not in the order yet, where the search for the
 * next begins, how many of it and of its package are. */
typedef struct {
    int package, first, left, next, taken, of_package;
} lane_domain;

/* Ranks of one node. domains: room for as many. */
static void order_node(const int *ranks, int n, const int *package, const int *domain,
                       lane_domain *domains, int *order) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        int d = 0;
        while (d < found && (package[ranks[domains[d].first]] != package[ranks[i]] ||
                             domain[ranks[domains[d].first]] != domain[ranks[i]]))
            d++;
        if (d == found)
            domains[found++] = (lane_domain){.package = package[ranks[i]], .first = i, .next = i};
        domains[d].left++;
    }
    for (int k = 0; k < n; k++) {
        lane_domain *best = NULL;
        for (lane_domain *d = domains; d < domains + found; d++)
            if (d->left && (!best || d->of_package < best->of_package ||
                            (d->of_package == best->of_package && d->taken < best->taken)))
                best = d;
        const int first = ranks[best->first];
        while (package[ranks[best->next]] != package[first] ||
               domain[ranks[best->next]] != domain[first])
            best->next++;
        order[k] = ranks[best->next++];
        best->left--;
        best->taken++;
        for (lane_domain *d = domains; d < domains + found; d++)
            d->of_package += d->package == best->package;
    }
}

int stretto_lane_order(const stretto_layout *layout, const int *package, const int *domain,
                       int *order) {
    int most = 1;
    for (int node = 0; node < layout->nnodes; node++)
        if (stretto_ranks_on(layout, node) > most)
            most = stretto_ranks_on(layout, node);
    lane_domain *domains = malloc((size_t)most * sizeof *domains);
    for (int node = 0; domains && node < layout->nnodes; node++)
        order_node(layout->node_ranks + layout->node_start[node], stretto_ranks_on(layout, node),
                   package, domain, domains, order + layout->node_start[node]);
    free(domains);
    return domains ? 0 : -1;
}

stretto_block_place stretto_group_in_tmp(stretto_plan *plan, const stretto_layout *layout) {
    const stretto_block_place grouped = {STRETTO_TMP, plan->tmp_blocks};
    for (int i = 0; i < layout->nranks; i++)
        stretto_plan_tmp(plan, layout->node_ranks[i]);
    return grouped;
}

stretto_block_place stretto_group(stretto_plan *plan, const stretto_layout *layout,
                                  stretto_block_place ranked) {
    return layout->consecutive ? ranked : stretto_group_in_tmp(plan, layout);
}

void stretto_regroup(stretto_plan *plan, const stretto_layout *layout, stretto_block_place ranked,
                     stretto_block_place grouped, bool into_group, int skip) {
    const int *rank_at = layout->node_ranks;
    const int most = stretto_collective_apart(plan->shape.collective) ? 1 : layout->nranks;
    if (ranked.buffer == grouped.buffer && ranked.first == grouped.first)
        return;
    for (int i = 0, n; i < layout->nranks; i += n) {
        n = 1;
        if (rank_at[i] == skip)
            continue;
        while (n < most && i + n < layout->nranks && rank_at[i + n] == rank_at[i] + n &&
               rank_at[i + n] != skip)
            n++;
        const stretto_span here = stretto_span_of(grouped.buffer, grouped.first + i, n);
        const stretto_span there = stretto_span_of(ranked.buffer, ranked.first + rank_at[i], n);
        stretto_plan_copy(plan, into_group ? there : here, into_group ? here : there);
    }
}

int stretto_network_append(stretto_plan *plan, const stretto_network *n) {
    int *tmp_at = calloc((size_t)n->x.tmp_blocks + 1, sizeof *tmp_at);
    int *index_of = calloc((size_t)n->x.nactions + 1, sizeof *index_of);
    const bool memory = tmp_at && index_of;
    int status = memory ? reserve(plan, n, tmp_at) : 0; /* plan->failed tells */
    const int base_round = plan->round;
    for (int i = 0; memory && i < n->x.nactions && status == 0; i++) {
        stretto_action a = n->x.actions[i];
        a.src = translate(n, tmp_at, a.src);
        a.dst = translate(n, tmp_at, a.dst);
        if (a.kind == STRETTO_SEND || a.kind == STRETTO_RECV)
            a.peer = n->layout->node_ranks[n->layout->node_start[a.peer] + n->local[a.peer]];
        else if (a.kind == STRETTO_WAIT)
            a.peer = index_of[a.peer];
        else if (a.kind == STRETTO_COPY && a.src.buffer == a.dst.buffer &&
                 a.src.first == a.dst.first)
            continue; /* X's load: it is there already */
        plan->round = base_round + n->x.actions[i].round;
        index_of[i] = stretto_plan_append(plan, &a);
    }
    stretto_plan_fence(plan); /* next round */
    plan->failed = plan->failed || !memory;
    free(tmp_at);
    free(index_of);
    return status;
}
