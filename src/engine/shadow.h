/* Shadows that are kept for the next communicator of the same ranks: shadow.c. */
#ifndef STRETTO_SHADOW_H
#define STRETTO_SHADOW_H

#include "engine/engine.h"

/* What a rank tells the others. */
typedef struct {
    int64_t left; /* number of the shadow that it has for these ranks; 0: none */
    int64_t next; /* the number of a new one, if rank 0 says so; 0: it keeps no more */
} stretto_shadow_offer;

/* Local. c holds what is offered until it is taken or left. world: c's ranks in the world. */
stretto_shadow_offer stretto_shadow_offered(stretto_comm *c, const int *world);
/* All ranks' offers are known, the first at `offers`, the next `stride` bytes on: c has a shadow,
 * the one that all have left or a new one; or false on all ranks. Collective over c->comm. */
bool stretto_shadow_take(stretto_comm *c, const int *world, const void *offers, size_t stride);
/* c's shadow, if it is one that is kept, may be offered again, and with it what c has learned; or
 * never, when messages on it may be under way. Local. */
void stretto_shadow_leave(stretto_comm *c, bool broken);
/* Calls f for what was learned and waits with a shadow. */
void stretto_shadows_each(void (*f)(const stretto_learning *list));

#endif
