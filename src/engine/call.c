/* Calls that are ours: what all families share. */
#include "engine/call.h"
#include "engine/fibre.h"
#include "engine/memory.h"

#include <string.h>

bool stretto_is_refusal(int rc) {
    int kind = MPI_SUCCESS;
    if (rc == MPI_SUCCESS || rc == STRETTO_PASS)
        return false;
    PMPI_Error_class(rc, &kind);
    return kind == MPI_ERR_BUFFER || kind == MPI_ERR_COUNT || kind == MPI_ERR_TYPE ||
           kind == MPI_ERR_OP || kind == MPI_ERR_ROOT || kind == MPI_ERR_COMM ||
           kind == MPI_ERR_ARG;
}

int stretto_call_end(stretto_comm *c, int rc) {
    if (rc == MPI_SUCCESS)
        c->rooted_now = 0;
    else if (stretto_is_refusal(rc))
        stretto_memory_uncount(c);
    stretto_comm_trim(c);
    c->is_broken |= rc != MPI_SUCCESS && rc != STRETTO_PASS;
    /* in a fibre: when the application completes it */
    if (rc != MPI_SUCCESS && rc != STRETTO_PASS && !stretto_fibre_here())
        PMPI_Comm_call_errhandler(c->comm, rc);
    return rc;
}

int stretto_call_plan(stretto_comm *c, const stretto_decision *d, stretto_collective collective,
                      const stretto_elements *e, const stretto_buffers *b, int root, bool in_place,
                      bool commutative) {
    char error[400];
    stretto_cached_plan *plan = stretto_plan_for(c, collective, &d->row->choice, root, d->bytes,
                                                 in_place, commutative, error, sizeof error);
    if (!plan && strncmp(error, "out of memory", 13) == 0)
        stretto_no_memory(); /* one rank's own; the others have begun */
    if (!plan)               /* a refusal is everybody's */
        return STRETTO_PASS;
    c->pinned = plan;
    int rc = stretto_execute(c, plan, e, b);
    c->pinned = NULL;
    return rc;
}

int stretto_call_barrier(stretto_comm *c, const stretto_decision *d) {
    if (d->run == STRETTO_RUN_NODE) {
        stretto_node_barrier(c->node);
        return MPI_SUCCESS;
    }
    stretto_elements e = stretto_as_bytes();
    const stretto_buffers b = {.count = 0};
    return stretto_call_end(c, stretto_call_plan(c, d, STRETTO_BARRIER, &e, &b, 0, false, true));
}
