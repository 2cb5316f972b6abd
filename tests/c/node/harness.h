/* Runs a function as N ranks over one anonymous shared mapping: as processes, or as threads. */
#ifndef STRETTO_TESTS_NODE_HARNESS_H
#define STRETTO_TESTS_NODE_HARNESS_H

#include "node/node.h"

#include <stdatomic.h>

enum { HARNESS_RANKS = 256 };

typedef struct {
    int ranks;
    long calls, small;
    uint64_t seed;
    size_t largest;
    int pause;
    int spins;
    bool threads;
    const char *direct;
    int ndomains; /* 0: not told of any */
    int domain_of[HARNESS_RANKS];
    bool commutes;
    void *memory;            /* the group's */
    unsigned char *buffers;  /* where ranks attach one another's memory: their buffers, or NULL */
    size_t buffer_room;      /* bytes of each */
    int pids[HARNESS_RANKS]; /* shared */
    _Atomic int ready;       /* ranks that have written their pid */
    _Atomic uint64_t arrived[HARNESS_RANKS];
    _Atomic uint64_t progress[HARNESS_RANKS]; /* calls of progress, by rank */
} harness;

/* Parses the options, runs `run` on all ranks, returns 0 when all succeeded within the time. */
int harness_main(int argc, char **argv, void (*run)(harness *h, int rank));
stretto_node *harness_attach(harness *h, int rank);
void harness_detach(harness *h, int rank, stretto_node *node);

enum { HARNESS_BUFFERS = 3 };
/* A rank's buffer number `which` of h->buffer_room bytes; to be given back. */
unsigned char *harness_buffer(harness *h, int rank, int which);
void harness_give_back(harness *h, unsigned char *buffer);

/* faults.c: what --direct MODE does to process_vm_readv, process_vm_writev and the functions
 * of XPMEM. */
void faults_install(const char *mode);
bool faults_attach(void); /* whether it is about XPMEM, with a stand-in that maps all to itself */
void faults_begin(int rank, int ranks, uint64_t seed);

#endif
