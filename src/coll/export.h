/* What libstretto-plan.so gives to Python (ctypes; python/stretto/plan.py). Nothing of this is in
 * the libraries that applications load. Texts are malloc'd and go back through stretto_export_free.
 */
#ifndef STRETTO_EXPORT_H
#define STRETTO_EXPORT_H

#include <stddef.h>

#define STRETTO_EXPORT __attribute__((visibility("default")))

/* The plans of all ranks of one call. */
typedef struct stretto_export_call stretto_export_call;

/* JSON: [{"collective", "name", "parameter": "radix"|"segment"|"window"|"segment,fanout"|null,
 * "min", "default", "max", "needs": ["commutative", "power_of_two", "even"], "help"}]; NULL when
 * out of memory. */
STRETTO_EXPORT char *stretto_export_algorithms(void);
/* JSON: choices worth trying for nranks ranks on nnodes nodes, the most promising kinds first,
 * native not among them; NULL for an unknown collective, or when out of memory. */
STRETTO_EXPORT char *stretto_export_choices(const char *collective, int nranks, int nnodes);
/* The canonical text of a choice; NULL with the reason in error when it is none. */
STRETTO_EXPORT char *stretto_export_choice(const char *collective, const char *choice, char *error,
                                           size_t error_size);
/* Builds the plans. host[nranks]: which node each rank is on, numbers from 0; NULL: not known.
 * graph: of a neighbourhood collective (plan/graph.h: sample graphs; NULL: "torus2"), else NULL.
 * NULL with the reason in error when the choice cannot be used for this call. */
STRETTO_EXPORT stretto_export_call *stretto_export_build(const char *collective, const char *choice,
                                                         int nranks, const int *host, int root,
                                                         int in_place, int commutative,
                                                         size_t bytes, const char *graph,
                                                         char *error, size_t error_size);
STRETTO_EXPORT void stretto_export_close(stretto_export_call *call);
/* Readable text of one rank's plan; NULL for a rank that there is not. */
STRETTO_EXPORT char *stretto_export_text(const stretto_export_call *call, int rank);
/* JSON: {"collective", "choice", "nranks", "nnodes", "node_of": [..], "ranks": [{"in", "out",
 * "tmp": blocks, "actions": [{"kind", "round", "peer", "side", "src": ["IN"|"OUT"|"TMP", first,
 * count], "dst"}]}]}; what an action does not have is left out. */
STRETTO_EXPORT char *stretto_export_actions(const stretto_export_call *call);
/* 0: proven; else what is wrong, in error. */
STRETTO_EXPORT int stretto_export_verify(const stretto_export_call *call, char *error,
                                         size_t error_size);
STRETTO_EXPORT void stretto_export_free(char *text);

#endif
