/* Persistent collectives. Each start issues a nonblocking collective on a separate channel
 * (channels.h), not on the state of its communicator, because ranks may start their persistent
 * collectives in different orders. */
#include "engine/channels.h"
#include "engine/operation.h"

bool stretto_native_persistent;

/* Decided as the blocking call would be. What is one rank's own affair (its arguments, its memory)
 * is agreed here, where all ranks may wait for each other. */
bool stretto_operation_init(stretto_operation *o, MPI_Request *request) {
    stretto_comm *c = o->c;
    stretto_comm_calls *calls = &c->coll[o->collective];
    calls->ours--;              /* starts count */
    stretto_outstanding_lock(); /* plans of the communicator's may be in use */
    const bool well = stretto_operation_can_be_done(o);
    stretto_outstanding_unlock();
    stretto_comm *channel = NULL;
    if (c->owed > 0)
        c->owed--; /* the MPI of the other ranks has it: they do not wait for this rank here */
    else
        channel = stretto_channel_take(c, &o->decision, well);
    if (!channel) {
        calls->native++;
        if (stretto_config.verbose && c->rank == 0)
            stretto_say("a persistent %s on %d ranks stays native: no memory, too many of them, or "
                        "arguments that only the MPI takes",
                        stretto_collective_name(o->collective), c->nranks);
        stretto_operation_give_back(o);
        return false;
    }
    o->c = channel;
    o->persistent = true;
    o->row = *o->decision.row; /* a forced choice may be replaced, and goes with its communicator */
    o->decision.row = &o->row;
    stretto_operation_can_be_done(o); /* the channel has its plan from now on */
    stretto_operation_keep_types(o);
    *request = stretto_operation_handle(o);
    return true;
}

bool stretto_operation_restart(stretto_operation *o) {
    if (!stretto_operation_can_restart(o))
        return false;
    stretto_outstanding_lock();
    if (!o->c->first)
        stretto_operation_post(o); /* on its way before anything else is seen to */
    stretto_comm *owner = stretto_channel_owner(o->c);
    if (owner)
        owner->coll[o->collective].ours++;
    stretto_outstanding_issue(o);
    stretto_outstanding_unlock();
    return true;
}

bool stretto_operation_free(stretto_operation *o, MPI_Request *request) {
    if (!stretto_operation_can_restart(o))
        return false;
    stretto_operation_forget_types(o);
    stretto_outstanding_lock(); /* the helper may still be about to take the channel off its list */
    stretto_channel_leave(o->c, o->failed);
    stretto_operation_give_back(o);
    stretto_outstanding_unlock();
    *request = MPI_REQUEST_NULL;
    return true;
}
