/* From the node's arena to a communicator's rings: short at first, and grown when there is a use
 * for more. */
#include "engine/memory.h"
#include "engine/outstanding.h"

#include <stdlib.h>

/* Calls with a root after which a communicator gets the deeper rings of lines: in those only a root
 * that runs ahead waits sooner. */
enum { ROOTED = 64 };

static int ranks_on(const stretto_comm *c, int node) {
    return c->layout.node_start[node + 1] - c->layout.node_start[node];
}

static int ranks_here(const stretto_comm *c) {
    return ranks_on(c, c->layout.node_of[c->rank]);
}

/* The rank in c whose offer is for the node of rank r. */
static int leader_of(const stretto_comm *c, int r) {
    return c->layout.node_ranks[c->layout.node_start[c->layout.node_of[r]]];
}

static uint64_t digest_of(const int *domain, int n) {
    uint64_t digest = 14695981039346656037u;
    for (int i = 0; i < n; i++)
        digest = (digest ^ (uint64_t)domain[i]) * 1099511628211u;
    return digest;
}

bool stretto_memory_prepare(stretto_comm *c, const int *world) {
    const stretto_world *w = &stretto_the_world;
    const int nlocal = ranks_here(c), mine = c->layout.local_of[c->rank];
    const int first = c->layout.node_start[c->layout.node_of[c->rank]];
    if (nlocal == 1)
        return true;
    int *pids = malloc((size_t)nlocal * 3 * sizeof *pids), *peers = pids + nlocal,
        *domain = peers + nlocal;
    if (!pids)
        return false;
    for (int i = 0; i < nlocal; i++) {
        int wanted = world[c->layout.node_ranks[first + i]];
        pids[i] = domain[i] = 0;
        peers[i] = -1;
        for (int j = 0; j < w->node_nranks; j++)
            if (w->node_world[j] == wanted) {
                pids[i] = w->node_pids[j];
                peers[i] = j;
                domain[i] = w->node_domain ? w->node_domain[j] : 0;
            }
    }
    c->node = stretto_node_new(nlocal, mine, pids, &w->wait);
    bool well = c->node && (!w->xpmem || stretto_node_use_xpmem(c->node, peers));
    /* operations that reach the node phases are predefined ones, which commute */
    if (well && w->node_domain)
        well = stretto_node_use_domains(c->node, domain, true, stretto_config.fake_domains != 0);
    c->homes = w->node_domain ? digest_of(domain, nlocal) : 0;
    c->is_far = domain[mine] != domain[0];
    free(pids);
    return well;
}

/* Large rings for the first communicators that move long data (the world, the solver's own), modest
 * ones when many come. */
stretto_memory stretto_memory_offer(stretto_comm *c, stretto_size size) {
    const int nlocal = ranks_here(c);
    stretto_memory mine = {.arena = STRETTO_MEMORY_UNNEEDED, .opened = stretto_arena_opened()};
    if (nlocal == 1)
        return mine;
    if (size == STRETTO_MEMORY_REFUSED ||
        (size != STRETTO_MEMORY_SHORT && !stretto_node_reserve(c->node))) {
        mine.arena = STRETTO_MEMORY_NONE;
        return mine;
    }
    if (leader_of(c, c->rank) != c->rank)
        return mine;
    mine.arena = STRETTO_MEMORY_NONE;
    if (size == STRETTO_MEMORY_LARGE && stretto_arena_used() >= STRETTO_ARENA_PLENTY)
        size = STRETTO_MEMORY_MODEST;
    for (bool last = false; mine.arena < 0 && !last; size = STRETTO_MEMORY_MODEST) {
        const size_t large = size == STRETTO_MEMORY_LARGE ? stretto_the_world.ring : 0,
                     area = size == STRETTO_MEMORY_SHORT ? STRETTO_NODE_SHORT
                                                         : stretto_node_area(nlocal, large);
        const stretto_kind kind = {nlocal, (int64_t)area,
                                   size == STRETTO_MEMORY_SHORT ? 0 : c->homes};
        bool kept = false;
        mine.area = (int64_t)area;
        mine.arena = stretto_arena_allocate(stretto_node_bytes(nlocal, area), nlocal, &kind, &kept);
        mine.moves = kind.homes && !kept;
        if (mine.arena >= 0) {
            const stretto_node_past past = stretto_arena_past(mine.arena);
            mine.calls = (int64_t)past.calls;
            mine.chunks = (int64_t)past.chunks;
        }
        last = size != STRETTO_MEMORY_LARGE;
    }
    return mine;
}

void stretto_memory_withdraw(const stretto_comm *c, const stretto_memory *mine) {
    for (int i = 0; mine->arena >= 0 && i < ranks_here(c); i++)
        stretto_arena_leave(mine->arena, (stretto_node_past){0, 0});
}

static const stretto_memory *offer_of(const void *offers, size_t stride, int rank) {
    return (const stretto_memory *)(const void *)((const char *)offers + (size_t)rank * stride);
}

/* Whether nobody can fail to enter what is offered. */
static bool is_sure(const stretto_comm *c, const void *offers, size_t stride) {
    for (int r = 0; r < c->nranks; r++) {
        const stretto_memory *piece = offer_of(offers, stride, leader_of(c, r));
        const int nlocal = ranks_on(c, c->layout.node_of[r]);
        if (piece->arena < 0)
            continue;
        if (piece->moves ||
            piece->arena + (int64_t)stretto_node_bytes(nlocal, (size_t)piece->area) >
                offer_of(offers, stride, r)->opened)
            return false;
    }
    return true;
}

