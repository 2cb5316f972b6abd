/* The plan core for Python: see export.h. Empty in every library but libstretto-plan.so. */
#ifdef STRETTO_PLAN_LIBRARY
#include "coll/export.h"
#include "coll/coll.h"
#include "coll/export_price.h"
#include "plan/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stretto_export_call {
    stretto_layout layout;     /* its arrays are owned, and NULL when the nodes are not known */
    stretto_graph_store graph; /* of a neighbourhood collective */
    stretto_choice choice;
    stretto_collective collective;
    int nranks;
    stretto_plan plans[];
};

void stretto_export_free(char *text) {
    free(text);
}

/* A growing text; done() gives it away, NULL when memory ran out on the way. */
typedef struct {
    char *text;
    size_t size;
    FILE *file;
} writer;

static bool begin(writer *w) {
    w->file = open_memstream(&w->text, &w->size);
    return w->file != NULL;
}

static char *done(writer *w) {
    bool failed = ferror(w->file) != 0;
    if (fclose(w->file) != 0 || failed) {
        free(w->text);
        return NULL;
    }
    return w->text;
}

/* Our own texts only: no character that JSON would want escaped but quotes and backslashes. */
static void put_string(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

char *stretto_export_algorithms(void) {
    static const char *const params[] = {"null", "\"radix\"", "\"segment\"", "\"window\"",
                                         "\"segment,fanout\""};
    static const struct {
        unsigned bit;
        const char *name;
    } needs[] = {{STRETTO_NEEDS_COMMUTATIVE, "commutative"},
                 {STRETTO_NEEDS_POWER_OF_TWO, "power_of_two"},
                 {STRETTO_NEEDS_EVEN, "even"},
                 {STRETTO_NEEDS_NODES, "nodes"}};
    writer w;
    int n;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    if (!begin(&w))
        return NULL;
    fputc('[', w.file);
    for (int i = 0; i < n; i++) {
        const stretto_algorithm *a = &rows[i];
        fprintf(w.file,
                "%s{\"collective\": \"%s\", \"name\": \"%s\", \"parameter\": %s, \"min\": %d, "
                "\"default\": %d, \"max\": %d, \"needs\": [",
                i ? ", " : "", stretto_collective_name(a->collective), a->name, params[a->param],
                a->param_min, a->param_default, a->param_max);
        const char *separator = "";
        for (size_t need = 0; need < sizeof needs / sizeof *needs; need++)
            if (a->needs & needs[need].bit) {
                fprintf(w.file, "%s\"%s\"", separator, needs[need].name);
                separator = ", ";
            }
        fputs("], \"help\": ", w.file);
        put_string(w.file, a->help);
        fputc('}', w.file);
    }
    fputc(']', w.file);
    return done(&w);
}

/* The i-th value worth trying of a row's parameter among n ranks; false when there is none. */
static bool value_to_try(const stretto_algorithm *a, int i, int n, int *value) {
    static const int segments[] = {1 << 16, 1 << 14, 1 << 18};
    switch (a->param) {
    case STRETTO_PARAM_RADIX: /* the default, then the others of 2, 4, 8 */
        *value = i == 0 ? a->param_default : 1 << i;
        if (i > 0 && *value >= a->param_default)
            *value *= 2;
        return i == 0 || (i < 3 && *value <= n && *value <= a->param_max);
    case STRETTO_PARAM_SEGMENT:
    case STRETTO_PARAM_SEGMENT_FANOUT:
        if (i < 3)
            *value = segments[i];
        return i < 3;
    default: *value = a->param_default; return i == 0;
    }
}

/* Is row `a` as it is worth trying, over n ranks, or within the composition on so many nodes? */
static bool worth_trying(const stretto_algorithm *a, const stretto_choice *choice, int nranks,
                         int nnodes) {
    const bool flat = choice->kind == STRETTO_CHOICE_FLAT;
    const stretto_shape shape = {
        .collective = a->collective, .nranks = flat ? nranks : nnodes, .commutative = true};
    if ((a->needs & STRETTO_FOR_FEW_RANKS) && shape.nranks > 16)
        return false;
    if (!flat && a->collective == STRETTO_ALLTOALL && nranks % nnodes != 0) {
        /* between unequal nodes blocks must go straight to their end */
        stretto_choice x = *choice;
        stretto_plan plan;
        char error[200];
        x.kind = STRETTO_CHOICE_FLAT;
        if (stretto_plan_build(&plan, &x, &shape, 8, error, sizeof error) != 0)
            return false;
        const bool straight = plan.tmp_blocks == 0;
        stretto_plan_free(&plan);
        if (!straight)
            return false;
    }
    if (a->needs & STRETTO_NEEDS_NODES)
        return !flat && !choice->lanes && nranks % nnodes == 0;
    return stretto_algorithm_fits(a, &shape) == NULL;
}

char *stretto_export_choices(const char *collective, int nranks, int nnodes) {
    static const stretto_choice kinds[] = {
        {.kind = STRETTO_CHOICE_SHM},
        {.kind = STRETTO_CHOICE_FLAT},
        {.kind = STRETTO_CHOICE_SHM, .lanes = STRETTO_LANES_ALL}};
    stretto_collective c = stretto_collective_parse(collective);
    writer w;
    int n;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    if (c == STRETTO_COLLECTIVES || nranks < 1 || nnodes < 1 || !begin(&w))
        return NULL;
    const bool shares = nranks > nnodes, between = shares && nnodes > 1;
    const char *separator = "";
    fputc('[', w.file);
    if (shares && nnodes == 1 && !stretto_collective_neighbor(c)) {
        fputs("\"shm\"", w.file);
        separator = ", ";
    }
    /* first all kinds with their defaults, then other parameters; lanes with their defaults only */
    for (int i = 0; i < 3; i++) {
        for (int kind = 0; kind < 3; kind++) {
            const bool flat = kinds[kind].kind == STRETTO_CHOICE_FLAT, lanes = kinds[kind].lanes;
            if ((lanes && (i > 0 || !between || !stretto_collective_has_lanes(c))) ||
                (!lanes && !flat && (!between || !stretto_collective_composes(c))))
                continue;
            for (int row = 0; row < n; row++) {
                stretto_choice choice = stretto_choice_of(&rows[row]);
                char text[300];
                choice.kind = kinds[kind].kind;
                choice.lanes = kinds[kind].lanes;
                if (rows[row].collective != c ||
                    !worth_trying(&rows[row], &choice, nranks, nnodes) ||
                    !value_to_try(&rows[row], i, flat ? nranks : nnodes, &choice.param))
                    continue;
                fputs(separator, w.file);
                put_string(w.file, stretto_choice_format(&choice, text, sizeof text));
                separator = ", ";
            }
        }
    }
    fputc(']', w.file);
    return done(&w);
}

static int parse(const char *collective, const char *text, stretto_collective *c,
                 stretto_choice *choice, char *error, size_t error_size) {
    *c = stretto_collective_parse(collective);
    if (*c != STRETTO_COLLECTIVES)
        return stretto_choice_parse(*c, text, choice, error, error_size);
    size_t used = (size_t)snprintf(error, error_size, "there is no collective '%.40s'; there are",
                                   collective);
    for (int i = 0; i < STRETTO_COLLECTIVES && used < error_size; i++)
        used += (size_t)snprintf(error + used, error_size - used, "%s %s", i ? "," : "",
                                 stretto_collective_name((stretto_collective)i));
    return -1;
}

char *stretto_export_choice(const char *collective, const char *text, char *error,
                            size_t error_size) {
    stretto_collective c;
    stretto_choice choice;
    char canonical[300];
    if (parse(collective, text, &c, &choice, error, error_size) != 0)
        return NULL;
    char *copy = strdup(stretto_choice_format(&choice, canonical, sizeof canonical));
    if (!copy)
        snprintf(error, error_size, "out of memory");
    return copy;
}

/* Fills call->layout from the ranks' hosts; -1 when they are no numbers 0..nranks-1, or no memory.
 */
static int make_layout(stretto_export_call *call, const int *host, char *error, size_t error_size) {
    const int p = call->nranks;
    int *node_of = calloc((size_t)p, sizeof *node_of),
        *local_of = calloc((size_t)p, sizeof *local_of);
    int *start = calloc((size_t)p + 1, sizeof *start), *ranks = calloc((size_t)p, sizeof *ranks);
    int *node_of_host = calloc((size_t)p, sizeof *node_of_host); /* + 1 */
    int nnodes = 0, status = -1;
    call->layout = (stretto_layout){p, 0, node_of, local_of, start, ranks, true, NULL};
    if (!node_of || !local_of || !start || !ranks || !node_of_host) {
        snprintf(error, error_size, "out of memory");
        goto done;
    }
    for (int r = 0; r < p; r++) {
        if (host[r] < 0 || host[r] >= p) {
            snprintf(error, error_size, "rank %d is on node %d; nodes are numbered 0 to %d", r,
                     host[r], p - 1);
            goto done;
        }
        if (!node_of_host[host[r]])
            node_of_host[host[r]] = ++nnodes;
        node_of[r] = node_of_host[host[r]] - 1;
        local_of[r] = start[node_of[r] + 1]++;
        call->layout.consecutive = call->layout.consecutive && (!r || node_of[r] >= node_of[r - 1]);
    }
    for (int n = 0; n < nnodes; n++)
        start[n + 1] += start[n];
    for (int r = 0; r < p; r++)
        ranks[start[node_of[r]] + local_of[r]] = r;
    call->layout.nnodes = nnodes;
    status = 0;
done:
    free(node_of_host);
    return status;
}

int stretto_export_graph(stretto_graph_store *store, stretto_collective collective,
                         const char *name, int nranks, char *error, size_t error_size) {
    if (stretto_collective_neighbor(collective))
        return stretto_graph_sample(store, name ? name : "torus2", nranks, error, error_size);
    if (!name)
        return 0;
    snprintf(error, error_size, "%s has no graph: only neighbourhood collectives have one",
             stretto_collective_name(collective));
    return -1;
}

stretto_export_call *stretto_export_build(const char *collective, const char *text, int nranks,
                                          const int *host, int root, int in_place, int commutative,
                                          size_t bytes, const char *graph, char *error,
                                          size_t error_size) {
    stretto_collective c;
    stretto_choice choice;
    if (parse(collective, text, &c, &choice, error, error_size) != 0)
        return NULL;
    if (nranks < 1 || root < 0 || root >= nranks) {
        snprintf(error, error_size, "there is no root %d among %d ranks", root, nranks);
        return NULL;
    }
    stretto_export_call *call = calloc(1, sizeof *call + (size_t)nranks * sizeof *call->plans);
    if (!call) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    call->choice = choice;
    call->collective = c;
    call->nranks = nranks;
    if (host && make_layout(call, host, error, error_size) != 0)
        goto fail;
    if (stretto_export_graph(&call->graph, c, graph, nranks, error, error_size) != 0)
        goto fail;
    for (int rank = 0; rank < nranks; rank++) {
        stretto_shape shape = {.collective = c,
                               .rank = rank,
                               .nranks = nranks,
                               .root = root,
                               .in_place = in_place,
                               .commutative = commutative,
                               .layout = host ? &call->layout : NULL,
                               .graph = call->graph.memory ? &call->graph.graph : NULL};
        if (stretto_plan_build(&call->plans[rank], &choice, &shape, bytes, error, error_size) != 0)
            goto fail;
    }
    return call;
fail:
    stretto_export_close(call);
    return NULL;
}

void stretto_export_close(stretto_export_call *call) {
    if (!call)
        return;
    for (int rank = 0; rank < call->nranks; rank++)
        stretto_plan_free(&call->plans[rank]);
    stretto_graph_release(&call->graph);
    free((int *)call->layout.node_of);
    free((int *)call->layout.local_of);
    free((int *)call->layout.node_start);
    free((int *)call->layout.node_ranks);
    free(call);
}

char *stretto_export_text(const stretto_export_call *call, int rank) {
    return rank < 0 || rank >= call->nranks ? NULL : stretto_plan_text(&call->plans[rank]);
}

static void put_span(FILE *out, const char *name, stretto_span span) {
    static const char *const buffers[] = {"IN", "OUT", "TMP"};
    if (span.count > 0)
        fprintf(out, ", \"%s\": [\"%s\", %d, %d]", name, buffers[span.buffer], span.first,
                span.count);
}

static void put_action(FILE *out, const stretto_action *a) {
    fprintf(out, "{\"kind\": \"%s\", \"round\": %d", stretto_action_name(a->kind), a->round);
    if (a->kind == STRETTO_SEND || a->kind == STRETTO_RECV || a->kind == STRETTO_WAIT ||
        stretto_action_rooted(a->kind))
        fprintf(out, ", \"peer\": %d", a->peer);
    if (a->kind == STRETTO_REDUCE_LOCAL)
        fprintf(out, ", \"side\": \"%s\"", a->side == STRETTO_SRC_LEFT ? "left" : "right");
    put_span(out, "src", a->src);
    put_span(out, "dst", a->dst);
    fputc('}', out);
}

char *stretto_export_actions(const stretto_export_call *call) {
    char choice[300];
    writer w;
    if (!begin(&w))
        return NULL;
    fprintf(w.file,
            "{\"collective\": \"%s\", \"choice\": ", stretto_collective_name(call->collective));
    put_string(w.file, stretto_choice_format(&call->choice, choice, sizeof choice));
    fprintf(w.file, ", \"nranks\": %d, \"nnodes\": %d, \"node_of\": [", call->nranks,
            call->layout.node_of ? call->layout.nnodes : 0);
    for (int r = 0; call->layout.node_of && r < call->nranks; r++)
        fprintf(w.file, "%s%d", r ? ", " : "", call->layout.node_of[r]);
    fputs("], \"ranks\": [", w.file);
    for (int r = 0; r < call->nranks; r++) {
        const stretto_plan *plan = &call->plans[r];
        fprintf(w.file, "%s{\"in\": %d, \"out\": %d, \"tmp\": %d, \"actions\": [", r ? ", " : "",
                stretto_plan_blocks_of(plan, STRETTO_IN), stretto_plan_blocks_of(plan, STRETTO_OUT),
                plan->tmp_blocks);
        for (int i = 0; i < plan->nactions; i++) {
            fputs(i ? ", " : "", w.file);
            put_action(w.file, &plan->actions[i]);
        }
        fputs("]}", w.file);
    }
    fputs("]}", w.file);
    return done(&w);
}

int stretto_export_verify(const stretto_export_call *call, char *error, size_t error_size) {
    return stretto_verify(call->plans, call->nranks, error, error_size);
}

#else
typedef int stretto_export_is_elsewhere; /* ISO C wants a declaration */
#endif
