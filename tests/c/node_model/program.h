/* Short programs of collectives for the model check: made at random or given, run by every rank,
 * their results compared with what they must be. */
#ifndef STRETTO_MODEL_PROGRAM_H
#define STRETTO_MODEL_PROGRAM_H

#include "tests/c/node_model/model.h"

typedef enum {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    SCAN,
    EXSCAN,
    ALLGATHER,
    GATHER,
    SCATTER,
    ALLTOALL,
    ALLGATHERV,
    ALLTOALLV,
    REDUCE_SCATTER,
    KINDS
} kind;

typedef struct {
    kind kind;
    int root;
    size_t element; /* words of an element: 1, 16 or 64 */
    size_t words;   /* of a vector, or of a block, or the largest block */
    uint64_t seed;  /* of the sizes that differ between ranks */
    bool in_place;
} call;

enum { PROGRAM_CALLS = 8 };

typedef struct {
    int ranks, ncalls;
    size_t area;   /* STRETTO_NODE_SHORT: a short piece */
    uint64_t past; /* of the memory's last users */
    bool domains, commutes, any_size, yields;
    int spins, domain_of[MODEL_RANKS];
    model_tuning_t tuning;
    call calls[PROGRAM_CALLS];
} program;

/* The program of a seed. focus >= 0: mostly calls of that kind. */
void program_random(program *p, uint64_t seed, int focus);
/* Runs the program once; memory, run and ranks of the execution are filled in. */
bool program_run(const program *p, model_execution *execution);
void program_print(const program *p);

#endif
