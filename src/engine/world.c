/* Init and Finalize: the world as this process sees it, agreed with the others. */
#include "abi/front.h"
#include "node/xpmem.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/operation.h"
#include "topo/topo.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

stretto_world stretto_the_world;

/* Polls before a waiting rank begins to call into the MPI: about 1 us, the promise of DESIGN
 * "Progress". With more ranks than cores the awaited rank mostly needs this core, but a few polls
 * spare a change of process where it runs on another one and comes soon (evaluation.md). */
enum { SPINS = 200, SPINS_OVERSUBSCRIBED = 5 };

/* Waiting drives the MPI, or a peer that waits for one of our own pending messages, or for a lock
 * on our window, waits for ever. A probe that matches nothing is the cheapest call that every MPI
 * turns into progress; not on a communicator of one, where MPICH 5.0 looks into a queue of its own
 * and drives nothing. */
void stretto_drive_mpi(void) {
    const stretto_world *w = &stretto_the_world;
    int flag;
    PMPI_Iprobe(MPI_ANY_SOURCE, w->probe_tag, w->probe_comm, &flag, MPI_STATUS_IGNORE);
}

/* What a wait in a node phase does meanwhile: in a fibre others go on. */
static void drive_progress(void *arg) {
    (void)arg;
    if (STRETTO_LIKELY(!stretto_outstanding)) {
        stretto_drive_mpi();
    } else if (stretto_fibre_here()) {
        stretto_fibre_yield();
    } else {
        stretto_outstanding_progress();
        stretto_drive_mpi();
    }
}

