/* Taking channels, agreed, and giving them back: channels.h. */
#include "engine/channels.h"

#include "engine/memory.h"
#include "engine/outstanding.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS = STRETTO_CHANNELS_MOST / 64,
    MODEST_BYTES = 64 * 1024 /* up to so many a modest ring is enough: it holds four of them */
};

/* What a channel is good for; a request gets one of just its kind. */
typedef enum { MESSAGES, MODEST, LARGE } channel_kind;

typedef struct stretto_channels {
    stretto_comm *owner; /* NULL: gone */
    int n, taken;        /* made, alike on all ranks; in the hands of a request here */
    uint64_t left[WORDS];
    channel_kind kind[STRETTO_CHANNELS_MOST];
    stretto_comm *channel[STRETTO_CHANNELS_MOST];
    int *layout_memory; /* of the owner that is gone */
    stretto_graph_store *graph;
} stretto_channels;

static int number_of(const stretto_comm *channel) {
    return (channel->tag - STRETTO_FIRST_TAG) / 2 - 1;
}

static void *room(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory)
        stretto_no_memory(); /* this rank cannot agree to anything with the others any more */
    return memory;
}

/* Equal on all ranks. Large rings are for vectors that do not fit into a modest one. */
static channel_kind kind_for(const stretto_decision *d) {
    if (d->row->choice.kind != STRETTO_CHOICE_SHM)
        return MESSAGES;
    return d->bytes > MODEST_BYTES ? LARGE : MODEST;
}

/* The channels that every rank has left, in `all`; false when a rank is not well. */
static bool agree_on_left(const stretto_comm *c, bool well, uint64_t all[WORDS]) {
    uint64_t mine[WORDS + 1] = {0}, agreed[WORDS + 1] = {0};
    mine[WORDS] = well;
    memcpy(mine, c->channels->left, sizeof c->channels->left);
    if (PMPI_Allreduce(mine, agreed, WORDS + 1, MPI_UINT64_T, MPI_BAND, c->comm) != MPI_SUCCESS)
        return false;
    memcpy(all, agreed, sizeof c->channels->left);
    return agreed[WORDS] != 0;
}

/* Node memory for a channel, agreed. No channel takes from the half of the arena that is kept for
 * communicators. */
static bool get_memory(stretto_comm *channel, channel_kind kind) {
    const size_t half = ((size_t)stretto_config.arena_mb << 20) / 2;
    int *world = room((size_t)channel->nranks * sizeof *world);
    if (!stretto_comm_world_ranks(channel->comm, channel->nranks, world))
        stretto_no_memory(); /* it could before; and the others go on */
    stretto_size size = kind == LARGE ? STRETTO_MEMORY_LARGE : STRETTO_MEMORY_MODEST;
    if (!stretto_memory_prepare(channel, world) || stretto_arena_used() >= half)
        size = STRETTO_MEMORY_REFUSED;
    free(world);
    return stretto_memory_get(channel, size);
}

static void destroy(stretto_comm *channel) {
    channel->graph = NULL; /* the owner's */
    stretto_comm_teardown(channel, false);
    free(channel);
}

static void bring_up_to_date(stretto_comm *channel, const stretto_comm *c) {
    channel->has_shadow = c->has_shadow;
    channel->shadow = c->shadow;
    channel->graph = c->graph;
}

static stretto_comm *make(stretto_comm *c, channel_kind kind) {
    stretto_channels *all = c->channels;
    stretto_comm *channel = room(sizeof *channel);
    channel->comm = c->comm;
    channel->status = STRETTO_COMM_READY;
    channel->rank = c->rank;
    channel->nranks = c->nranks;
    channel->layout = c->layout;
    channel->ppn = c->ppn;
    channel->arena = -1;
    channel->tag = STRETTO_FIRST_TAG + 2 * (all->n + 1);
    channel->channels = all;
    if (kind != MESSAGES) {
        if (!get_memory(channel, kind)) {
            destroy(channel);
            return NULL;
        }
        channel->node_ready = true;
        channel->one_node = channel->layout.nnodes == 1;
    }
    all->kind[all->n] = kind;
    all->channel[all->n++] = channel;
    return channel;
}

/* Everything that is read here is the same on all ranks. */
static stretto_comm *take(stretto_comm *c, channel_kind kind, const uint64_t left[WORDS]) {
    stretto_channels *all = c->channels;
    for (int i = 0; i < all->n; i++)
        if (all->kind[i] == kind && left[i / 64] >> (i % 64) & 1) {
            all->left[i / 64] &= ~(UINT64_C(1) << (i % 64));
            return all->channel[i];
        }
    return all->n < STRETTO_CHANNELS_MOST ? make(c, kind) : NULL;
}

stretto_comm *stretto_channel_take(stretto_comm *c, const stretto_decision *d, bool well) {
    uint64_t left[WORDS];
    stretto_comm *channel = NULL;
    if (!c->channels) {
        c->channels = room(sizeof *c->channels);
        c->channels->owner = c;
    }
    stretto_outstanding_lend();
    MPI_Errhandler before = stretto_be_quiet(c->comm);
    if (agree_on_left(c, well, left))
        channel = take(c, kind_for(d), left);
    stretto_be_as_before(c->comm, before);
    stretto_outstanding_return();
    if (channel) {
        bring_up_to_date(channel, c);
        c->channels->taken++;
    }
    return channel;
}

stretto_comm *stretto_channel_owner(const stretto_comm *channel) {
    return channel->channels->owner;
}

static void free_all(stretto_channels *all) {
    for (int i = 0; i < all->n; i++)
        destroy(all->channel[i]);
    if (all->graph)
        stretto_graph_release(all->graph);
    free(all->graph);
    free(all->layout_memory);
    free(all);
}

/* Memory of the calls on it; the next request may have other sizes. */
static void empty(stretto_comm *channel) {
    for (int i = 0; i < STRETTO_SCRATCHES; i++) {
        free(channel->scratch[i]);
        channel->scratch[i] = NULL;
        channel->scratch_size[i] = 0;
    }
}

void stretto_channel_leave(stretto_comm *channel, bool broken) {
    stretto_channels *all = channel->channels;
    const int i = number_of(channel);
    if (!broken)
        all->left[i / 64] |= UINT64_C(1) << (i % 64);
    else if (all->owner)
        all->owner->is_broken = true; /* its messages went over the owner's shadow */
    empty(channel);
    if (--all->taken == 0 && !all->owner)
        free_all(all);
}

bool stretto_channels_abandon(stretto_comm *c, bool agree) {
    stretto_channels *all = c->channels;
    if (!all)
        return true;
    int mine = all->taken, most = 1;
    /* how many have requests left is one rank's own affair; freeing the shadow is collective */
    if (agree && c->has_shadow) {
        stretto_outstanding_lend();
        if (PMPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, c->shadow) != MPI_SUCCESS)
            most = 1;
        stretto_outstanding_return();
    }
    c->channels = NULL;
    all->owner = NULL;
    if (all->taken == 0) {
        free_all(all);
    } else {
        all->layout_memory = c->layout_memory;
        all->graph = c->graph;
        c->layout_memory = NULL;
        c->graph = NULL;
    }
    return most == 0;
}
