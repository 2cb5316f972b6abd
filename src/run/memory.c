/* From the node's arena to a communicator's rings. */
#include "run/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static int ranks_here(const stretto_comm *c) {
    const int home = c->layout.node_of[c->rank];
    return c->layout.node_start[home + 1] - c->layout.node_start[home];
}

int stretto_memory_leader(const stretto_comm *c) {
    return c->layout.node_ranks[c->layout.node_start[c->layout.node_of[c->rank]]];
}

/* Large rings for the first communicators (the world, the solver's own), modest ones when many
 * come. */
stretto_memory stretto_memory_take(const stretto_comm *c, bool large) {
    static const size_t plenty = 96u << 20;
    const int nlocal = ranks_here(c);
    stretto_memory mine = {STRETTO_MEMORY_UNNEEDED, 0};
    if (c->layout.local_of[c->rank] != 0 || nlocal == 1)
        return mine;
    mine.arena = STRETTO_MEMORY_NONE;
    for (int modest = !large || stretto_arena_used() >= plenty; modest <= 1 && mine.arena < 0;
         modest++) {
        size_t area = stretto_node_area(nlocal, modest ? 0 : stretto_the_world.ring);
        mine.area = (int64_t)area;
        mine.arena = stretto_arena_allocate(stretto_node_bytes(nlocal, area), nlocal);
    }
    return mine;
}

void stretto_memory_return(const stretto_comm *c, const stretto_memory *mine) {
    for (int i = 0; mine->arena >= 0 && i < ranks_here(c); i++)
        stretto_arena_leave(mine->arena);
}

bool stretto_memory_attach(stretto_comm *c, const int *world, const stretto_memory *offered) {
    const stretto_world *w = &stretto_the_world;
    const int nlocal = ranks_here(c), mine = c->layout.local_of[c->rank];
    const int first = c->layout.node_start[c->layout.node_of[c->rank]];
    if (nlocal == 1)
        return true;
    c->arena = offered->arena;
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
    const size_t area = (size_t)offered->area;
    if (stretto_arena_open(offered->arena, stretto_node_bytes(nlocal, area)))
        c->node = stretto_node_attach(stretto_arena_at(offered->arena), nlocal, mine, area, pids,
                                      &w->wait);
    bool well = c->node && (!w->xpmem || stretto_node_use_xpmem(c->node, peers));
    /* operations that reach the node phases are predefined ones, which commute */
    if (well && w->node_domain)
        well = stretto_node_use_domains(c->node, domain, true, stretto_config.fake_domains != 0);
    size_t own, bytes;
    stretto_node_part(mine, area, &own, &bytes);
    if (well && domain[mine] != domain[0])
        well = stretto_arena_bring_near(offered->arena + (int64_t)own, bytes);
    free(pids);
    return well;
}

/* Rather than page by page in the first thousand calls; a refusal costs nothing. Not before all
 * have their memory where they want it. */
void stretto_memory_map(const stretto_comm *c, const stretto_memory *offered) {
    const int nlocal = ranks_here(c);
    if (nlocal > 1 && offered->area > (int64_t)stretto_node_area(nlocal, 0))
        (void)madvise(stretto_arena_at(offered->arena),
                      stretto_node_bytes(nlocal, (size_t)offered->area), MADV_POPULATE_WRITE);
}
