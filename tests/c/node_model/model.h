/* A stateless model checker for the flag protocols of src/node: the sources themselves, ranks as
 * coroutines of one process, atomic and plain accesses to the shared memory taken over.
 *
 * The model is C11's relaxed, acquire and release accesses to locations that have one writer each,
 * by views. Every store is kept. A load returns any store of its location that is not older than
 * one the rank knows of: by reading it, or by an acquire load of a release store whose writer knew
 * it. Plain accesses must be ordered by that knowledge (vector clocks): the first two that are not,
 * of which one writes, end the execution, as does a read of what nobody wrote. So nothing that an
 * execution goes on to do depends on a race, and the plain contents may be kept in memory. */
#ifndef STRETTO_MODEL_H
#define STRETTO_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_RANKS = 5 };

/* ---- for the sources under test (intercept/) ---- */

typedef struct {
    int fan, fold_ranks;
    size_t fold_all_bytes;
    unsigned pair_string; /* bit by bit for a group's calls */
} model_tuning_t;
extern model_tuning_t model_tuning;

uint64_t model_load(const _Atomic uint64_t *at, int order, const char *function);
void model_store(_Atomic uint64_t *at, uint64_t value, int order, const char *file, int line);
void *model_copy(void *to, const void *from, size_t bytes, const char *file, int line);
void *model_set(void *to, int byte, size_t bytes, const char *file, int line);
int model_enter(int site);
void model_leave(const int *site);
bool model_pretends(int site);

/* ---- for the test ---- */

/* A plain access of this rank; addresses outside the shared memory are nobody else's. */
void model_reads(const void *from, size_t bytes, const char *file, int line);
void model_writes(const void *to, size_t bytes, const char *file, int line);
/* After the writing: what is there now. */
void model_wrote(const void *to, size_t bytes);
/* Ends the execution: something is wrong. */
_Noreturn void model_fail(const char *what, ...) __attribute__((format(printf, 1, 2)));
/* A number below n >= 1: random, or the next to be tried in an exhaustive search. */
unsigned model_choose(unsigned n);

typedef enum {
    MODEL_RELAX,   /* release or acquire becomes relaxed */
    MODEL_SKIP,    /* a wait is left out */
    MODEL_MISS,    /* a wait is left out for one of the ranks */
    MODEL_EARLY,   /* a wait ends one number early, or a flag is set to one more */
    MODEL_PRETEND, /* a call that has not heard of all says that it has; or takes its message for a
                      tiny one when it looks whether the place is free */
    MODEL_KINDS,
    MODEL_SOUND = MODEL_KINDS
} model_kind;

typedef struct {
    model_kind kind; /* what is done at the site; MODEL_SOUND: nothing */
    int site;
} model_mutant;

typedef struct {
    int ranks;
    void *memory; /* shared; flags hold `past`, the rest zeros */
    uint64_t past;
    size_t bytes, stride; /* and from one rank's part to the next */
    void (*run)(int rank);
    uint64_t seed;   /* of a random execution */
    bool exhaustive; /* choices come from the search instead */
    bool trace;
    model_mutant mutant;
} model_execution;

/* One execution. False when something was wrong: model_what() tells. */
bool model_run(const model_execution *execution);
const char *model_what(void);
uint64_t model_steps(void); /* atomic accesses of all executions */
/* Exhaustive search: forget the choices made; and go on to the next ones, false when all were. */
void model_first(void);
bool model_next(void);

#endif
