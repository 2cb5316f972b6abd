/* The sample graphs, which no library for applications has. */
#ifndef STRETTO_TEST_GRAPHS_H
#define STRETTO_TEST_GRAPHS_H

#define STRETTO_PLAN_LIBRARY
#include "plan/graph_sample.c" /* in the archive it is empty */
#undef STRETTO_PLAN_LIBRARY

#include "cases.h"

static inline const stretto_graph *graph_of(stretto_graph_store *store, const char *name,
                                            int nranks) {
    char error[400];
    if (stretto_graph_sample(store, name, nranks, error, sizeof error) != 0) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    return &store->graph;
}

#endif
