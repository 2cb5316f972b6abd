/* Graphs of neighbourhood collectives: see graph.h. */
#include "plan/graph.h"

#include <stdlib.h>
#include <string.h>

int stretto_graph_source(const stretto_graph *g, int edge) {
    int low = 0, high = g->nranks; /* out_start[low] <= edge < out_start[high] */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (g->out_start[middle] <= edge)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const char *stretto_graph_check(const stretto_graph *g) {
    const int edges = g->out_start[g->nranks];
    const char *wrong = NULL;
    bool *ends = calloc((size_t)edges + 1, sizeof *ends);
    if (!ends)
        return "out of memory";
    for (int e = 0; e < edges && !wrong; e++)
        if (g->out_to[e] < -1 || g->out_to[e] >= g->nranks)
            wrong = "an edge leads to a rank that does not exist";
    for (int r = 0; r < g->nranks && !wrong; r++)
        for (int i = g->in_start[r]; i < g->in_start[r + 1] && !wrong; i++) {
            const int e = g->in_edge[i];
            if (e == -1)
                continue;
            if (e < 0 || e >= edges || g->out_to[e] != r || ends[e])
                wrong = "a slot belongs to no edge, or two slots belong to one edge";
            else
                ends[e] = true;
        }
    for (int e = 0; e < edges && !wrong; e++)
        if (g->out_to[e] >= 0 && !ends[e])
            wrong = "an edge ends in no slot";
    free(ends);
    return wrong;
}

bool stretto_graph_reserve(stretto_graph_store *store, int nranks, int outs, int ins) {
    const size_t starts = (size_t)nranks + 1;
    const size_t all = 2 * starts + (size_t)outs + (size_t)ins;
    int *memory = store->memory = malloc(all * sizeof *memory);
    if (!memory)
        return false;
    memset(memory, 0, 2 * starts * sizeof *memory);
    memset(memory + 2 * starts, 0xff, (all - 2 * starts) * sizeof *memory); /* -1 */
    store->graph = (stretto_graph){nranks, memory, memory + 2 * starts, memory + starts,
                                   memory + 2 * starts + outs};
    return true;
}

void stretto_graph_release(stretto_graph_store *store) {
    free(store->memory);
    memset(store, 0, sizeof *store);
}
