/* Pricing for Python: see export_price.h. Empty in every library but libstretto-plan.so. */
#ifdef STRETTO_PLAN_LIBRARY
#include "coll/export_price.h"
#include "coll/coll.h"
#include "coll/formula.h"
#include "coll/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *stretto_export_parameters(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    const char *separator = "[";
#define ROW(scope, name, unit, min, max, preset, help)                                             \
    fprintf(out,                                                                                   \
            "%s{\"scope\": \"" scope "\", \"name\": \"" #name "\", \"unit\": \"" unit              \
            "\", \"min\": %.17g, \"max\": %.17g, \"default\": %.17g, \"help\": \"" help "\"}",     \
            separator, (double)(min), (double)(max), (double)(preset));                            \
    separator = ", ";
#define LEVEL(...) ROW("level", __VA_ARGS__)
#define PARAM(...)
#include "plan/platform.def"
#define LEVEL(...)
#define PARAM(...) ROW("platform", __VA_ARGS__)
#include "plan/platform.def"
    fputc(']', out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

const char *stretto_export_action_name(int kind) {
    return stretto_action_name((stretto_action_kind)kind);
}

/* What building one rank's plan needs. */
typedef struct {
    const stretto_export_pricing *in;
    stretto_collective collective;
    stretto_choice choice;
    stretto_layout layout;
    stretto_platform platform;
    int *numbers; /* the layout's */
    stretto_graph_store graph;
} pricing;

static int source(void *arg, int rank, stretto_plan *plan, char *error, size_t error_size) {
    const pricing *p = arg;
    stretto_shape shape = {.collective = p->collective,
                           .rank = rank,
                           .nranks = p->in->nranks,
                           .root = p->in->root,
                           .in_place = p->in->in_place,
                           .commutative = p->in->commutative,
                           .layout = p->in->host ? &p->layout : NULL,
                           .graph = p->graph.memory ? &p->graph.graph : NULL};
    return stretto_plan_build(plan, &p->choice, &shape, p->in->bytes, error, error_size);
}

/* Nodes numbered by their lowest rank; -1 when a number is none, or without memory. */
static int read_layout(pricing *p, char *error, size_t error_size) {
    const int n = p->in->nranks;
    const size_t size = (size_t)n;
    int *numbers = p->numbers = calloc(7 * size + 2, sizeof *numbers);
    if (!numbers) {
        snprintf(error, error_size, "out of memory while pricing");
        return -1;
    }
    int *node_of = numbers, *local_of = numbers + size, *ranks = local_of + size;
    int *start = ranks + size, *node_of_host = start + size + 1; /* + 1 */
    int nnodes = 0;
    bool consecutive = true;
    for (int r = 0; r < n; r++) {
        int host = p->in->host ? p->in->host[r] : r;
        if (host < 0 || host >= n) {
            snprintf(error, error_size, "rank %d is on node %d; nodes are numbered 0 to %d", r,
                     host, n - 1);
            return -1;
        }
        if (!node_of_host[host])
            node_of_host[host] = ++nnodes;
        node_of[r] = node_of_host[host] - 1;
        local_of[r] = start[node_of[r] + 1]++;
        consecutive = consecutive && (!r || node_of[r] >= node_of[r - 1]);
    }
    for (int node = 0; node < nnodes; node++)
        start[node + 1] += start[node];
    for (int r = 0; r < n; r++)
        ranks[start[node_of[r]] + local_of[r]] = r;
    p->layout = (stretto_layout){n, nnodes, node_of, local_of, start, ranks, consecutive, NULL};
    if (stretto_platform_check(&p->platform, error, error_size) != 0)
        return -1;
    int *rail = node_of_host, *domain = rail + size, *order = domain + size;
    for (int r = 0; r < n; r++) {
        const int on = start[node_of[r] + 1] - start[node_of[r]];
        rail[r] = stretto_platform_rail(&p->platform, local_of[r], on);
        domain[r] =
            stretto_platform_core(&p->platform, local_of[r], on) / (int)p->platform.cores_numa;
    }
    p->layout.lane_ranks = order;
    if (stretto_lane_order(&p->layout, rail, domain, order) == 0)
        return 0;
    snprintf(error, error_size, "out of memory while pricing");
    return -1;
}

static int read_input(pricing *p, bool choice, char *error, size_t error_size) {
    const stretto_export_pricing *in = p->in;
    const size_t numbers = sizeof p->platform / sizeof(double);
    p->collective = stretto_collective_parse(in->collective);
    if (p->collective == STRETTO_COLLECTIVES) {
        snprintf(error, error_size, "there is no collective '%.40s'", in->collective);
        return -1;
    }
    if (in->nplatform < 0 || (size_t)in->nplatform != numbers) {
        snprintf(error, error_size, "a platform has %zu parameters, not %d", numbers,
                 in->nplatform);
        return -1;
    }
    memcpy(&p->platform, in->platform, sizeof p->platform);
    if (in->nranks < 1 || in->root < 0 || in->root >= in->nranks) {
        snprintf(error, error_size, "there is no root %d among %d ranks", in->root, in->nranks);
        return -1;
    }
    if (choice &&
        stretto_choice_parse(p->collective, in->choice, &p->choice, error, error_size) != 0)
        return -1;
    if (stretto_collective_neighbor(p->collective) && in->sizes) {
        snprintf(error, error_size, "neighbourhood collectives are priced with equal blocks only");
        return -1;
    }
    if (stretto_export_graph(&p->graph, p->collective, in->graph, in->nranks, error, error_size))
        return -1;
    return read_layout(p, error, error_size);
}

static stretto_price_call call_of(const pricing *p) {
    const stretto_export_pricing *in = p->in;
    return (stretto_price_call){&p->platform, &p->layout,     in->nranks, in->bytes,
                                in->element,  in->sizes,      in->skew,   in->calls,
                                in->seed,     in->trace != 0, in->stop};
}

int stretto_export_price(const stretto_export_pricing *in, stretto_price_result *result,
                         char *error, size_t error_size) {
    pricing p = {.in = in};
    int status = read_input(&p, true, error, error_size);
    if (status == 0) {
        stretto_price_call call = call_of(&p);
        status = stretto_price(&call, source, &p, result, error, error_size);
    }
    free(p.numbers);
    stretto_graph_release(&p.graph);
    return status;
}

void stretto_export_price_free(stretto_price_result *result) {
    stretto_price_free(result);
}

int stretto_export_bound(const stretto_export_pricing *in, double *seconds, const char **why,
                         char *error, size_t error_size) {
    pricing p = {.in = in};
    int status = read_input(&p, false, error, error_size);
    if (status == 0) {
        stretto_price_call call = call_of(&p);
        status = stretto_platform_check(&p.platform, error, error_size);
        if (status == 0)
            *seconds = stretto_price_bound(&call, p.collective, why);
    }
    free(p.numbers);
    stretto_graph_release(&p.graph);
    return status;
}

int stretto_export_formula(const char *collective, const char *text, int nranks, size_t bytes,
                           double *cost, int *exact, const char **formula, const char **where,
                           char *error, size_t error_size) {
    stretto_collective c = stretto_collective_parse(collective);
    stretto_choice choice;
    stretto_cost found;
    bool is_exact;
    if (c == STRETTO_COLLECTIVES) {
        snprintf(error, error_size, "there is no collective '%.40s'", collective);
        return -1;
    }
    if (stretto_choice_parse(c, text, &choice, error, error_size) != 0)
        return -1;
    if (stretto_formula_cost(c, &choice, nranks, bytes, &found, &is_exact) != 0) {
        snprintf(error, error_size,
                 "%.40s %.100s has no closed formula; stretto plan price "
                 "evaluates its plans",
                 collective, text);
        return -1;
    }
    const stretto_formula *row = stretto_formula_find(c, choice.algorithm->name);
    *formula = row->text;
    *where = row->where;
    *exact = is_exact;
    cost[0] = found.alpha_times;
    cost[1] = found.beta_bytes;
    cost[2] = found.gamma_bytes;
    return 0;
}

#else
typedef int stretto_export_price_is_elsewhere; /* ISO C wants a declaration */
#endif