static bool can_enter(const stretto_comm *c, const stretto_memory *piece) {
    const int nlocal = ranks_here(c);
    size_t own, bytes;
    if (nlocal == 1)
        return true;
    if (!stretto_arena_open(piece->arena, stretto_node_bytes(nlocal, (size_t)piece->area)))
        return false;
    if (!piece->moves || !c->is_far)
        return true;
    stretto_node_part(c->layout.local_of[c->rank], (size_t)piece->area, &own, &bytes);
    return stretto_arena_bring_near(piece->arena + (int64_t)own, bytes);
}

static void enter(stretto_comm *c, const stretto_memory *piece) {
    const int64_t before = c->arena;
    const stretto_node_past reached = stretto_node_reached(c->node);
    const int nlocal = ranks_here(c);
    stretto_node_enter(c->node, stretto_arena_at(piece->arena), (size_t)piece->area,
                       (stretto_node_past){(uint64_t)piece->calls, (uint64_t)piece->chunks});
    c->arena = piece->arena;
    stretto_arena_leave(before, reached);
    /* Rather than page by page in the first thousand calls; a refusal costs nothing. Not before all
     * have their memory where they want it. */
    if (piece->area > (int64_t)stretto_node_area(nlocal, 0))
        stretto_arena_populate(piece->arena, stretto_node_bytes(nlocal, (size_t)piece->area));
}

bool stretto_memory_join(stretto_comm *c, stretto_size size, const void *offers, size_t stride) {
    const stretto_memory *piece = offer_of(offers, stride, leader_of(c, c->rank));
    bool well = true;
    for (int r = 0; r < c->nranks; r++)
        well = well && offer_of(offers, stride, r)->arena != STRETTO_MEMORY_NONE;
    if (!well) {
        stretto_memory_withdraw(c, offer_of(offers, stride, c->rank));
        return false;
    }
    well = can_enter(c, piece);
    if (!is_sure(c, offers, stride))
        well = stretto_agree(c->comm, well);
    else if (!well)
        stretto_no_memory(); /* the others go on */
    if (!well) {
        stretto_arena_leave(piece->arena, (stretto_node_past){0, 0});
        return false;
    }
    if (c->node)
        enter(c, piece);
    c->is_short = size == STRETTO_MEMORY_SHORT;
    return true;
}

bool stretto_memory_get(stretto_comm *c, stretto_size size) {
    stretto_memory *offers = malloc((size_t)c->nranks * sizeof *offers);
    if (!offers)
        stretto_no_memory(); /* this rank cannot agree to anything with the others any more */
    const stretto_memory mine = stretto_memory_offer(c, size);
    const int length = sizeof mine / sizeof(int64_t);
    bool well = PMPI_Allgather(&mine, length, MPI_INT64_T, offers, length, MPI_INT64_T, c->comm) ==
                MPI_SUCCESS;
    if (well) /* else what is offered stays taken: others may have entered it */
        well = stretto_memory_join(c, size, offers, sizeof mine);
    free(offers);
    return well;
}

static bool grow(stretto_comm *c) {
    if (!c->is_short || c->no_growth)
        return !c->is_short;
    stretto_outstanding_lend();
    MPI_Errhandler before = stretto_be_quiet(c->comm);
    c->no_growth = !stretto_memory_get(c, STRETTO_MEMORY_LARGE);
    stretto_be_as_before(c->comm, before);
    stretto_outstanding_return();
    return !c->no_growth;
}

bool stretto_memory_counts(const stretto_comm *c, stretto_collective collective) {
    return c->is_short && !c->no_growth && stretto_collective_rooted(collective);
}

/* Whether calls of so many bytes (of a vector, a block, the mean block) need no more than single
 * lines. */
static bool are_short(const stretto_comm *c, stretto_collective collective,
                      const stretto_choice *choice, size_t bytes) {
    const size_t n = (size_t)c->nranks;
    /* of hierarchies those in which a node's phases are of the whole vector */
    if (!c->one_node &&
        (choice->lanes || !choice->algorithm || choice->algorithm->needs & STRETTO_NEEDS_NODES ||
         (collective != STRETTO_BARRIER && collective != STRETTO_ALLREDUCE)))
        return false;
    switch (collective) {
    case STRETTO_BARRIER:
    case STRETTO_ALLREDUCE:
    case STRETTO_BCAST:
    case STRETTO_REDUCE:
    case STRETTO_SCAN:
    case STRETTO_EXSCAN: return bytes <= STRETTO_NODE_SHORT_BYTES;
    case STRETTO_ALLGATHER:
    case STRETTO_ALLTOALL:
    case STRETTO_GATHER:
    case STRETTO_SCATTER:
    case STRETTO_REDUCE_SCATTER_BLOCK: return bytes <= STRETTO_NODE_SHORT_BYTES / n;
    case STRETTO_ALLGATHERV:
    case STRETTO_REDUCE_SCATTER: return bytes < STRETTO_NODE_SHORT_BYTES / n; /* of a mean */
    default: return false; /* sizes that ranks do not know of each other */
    }
}

bool stretto_memory_suffices(stretto_comm *c, stretto_collective collective,
                             const stretto_choice *choice, size_t bytes) {
    if (!c->is_short)
        return true;
    if (!are_short(c, collective, choice, bytes))
        return grow(c);
    if (stretto_memory_counts(c, collective)) {
        c->rooted_now++;
        if (++c->rooted > ROOTED)
            grow(c);
    }
    return true;
}

void stretto_memory_uncount(stretto_comm *c) {
    c->rooted -= c->rooted_now;
    c->rooted_now = 0;
}
