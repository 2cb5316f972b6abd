/* Included before everything when src/node is compiled for the model check: plain accesses through
 * the functions of <string.h> are seen by the model, waiting does not leave it, and thresholds that
 * decide between algorithms are variables, so that one program takes all of them. */
#ifndef STRETTO_MODEL_ACCESSES_H
#define STRETTO_MODEL_ACCESSES_H

#include "tests/c/node_model/model.h"

#include <sched.h>
#include <string.h>

#define memcpy(to, from, bytes) model_copy(to, from, bytes, __FILE__, __LINE__)
#define memmove(to, from, bytes) model_copy(to, from, bytes, __FILE__, __LINE__)
#define memset(to, byte, bytes) model_set(to, byte, bytes, __FILE__, __LINE__)
#define sched_yield() ((void)0)

#define STRETTO_NODE_FAN model_tuning.fan
#define STRETTO_NODE_FOLD_RANKS model_tuning.fold_ranks
#define STRETTO_NODE_FOLD_ALL_BYTES model_tuning.fold_all_bytes
#define STRETTO_NODE_PAIR_STRING (model_tuning.pair_string >> node->seq % 8 & 1)

/* A call whose waiting or whose flags a mutant may spoil (mutate.py). */
#define MODEL_SITE(site, ...)                                                                      \
    ({                                                                                             \
        __attribute__((cleanup(model_leave))) int model_here = model_enter(site);                  \
        (void)model_here;                                                                          \
        __VA_ARGS__;                                                                               \
    })
#define MODEL_SIZE(site, ...) (model_pretends(site) ? 1 : (__VA_ARGS__))
#define MODEL_TRUE(site, ...) ((__VA_ARGS__) | model_pretends(site))

#endif
