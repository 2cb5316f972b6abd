/* Pricing: reads the input, runs all ranks, and says what came out. See price.h,
 * docs/explanation/model.md. */
#include "plan/price.h"
#include "plan/price_state.h"

#include <stdio.h>
#include <stdlib.h>

const char *stretto_level_name(stretto_level level) {
    static const char *const names[STRETTO_LEVELS] = {"cache", "numa", "node", "rail", "network"};
    return (unsigned)level < STRETTO_LEVELS ? names[level] : "unknown";
}

void stretto_platform_init(stretto_platform *platform) {
    for (int l = 0; l < STRETTO_LEVELS; l++) {
        stretto_link *link = &platform->level[l];
#define LEVEL(name, unit, min, max, preset, help) link->name = preset;
#define PARAM(name, unit, min, max, preset, help)
#include "plan/platform.def"
    }
#define LEVEL(name, unit, min, max, preset, help)
#define PARAM(name, unit, min, max, preset, help) platform->name = preset;
#include "plan/platform.def"
}

static int refuse(const char *level, const char *name, const char *unit, double value, double min,
                  double max, char *error, size_t error_size) {
    const bool whole =
        strcmp(unit, "count") == 0 || strcmp(unit, "flag") == 0 || strcmp(unit, "word") == 0;
    if (value >= min && value <= max && (!whole || value == (double)(long long)value))
        return 0;
    snprintf(error, error_size, "%s%s%s is %g; it must be %s%g to %g (%s)", level,
             *level ? "." : "", name, value, whole ? "a whole number from " : "from ", min, max,
             unit);
    return -1;
}

