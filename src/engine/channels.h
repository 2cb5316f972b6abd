/* Channels: what a persistent collective needs for itself, since it may be started in another order
 * on each rank. A channel is a communicator's state once more (stretto_comm: node memory, scratch,
 * plans) with messages of its own on the same shadow, told apart by the tag. One request has it at
 * a time; what was started on it is matched by its number on this channel alone.
 *
 * A channel is taken in the initialisation, which is collective and may wait (MPI-4.1, 6.13), and
 * left when the request is freed, which is local. It is taken again only when all ranks have left
 * it: they agree on that in the next initialisation, and what was started on it before has ended
 * everywhere, since no rank frees a request that is active.
 */
#ifndef STRETTO_CHANNELS_H
#define STRETTO_CHANNELS_H

#include "engine/engine.h"

enum { STRETTO_CHANNELS_MOST = 256 }; /* of one communicator */

/* A channel for what d decided, on all ranks; NULL on all when one of them is not well, has no
 * memory for it, or has too many. The caller leaves it. Collective over c->comm, not within a
 * fibre. */
stretto_comm *stretto_channel_take(stretto_comm *c, const stretto_decision *d, bool well);
/* Local. What was started on it has ended. broken: messages of a failed call may still be under
 * way; nobody gets it again. */
void stretto_channel_leave(stretto_comm *channel, bool broken);
/* The state that `channel` is a channel of; NULL when its communicator is gone. */
stretto_comm *stretto_channel_owner(const stretto_comm *channel);

/* c is going. Its channels go with it, or with the last request that has one. Returns whether c's
 * shadow can be freed: nobody uses it any more. agree: collective over c. */
bool stretto_channels_abandon(stretto_comm *c, bool agree);

#endif
