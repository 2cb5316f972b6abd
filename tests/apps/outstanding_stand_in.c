/* Stands in for src/run behind the wrappers of blocking calls: something is always under way, and
 * what they ask for is counted and told at exit. The library of this, src/pmpi/guard.c, messages.c
 * and src/mpi is preloaded by tests/python/test_progress_rule.py. */
#include "mpi/host.h"
#include "run/engine.h"
#include "run/outstanding.h"

#include <stdio.h>
#include <stdlib.h>

int stretto_outstanding = 1;
stretto_world stretto_the_world;

void stretto_comm_made(MPI_Comm comm) {
    (void)comm;
}

static long progressed, lent;
static int depth;

void stretto_outstanding_resume(void) {
    progressed++;
}

void stretto_outstanding_lend(void) {
    lent++;
    depth++;
}

void stretto_outstanding_return(void) {
    if (--depth < 0)
        abort();
}

__attribute__((destructor)) static void tell(void) {
    if (progressed || lent)
        fprintf(stderr, "guard: %ld progressed, %ld lent, depth %d\n", progressed, lent, depth);
}