int stretto_platform_check(const stretto_platform *platform, char *error, size_t error_size) {
    for (int l = 0; l < STRETTO_LEVELS; l++) {
        const stretto_link *link = &platform->level[l];
        const char *level = stretto_level_name((stretto_level)l);
#define LEVEL(name, unit, min, max, preset, help)                                                  \
    if (refuse(level, #name, unit, link->name, min, max, error, error_size) != 0)                  \
        return -1;
#define PARAM(name, unit, min, max, preset, help)
#include "plan/platform.def"
    }
#define LEVEL(name, unit, min, max, preset, help)
#define PARAM(name, unit, min, max, preset, help)                                                  \
    if (refuse("", #name, unit, platform->name, min, max, error, error_size) != 0)                 \
        return -1;
#include "plan/platform.def"
    return 0;
}

static int check(const stretto_price_call *call, char *error, size_t error_size) {
    const char *reason = NULL;
    if (call->nranks < 1 || (call->layout && call->layout->nranks != call->nranks))
        reason = "the number of ranks does not fit the layout";
    else if (call->element < 1 || call->bytes % call->element != 0)
        reason = "the bytes of the vector are not a multiple of the element's";
    else if (call->calls < 1)
        reason = "at least one call must be priced";
    for (int r = 0; call->skew && !reason && r < call->nranks; r++)
        if (!(call->skew[r] >= 0 && call->skew[r] <= 1e9))
            reason = "a rank's skew must be from 0 on, in seconds";
    if (!reason)
        return stretto_platform_check(call->platform, error, error_size);
    snprintf(error, error_size, "%s", reason);
    return -1;
}

int stretto_platform_core(const stretto_platform *p, int local, int n) {
    const int cores = (int)p->cores;
    const bool spread = p->spread > 0 || n > cores;
    return spread ? (int)((long long)local * cores / n) : local;
}

int stretto_platform_rail(const stretto_platform *p, int local, int n) {
    if ((stretto_rail_use)p->rail_use == STRETTO_RAILS_BY_LOCAL_RANK)
        return local % (int)p->rails;
    return (int)((long long)stretto_platform_core(p, local, n) * (long long)p->rails /
                 (long long)p->cores);
}

/* Where a rank sits among the n of its node. */
static void place(const stretto_platform *p, price_rank *r, int n) {
    r->core = stretto_platform_core(p, r->local, n);
    r->numa = r->core / (int)p->cores_numa;
    r->cache = r->core / (int)p->cores_cache;
    r->rail = stretto_platform_rail(p, r->local, n);
}

static bool set_up_fabric(price_state *s) {
    const stretto_platform *p = s->platform;
    s->group_nodes =
        p->group_nodes > 0 && p->group_nodes < s->nnodes ? (int)p->group_nodes : s->nnodes;
    s->ngroups = (s->nnodes + s->group_nodes - 1) / s->group_nodes;
    const bool full = p->oversubscription == 1 && (p->uplinks == 1 || p->multipath > 0);
    if (s->ngroups > 1 && !full)
        s->uplink_byte = p->nic_gap_byte * p->oversubscription * p->uplinks /
                         ((double)s->group_nodes * p->rails);
    s->nuplinks = p->multipath > 0 ? 1 : (int)p->uplinks;
    s->up = calloc((size_t)s->ngroups * (size_t)s->nuplinks, sizeof *s->up);
    s->down = calloc((size_t)s->ngroups * (size_t)s->nuplinks, sizeof *s->down);
    return s->up && s->down;
}

static bool set_up(price_state *s) {
    const stretto_price_call *call = s->call;
    const stretto_layout *layout = call->layout;
    const size_t p = (size_t)call->nranks, rails = (size_t)s->platform->rails;
    s->nnodes = layout ? layout->nnodes : call->nranks;
    s->domains = (int)((s->platform->cores - 1) / s->platform->cores_numa) + 1;
    const size_t each = 2 * rails + (size_t)s->domains, nodes = (size_t)s->nnodes;
    s->ranks = calloc(p, sizeof *s->ranks);
    s->nodes = calloc(nodes, sizeof *s->nodes);
    s->doubles = calloc(nodes * each, sizeof *s->doubles);
    s->identity = calloc(p, sizeof *s->identity);
    s->ready = calloc(p, sizeof *s->ready);
    s->call_end = calloc((size_t)call->calls, sizeof *s->call_end);
    for (s->nbuckets = 1024; s->nbuckets < p; s->nbuckets *= 2)
        ;
    s->buckets = calloc(s->nbuckets, sizeof(price_channel *));
    if (!s->ranks || !s->nodes || !s->doubles || !s->identity || !s->ready || !s->call_end ||
        !s->buckets || !set_up_fabric(s))
        return false;
    for (size_t n = 0; n < nodes; n++) {
        price_node *node = &s->nodes[n];
        node->sent = s->doubles + n * each;
        node->received = node->sent + rails;
        node->memory = node->received + rails;
        node->nlocal = layout ? layout->node_start[n + 1] - layout->node_start[n] : 1;
        node->ranks = layout ? layout->node_ranks + layout->node_start[n] : &s->identity[n];
    }
    for (int r = 0; r < call->nranks; r++) {
        price_rank *rank = &s->ranks[r];
        s->identity[r] = r;
        rank->node = layout ? layout->node_of[r] : r;
        rank->local = layout ? layout->local_of[r] : 0;
        place(s->platform, rank, s->nodes[rank->node].nlocal);
        if (call->skew)
            price_add(&rank->clock, STRETTO_PART_SKEW, call->skew[r]);
        if (s->platform->detour_rate > 0)
            rank->next_detour =
                price_exponential(price_uniform(call->seed, (uint64_t)r, ++rank->random, 2)) /
                s->platform->detour_rate;
    }
    return true;
}

static int read_plans(price_state *s, stretto_plan_source source, void *arg, char *error,
                      size_t error_size) {
    for (int r = 0; r < s->nranks && !price_stopped(s); r++) {
        stretto_plan plan;
        if (source(arg, r, &plan, error, error_size) != 0)
            return -1;
        int program = price_compile(&s->programs, s->call, &plan, error, error_size);
        stretto_plan_free(&plan);
        if (program < 0)
            return -1;
        s->ranks[r].program = program;
        size_t window = (size_t)s->programs.programs[program].window;
        s->ranks[r].slots = price_alloc(s, window * sizeof *s->ranks[r].slots);
        if (!s->ranks[r].slots ||
            !price_queue_put(&s->queue, s->ranks[r].clock.t, PRICE_RESUME, r, NULL)) {
            snprintf(error, error_size, "out of memory while pricing");
            return -1;
        }
    }
    return 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up(price_state *s) {
    stretto_price_result *result = s->result;
    const stretto_price_call *call = s->call;
    double first = call->skew ? call->skew[0] : 0;
    for (int r = 0; call->skew && r < s->nranks; r++)
        first = call->skew[r] < first ? call->skew[r] : first;
    for (int c = 0; c < call->calls; c++) {
        double before = c ? s->call_end[c - 1] : first;
        result->took[c] = s->call_end[c] - before;
    }
    if (call->calls == 1)
        for (int r = 0; r < s->nranks; r++)
            result->enter[r] = call->skew ? call->skew[r] : 0;
    result->last_rank = 0;
    for (int r = 1; r < s->nranks; r++)
        if (result->finish[r] > result->finish[result->last_rank])
            result->last_rank = r;
    result->last = result->finish[result->last_rank];
    memcpy(result->parts, s->ranks[result->last_rank].clock.parts, sizeof result->parts);
    /* the second half, sorted in a corner of its own */
    const int from = call->calls / 2, n = call->calls - from;
    memcpy(s->call_end, result->took + from, (size_t)n * sizeof(double));
    qsort(s->call_end, (size_t)n, sizeof(double), compare);
    result->median =
        n % 2 ? s->call_end[n / 2] : 0.5 * (s->call_end[n / 2 - 1] + s->call_end[n / 2]);
}

static void tear_down(price_state *s) {
    for (int n = 0; s->nodes && n < s->nnodes; n++)
        for (price_phase *phase = s->nodes[n].phases, *next; phase; phase = next) {
            next = phase->next;
            free(phase);
        }
    price_programs_free(&s->programs);
    for (void *block = s->blocks, *next; block; block = next) {
        memcpy(&next, block, sizeof next); /* its first member */
        free(block);
    }
    free(s->ranks);
    free(s->nodes);
    free(s->doubles);
    free(s->identity);
    free(s->ready);
    free(s->call_end);
    free(s->buckets);
    free(s->up);
    free(s->down);
    free(s->queue.heap);
}

int stretto_price(const stretto_price_call *call, stretto_plan_source source, void *arg,
                  stretto_price_result *result, char *error, size_t error_size) {
    memset(result, 0, sizeof *result);
    if (check(call, error, error_size) != 0)
        return -1;
    price_state s = {
        .call = call, .platform = call->platform, .nranks = call->nranks, .result = result};
    int status = -1;
    result->nranks = call->nranks;
    result->calls = call->calls;
    result->finish = calloc((size_t)call->nranks, sizeof(double));
    result->enter = calloc((size_t)call->nranks, sizeof(double));
    result->took = calloc((size_t)call->calls, sizeof(double));
    snprintf(error, error_size, "out of memory while pricing");
    if (result->finish && result->enter && result->took && set_up(&s) &&
        read_plans(&s, source, arg, error, error_size) == 0) {
        price_run(&s);
        if (s.failed)
            snprintf(error, error_size, "out of memory while pricing");
        else if (price_stopped(&s))
            snprintf(error, error_size, "stopped while pricing");
        else if (s.finished < s.nranks)
            snprintf(error, error_size,
                     "the plans do not end: %d of %d ranks wait without end; stretto plan "
                     "verify says why",
                     s.nranks - s.finished, s.nranks);
        else
            status = 0;
    }
    if (status == 0)
        sum_up(&s);
    tear_down(&s);
    if (status != 0)
        stretto_price_free(result);
    return status;
}

void stretto_price_free(stretto_price_result *result) {
    free(result->finish);
    free(result->enter);
    free(result->took);
    free(result->spans);
    memset(result, 0, sizeof *result);
}
