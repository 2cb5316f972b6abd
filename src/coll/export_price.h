/* Pricing for Python (ctypes; python/stretto/model/price.py): plans are built one rank at a time,
 * so that a million ranks need no million plans. Only in libstretto-plan.so. */
#ifndef STRETTO_EXPORT_PRICE_H
#define STRETTO_EXPORT_PRICE_H

#include "coll/export.h"
#include "coll/coll.h"
#include "plan/price.h"

/* The sample graph of a neighbourhood collective (NULL: "torus2"); 0, or -1 with the reason: no
 * such graph, or a graph for another collective. */
int stretto_export_graph(stretto_graph_store *store, stretto_collective collective,
                         const char *name, int nranks, char *error, size_t error_size);

/* JSON: [{"scope": "level"|"platform", "name", "unit", "min", "max", "default", "help"}], in the
 * order of platform.def. */
STRETTO_EXPORT char *stretto_export_parameters(void);

/* Lower-case name of an action's kind (the detail of a node phase's span). */
STRETTO_EXPORT const char *stretto_export_action_name(int kind);

/* One call; the arrays are the caller's. */
typedef struct {
    const char *collective, *choice;
    int nranks;
    const int *host; /* [nranks] node of each rank, from 0; NULL: each on its own */
    int root, in_place, commutative;
    size_t bytes, element;
    const size_t *sizes;
    const double *skew;
    int calls;
    unsigned long long seed;
    int trace;
    const double *platform; /* the parameters in order: all levels', then the rest */
    int nplatform;
    const char *graph;        /* of a neighbourhood collective; NULL: "torus2" */
    const volatile int *stop; /* as in stretto_price_call */
} stretto_export_pricing;

/* 0, and the result, to be given back; else -1 with the reason in error. */
STRETTO_EXPORT int stretto_export_price(const stretto_export_pricing *pricing,
                                        stretto_price_result *result, char *error,
                                        size_t error_size);
STRETTO_EXPORT void stretto_export_price_free(stretto_price_result *result);
/* Seconds, below 0 where there is no bound; *why is static. `choice` is not looked at. */
STRETTO_EXPORT int stretto_export_bound(const stretto_export_pricing *pricing, double *seconds,
                                        const char **why, char *error, size_t error_size);

/* The closed formula of a flat choice: cost[3] = alpha, bytes beta, bytes gamma; *text and *where
 * are static. -1 with the reason when there is none. */
STRETTO_EXPORT int stretto_export_formula(const char *collective, const char *choice, int nranks,
                                          size_t bytes, double *cost, int *exact, const char **text,
                                          const char **where, char *error, size_t error_size);

#endif