/* Which ranks share this node: fills node_comm, node_of, node_world. Collective over the world. */
static int find_nodes(stretto_world *w) {
    int rc =
        PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &w->node_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    if (stretto_config.fake_ppn > 0) {
        MPI_Comm real = w->node_comm;
        int rank;
        rc = PMPI_Comm_rank(real, &rank);
        if (rc == MPI_SUCCESS)
            rc = PMPI_Comm_split(real, rank / stretto_config.fake_ppn, rank, &w->node_comm);
        PMPI_Comm_free(&real);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    if ((rc = PMPI_Comm_rank(w->node_comm, &w->node_rank)) != MPI_SUCCESS ||
        (rc = PMPI_Comm_size(w->node_comm, &w->node_nranks)) != MPI_SUCCESS)
        return rc;
    w->node_world = malloc((size_t)w->node_nranks * sizeof *w->node_world);
    w->node_pids = malloc((size_t)w->node_nranks * sizeof *w->node_pids);
    w->node_of = malloc((size_t)w->nranks * sizeof *w->node_of);
    if (!w->node_world || !w->node_pids || !w->node_of)
        stretto_no_memory();
    int pid = (int)getpid();
    if ((rc = PMPI_Allgather(&w->rank, 1, MPI_INT, w->node_world, 1, MPI_INT, w->node_comm)) !=
            MPI_SUCCESS ||
        (rc = PMPI_Allgather(&pid, 1, MPI_INT, w->node_pids, 1, MPI_INT, w->node_comm)) !=
            MPI_SUCCESS)
        return rc;
    return PMPI_Allgather(&w->node_world[0], 1, MPI_INT, w->node_of, 1, MPI_INT, MPI_COMM_WORLD);
}

/* Where this node's ranks lie inside it: w->node_domain, NULL when in one domain, or when one of
 * them is not bound to one. Collective over node_comm: every rank's word goes to all, so that all
 * come to the same answer. */
static void find_domains(stretto_world *w) {
    const int n = w->node_nranks, fake = stretto_config.fake_domains;
    stretto_cpus allowed;
    stretto_place mine = {-1, -1, -1};
    if (n < 2 || (!fake && !stretto_config.domains))
        return;
    stretto_place *places = malloc((size_t)n * sizeof *places);
    int *domain = malloc((size_t)n * sizeof *domain);
    if (!places || !domain)
        stretto_no_memory();
    if (!fake && stretto_cpus_allowed(&allowed))
        mine = stretto_topo_place("", &allowed);
    bool bound =
        PMPI_Allgather(&mine, 3, MPI_INT, places, 3, MPI_INT, w->node_comm) == MPI_SUCCESS &&
        (fake || stretto_topo_domains(places, n, stretto_config.domains == 2, domain));
    for (int i = 0; fake && i < n; i++)
        domain[i] = fake > 0 ? i / fake : i % -fake;
    int found = 0;
    for (int i = 0; bound && i < n; i++) {
        int before = 0;
        while (domain[before] != domain[i])
            before++;
        found += before == i;
    }
    if (w->rank == 0 && stretto_config.verbose && !bound)
        stretto_say(
            "a rank of this node may run in several NUMA domains or sockets, so all count as "
            "one; bind the ranks if the node has several");
    else if (w->rank == 0 && stretto_config.verbose && found > 1)
        stretto_say("this node's %d ranks lie in %d %s", n, found,
                    fake                          ? "domains (STRETTO_FAKE_DOMAINS)"
                    : stretto_config.domains == 2 ? "domains by last-level cache"
                                                  : "NUMA domains");
    free(places);
    if (found > 1) {
        w->node_domain = domain;
        return;
    }
    free(domain);
}

/* Where every rank lies: w->domain_of. Collective over the world, agreed. */
static bool share_domains(stretto_world *w) {
    int first = 0;
    while (w->node_domain && w->node_domain[first] != w->node_domain[w->node_rank])
        first++;
    w->domain_of = malloc((size_t)w->nranks * sizeof *w->domain_of);
    if (!w->domain_of)
        stretto_no_memory();
    return stretto_agree(MPI_COMM_WORLD,
                         PMPI_Allgather(&w->node_world[first], 1, MPI_INT, w->domain_of, 1, MPI_INT,
                                        MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Package and NUMA domain of every rank: w->place_of. Collective over the world, agreed: false for
 * all, or for none. */
static bool share_places(stretto_world *w) {
    const int fake = stretto_config.fake_domains;
    stretto_cpus allowed;
    stretto_place mine = {-1, -1, -1};
    if (fake)
        mine.package = mine.numa = fake > 0 ? w->node_rank / fake : w->node_rank % -fake;
    else if (stretto_config.domains && stretto_cpus_allowed(&allowed))
        mine = stretto_topo_place("", &allowed);
    w->place_of = malloc(2 * (size_t)w->nranks * sizeof *w->place_of);
    if (!w->place_of)
        stretto_no_memory();
    return stretto_agree(MPI_COMM_WORLD,
                         PMPI_Allgather(&mine.package, 1, MPI_INT, w->place_of, 1, MPI_INT,
                                        MPI_COMM_WORLD) == MPI_SUCCESS &&
                             PMPI_Allgather(&mine.numa, 1, MPI_INT, w->place_of + w->nranks, 1,
                                            MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Cores this process may run on; the node's ranks together may use the union, but taking the
 * largest of the ranks' sets and the number of ranks bound to single cores apart is close enough:
 * yielding is a matter of manners. But all ranks of a node must come to the same result, by which
 * they also cut long messages (stretto_step), and containers may see different cores online. */
static bool find_yield(stretto_world *w) {
    cpu_set_t set;
    int mine[2] = {1, -(int)sysconf(_SC_NPROCESSORS_ONLN)}, ours[2];
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        mine[0] = CPU_COUNT(&set);
    if (PMPI_Allreduce(mine, ours, 2, MPI_INT, MPI_MAX, w->node_comm) != MPI_SUCCESS)
        return false;
    int ranks = w->node_nranks;
    if (stretto_config.fake_ppn)
        ranks = w->nranks; /* the nodes are one machine */
    /* Bound to one core each: then the launcher has counted, unless there are more ranks than
     * cores. */
    w->wait.yield = ranks > (ours[0] == 1 ? -ours[1] : ours[0]);
    w->wait.spins = w->wait.yield ? SPINS_OVERSUBSCRIBED : SPINS;
    return true;
}

/* Whether the ranks of this node can read each other's memory (CMA). Each rank offers a known word,
 * because a process id from another container may belong to another process here, even to another
 * rank of this job. Collective over node_comm. */
static bool try_cma(const stretto_world *w) {
    static uint64_t word;
    uint64_t seed = (uint64_t)w->node_pids[0] << 32 ^ (uintptr_t)&seed;
    int n = w->node_nranks, mine = 1, all = 0;
    uint64_t *addresses = malloc((size_t)n * sizeof *addresses);
    if (!addresses)
        stretto_no_memory();
    if (PMPI_Bcast(&seed, 1, MPI_UINT64_T, 0, w->node_comm) != MPI_SUCCESS)
        mine = 0;
    word = seed + (uint64_t)w->node_rank;
    uint64_t address = (uintptr_t)&word;
    if (PMPI_Allgather(&address, 1, MPI_UINT64_T, addresses, 1, MPI_UINT64_T, w->node_comm) !=
        MPI_SUCCESS)
        mine = 0;
    for (int i = 0; mine && i < n; i++) {
        uintptr_t at = (uintptr_t)addresses[i];
        mine = i == w->node_rank ||
               stretto_node_cma_works(1, &w->node_pids[i], &at, seed + (uint64_t)i);
    }
    free(addresses);
    return PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, w->node_comm) == MPI_SUCCESS && all;
}

/* Whether the ranks of this node can attach each other's memory with XPMEM. Each rank offers its
 * address space and reads one word of every other rank. Collective over node_comm. */
static bool try_xpmem(const stretto_world *w) {
    enum { BLOCK = 48 * 1024 }; /* freeing it leaves malloc's thresholds as they are */
    int n = w->node_nranks, mine = 1, all = 0;
    uint64_t *block = malloc(BLOCK), seed = (uint64_t)w->node_pids[0] << 32 ^ (uintptr_t)block;
    int64_t offer[2] = {stretto_xpmem_offer(), (int64_t)(uintptr_t)block};
    int64_t *offers = malloc((size_t)n * sizeof offer),
            *segids = malloc((size_t)n * sizeof *segids);
    if (!block || !offers || !segids)
        stretto_no_memory();
    if (PMPI_Bcast(&seed, 1, MPI_UINT64_T, 0, w->node_comm) != MPI_SUCCESS)
        mine = 0;
    block[0] = seed + (uint64_t)w->node_rank;
    if (PMPI_Allgather(offer, 2, MPI_INT64_T, offers, 2, MPI_INT64_T, w->node_comm) != MPI_SUCCESS)
        mine = 0;
    for (int i = 0; mine && i < n; i++)
        segids[i] = offers[2 * i];
    mine = mine && stretto_xpmem_join(n, segids);
    for (int i = 0; mine && i < n; i++)
        mine = i == w->node_rank ||
               stretto_xpmem_sees(i, (uint64_t)offers[2 * i + 1], seed + (uint64_t)i);
    if (PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, w->node_comm) != MPI_SUCCESS)
        all = 0;
    if (!all)
        stretto_xpmem_leave();
    free(block);
    free(offers);
    free(segids);
    return all;
}

/* Whether all ranks' calls come here alike. A tool in front that some ranks have would let others
 * wait in our algorithms for ranks in the MPI's. What a tool takes on all ranks is native on all.
 */
static bool calls_come_alike(const stretto_world *w) {
    char tool[256];
    const uint64_t mine = stretto_front(tool, sizeof tool), both[2] = {mine, ~mine};
    uint64_t most[2];
    if (PMPI_Allreduce(both, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS)
        return false;
    const bool alike = most[0] == ~most[1];
    int who = mine ? w->rank : w->nranks, first = 0;
    if (alike && !mine)
        return true;
    if (PMPI_Allreduce(&who, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS)
        return false;
    if (w->rank == first)
        stretto_say("%s intercepts MPI calls before Stretto%s", tool,
                    alike ? ": those go to the MPI"
                          : " on some ranks only: every call goes to the MPI. Preload it on all "
                            "ranks or none");
    return alike;
}

/* Rank 0 tells when the table has nothing for the job's own layout: then it was made for another
 * one. */
static void check_layout(const stretto_world *w) {
    int nodes = 0, ppn = 0, fitting = 0;
    int *on = calloc((size_t)w->nranks, sizeof *on);
    for (int r = 0; on && r < w->nranks; r++) {
        nodes += w->node_of[r] == r;
        if (++on[w->node_of[r]] > ppn)
            ppn = on[w->node_of[r]];
    }
    free(on);
    for (int i = 0; i < stretto_the_table.nrows; i++) {
        const stretto_row *row = &stretto_the_table.rows[i];
        fitting += (!row->nodes || row->nodes == nodes) && (!row->ppn || row->ppn == ppn);
    }
    if (stretto_the_table.nrows && !fitting)
        stretto_say("%s has no row for %d node%s x %d ranks; calls on that layout go to the MPI. "
                    "'stretto tune' on this layout makes them",
                    stretto_the_table.name, nodes, nodes == 1 ? "" : "s", ppn);
}

STRETTO_COLD void stretto_engine_init(void) {
    stretto_world *w = &stretto_the_world;
    if (w->active || stretto_config_load() != MPI_SUCCESS)
        return;
    if (stretto_config.disable ||
        !(stretto_config.has_table || stretto_config.api || stretto_config.check_calls ||
          stretto_config.reproducible || stretto_config.reorder || stretto_config.learn))
        return;
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &w->rank) != MPI_SUCCESS ||
        PMPI_Comm_size(MPI_COMM_WORLD, &w->nranks) != MPI_SUCCESS) {
        stretto_say("a call of the MPI failed during set-up; every call goes to the MPI");
        return;
    }
    if (!calls_come_alike(w))
        return;
    if (PMPI_Comm_group(MPI_COMM_WORLD, &w->group) != MPI_SUCCESS ||
        PMPI_Comm_dup(MPI_COMM_SELF, &w->self) != MPI_SUCCESS || find_nodes(w) != MPI_SUCCESS ||
        !find_yield(w)) {
        stretto_say("a call of the MPI failed during set-up; every call goes to the MPI");
        return;
    }
    PMPI_Comm_set_errhandler(w->self, MPI_ERRORS_RETURN);
    w->wait.progress = drive_progress;
    w->wait.cma = false;
    stretto_types_init();
    stretto_comms_init();
    find_domains(w);
    if (stretto_config.reorder && !share_domains(w))
        stretto_config.reorder = 0;
    if (w->node_nranks < w->nranks && !share_places(w)) {
        free(w->place_of);
        w->place_of = NULL;
    }
    if (w->node_nranks > 1 && stretto_arena_create((size_t)stretto_config.arena_mb << 20)) {
        stretto_cpus allowed;
        w->wait.cma = try_cma(w);
        w->ring = stretto_node_ring(
            stretto_cpus_allowed(&allowed) ? stretto_topo_level2("", &allowed) : 0);
        w->xpmem = stretto_config.xpmem && try_xpmem(w);
        if (w->xpmem && w->rank == 0 && stretto_config.verbose)
            stretto_say("XPMEM works among the ranks of this node");
    }
    if (w->rank == 0 && !stretto_config.learn) /* which makes the rows */
        check_layout(w);
    w->probe_comm = w->node_nranks > 1 ? w->node_comm : MPI_COMM_WORLD;
    w->probe_tag = w->node_nranks > 1 ? 0 : 32767; /* the application has its messages there */
    stretto_outstanding_begin();
    stretto_learn_begin();
    stretto_learned_begin();
    w->active = stretto_config.check_calls ? STRETTO_CHECKED : STRETTO_ON;
    if (stretto_config.check_calls || w->nonblocking)
        stretto_comm_ready(
            MPI_COMM_WORLD); /* or a rank that never calls anything would go unnamed */
}

/* MPI_Finalize begins with the callbacks of MPI_COMM_SELF's attributes, in which the MPI is still
 * there (MPI-4.1, 11.2.4): persistent requests that were not freed can be started there. Freeing is
 * local, and what follows is collective, so that all ranks ask. */
static bool requests_remain(bool nonblocking) {
    int mine = stretto_requests_live > 0, any = 0;
    return nonblocking &&
           (PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS || any);
}

STRETTO_COLD void stretto_engine_finalize(void) {
    stretto_world *w = &stretto_the_world;
    if (!w->active)
        return;
    const bool nonblocking = w->nonblocking != 0;
    stretto_outstanding_end();
    w->active = STRETTO_OFF;
    /* Every rank is in Finalize, so this communicator can be freed in step; others that the
     * application did not free are the MPI's to clean up, since their ranks may have dropped them
     * in any order. */
    stretto_comm_release(MPI_COMM_WORLD);
    /* what those need goes with the process, and leaves no trace */
    if (requests_remain(nonblocking))
        return;
    stretto_arena_destroy();
    if (w->xpmem) {
        PMPI_Barrier(w->node_comm); /* nobody reads what another one takes back */
        stretto_xpmem_leave();
    }
    PMPI_Comm_free(&w->node_comm);
    PMPI_Comm_free(&w->self);
    PMPI_Group_free(&w->group);
    stretto_table_free(&stretto_the_table);
}
