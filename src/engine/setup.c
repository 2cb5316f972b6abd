/* Setting a communicator up: its layout over nodes, its piece of the arena, its shadow.
 *
 * Happens inside the N-th blocking collective of the application on the communicator, which is the
 * same call on all ranks; everything that could fail on one rank only is agreed with one Allgather.
 */
#include "engine/learn.h"
#include "engine/memory.h"
#include "engine/operation.h"
#include "engine/outstanding.h"
#include "engine/shadow.h"
#include "coll/network.h"

#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What each rank tells the others. */
typedef struct {
    stretto_memory memory;
    stretto_shadow_offer shadow;
    int64_t well;
    int64_t
        devices; /* this rank has a device runtime loaded: its buffers may lie in device memory */
    int64_t threads; /* more than its main thread makes communicators */
} offer;

/* Objects that were loaded when they were last looked at, and whether a device runtime is one. */
typedef struct {
    unsigned long long adds;
    bool found;
} loaded_objects;

static int is_device_runtime(struct dl_phdr_info *info, size_t size, void *loaded) {
    static const char *const names[] = {"/libcuda.so", "/libcudart.so", "/libamdhip64.so",
                                        "/libze_loader.so"};
    loaded_objects *all = loaded;
    if (size > offsetof(struct dl_phdr_info, dlpi_subs) && info->dlpi_adds == all->adds)
        return 1; /* nothing new since then */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        all->found = all->found || (info->dlpi_name && strstr(info->dlpi_name, names[i]));
    return all->found;
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *adds) {
    if (size > offsetof(struct dl_phdr_info, dlpi_subs))
        *(unsigned long long *)adds = info->dlpi_adds;
    return 1;
}

/* Whether a pointer may mean device memory, which only the MPI can tell and handle. What kind a
 * pointer is is one rank's own affair, so the communicator as a whole passes through when any of
 * its ranks has CUDA, HIP or Level Zero loaded, or a device to load it for later: runtimes are
 * often opened at the first use. */
static bool devices_possible(void) {
    static loaded_objects last;
    static int nodes = -1; /* whether there is a device: looked for once */
    static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
    if (!stretto_config.devices)
        return false;
    pthread_mutex_lock(&looking);
    if (nodes < 0)
        nodes = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0;
    unsigned long long adds = 0;
    dl_iterate_phdr(count_loaded, &adds); /* first: what is loaded meanwhile is found next time */
    if (!last.found)
        dl_iterate_phdr(is_device_runtime, &last);
    last.adds = adds;
    const bool possible = nodes || last.found;
    pthread_mutex_unlock(&looking);
    return possible;
}

/* World ranks of the ranks of comm. False if one of them belongs to another MPI_COMM_WORLD
 * (spawned, connected): it has another table, or no Stretto. All ranks get the same answer, because
 * each of them finds a rank of another world. */
bool stretto_comm_world_ranks(MPI_Comm comm, int nranks, int *world) {
    MPI_Group group;
    if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS)
        return false;
    int *mine = malloc((size_t)nranks * sizeof *mine);
    bool well = mine != NULL;
    for (int i = 0; well && i < nranks; i++)
        mine[i] = i;
    well = well && PMPI_Group_translate_ranks(group, nranks, mine, stretto_the_world.group,
                                              world) == MPI_SUCCESS;
    for (int i = 0; well && i < nranks; i++)
        well = world[i] != MPI_UNDEFINED;
    free(mine);
    PMPI_Group_free(&group);
    return well;
}

/* Fills c->layout.lane_ranks, which lie in `order`. */
static bool order_lanes(stretto_comm *c, const int *world, int *order) {
    const int n = c->nranks, *place_of = stretto_the_world.place_of;
    int *package = place_of ? malloc(2 * (size_t)n * sizeof *package) : NULL;
    for (int r = 0; package && r < n; r++) {
        package[r] = place_of[world[r]];
        package[n + r] = place_of[stretto_the_world.nranks + world[r]];
    }
    const bool done = package && stretto_lane_order(&c->layout, package, package + n, order) == 0;
    c->layout.lane_ranks = done ? order : NULL;
    free(package);
    return done || !place_of;
}

/* Fills c->layout from the world ranks. Nodes are numbered by their lowest rank in comm. */
static bool make_layout(stretto_comm *c, const int *world) {
    int n = c->nranks;
    int *memory = calloc((size_t)(5 * n + 1), sizeof *memory);
    int *node_index = malloc((size_t)stretto_the_world.nranks * sizeof *node_index);
    if (!memory || !node_index) {
        free(memory);
        free(node_index);
        return false;
    }
    int *node_of = memory, *local_of = memory + n, *ranks = memory + 2 * n, *start = memory + 3 * n;
    for (int i = 0; i < stretto_the_world.nranks; i++)
        node_index[i] = -1;
    int nnodes = 0;
    for (int r = 0; r < n; r++) {
        int *index = &node_index[stretto_the_world.node_of[world[r]]];
        if (*index < 0)
            *index = nnodes++;
        node_of[r] = *index;
        local_of[r] = start[*index + 1]++;
    }
    c->ppn = 0;
    for (int i = 0; i < nnodes; i++) {
        if (start[i + 1] > c->ppn)
            c->ppn = start[i + 1];
        start[i + 1] += start[i];
    }
    bool consecutive = true;
    for (int r = 0; r < n; r++) {
        ranks[start[node_of[r]] + local_of[r]] = r;
        if (r && node_of[r] != node_of[r - 1] && local_of[r] != 0)
            consecutive = false;
    }
    c->layout = (stretto_layout){n, nnodes, node_of, local_of, start, ranks, consecutive, NULL};
    c->layout_memory = memory;
    free(node_index);
    return nnodes == 1 || order_lanes(c, world, start + n + 1);
}

/* Which resources some row could ask for here; the same on all ranks. */
static void wants(const stretto_comm *c, bool *node, bool *shadow) {
    *node = *shadow = stretto_config.api || stretto_config.learn;
    *shadow |= stretto_config.check_calls || stretto_config.reproducible;
    for (int i = 0; i < stretto_the_table.nrows; i++) {
        const stretto_row *row = &stretto_the_table.rows[i];
        if ((row->nodes && row->nodes != c->layout.nnodes) || (row->ppn && row->ppn != c->ppn))
            continue;
        *node |= row->choice.kind == STRETTO_CHOICE_SHM;
        *shadow |= row->choice.kind == STRETTO_CHOICE_FLAT ||
                   (row->choice.kind == STRETTO_CHOICE_SHM && c->layout.nnodes > 1);
    }
}

bool stretto_agree(MPI_Comm comm, bool mine) {
    int in = mine, out = 0;
    return PMPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && out;
}

bool stretto_in_threads(void) {
    int provided = MPI_THREAD_MULTIPLE;
    PMPI_Query_thread(&provided);
    return provided >= MPI_THREAD_MULTIPLE &&
           !(stretto_threads_raised && stretto_threads_asked < MPI_THREAD_MULTIPLE);
}

/* Whether several threads of this rank may be making communicators. Open MPI (4.1.4, 5.0.11) does
 * not get through when a thread derives a communicator from one that MPI_Comm_create_group has just
 * made while others call that on the same parent: all of them wait for one another's numbers. The
 * application need not do so, but a shadow would. Once true it stays. */
bool stretto_threads_make_communicators(void) {
#ifdef STRETTO_ABI_OPENMPI
    static atomic_bool seen;
    int main_one = 1;
    if (stretto_in_threads() && PMPI_Is_thread_main(&main_one) == MPI_SUCCESS && !main_one)
        atomic_store_explicit(&seen, true, memory_order_relaxed);
    return atomic_load_explicit(&seen, memory_order_relaxed);
#else
    return false;
#endif
}

/* Another thread's errors go to the handler that is there meanwhile, and it may look at it, or set
 * one: then it stays. */
MPI_Errhandler stretto_be_quiet(MPI_Comm comm) {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    if (!stretto_in_threads() && PMPI_Comm_get_errhandler(comm, &before) == MPI_SUCCESS)
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return before;
}

void stretto_be_as_before(MPI_Comm comm, MPI_Errhandler before) {
    if (before != MPI_ERRHANDLER_NULL) {
        PMPI_Comm_set_errhandler(comm, before);
        PMPI_Errhandler_free(&before);
    }
}

static const char *set_up(stretto_comm *c) {
    int inter = 0, nranks = 0, rank = 0;
    const char *why = NULL;
    if (PMPI_Comm_test_inter(c->comm, &inter) != MPI_SUCCESS || inter)
        return "inter-communicator";
    if (PMPI_Comm_size(c->comm, &nranks) != MPI_SUCCESS ||
        PMPI_Comm_rank(c->comm, &rank) != MPI_SUCCESS)
        return "the MPI does not report its size";
    if (nranks == 1)
        return "one rank";
    c->rank = rank;
    c->nranks = nranks;
    int *world = malloc((size_t)nranks * sizeof *world);
    offer *offers = malloc((size_t)nranks * sizeof *offers);
    /* Not agreed: without these few bytes a rank cannot take part in an agreement either. */
    if (!world || !offers)
        stretto_no_memory();
    if (!stretto_comm_world_ranks(c->comm, nranks, world)) {
        why = "ranks of another MPI_COMM_WORLD";
        goto out;
    }
    offer mine = {{.arena = STRETTO_MEMORY_UNNEEDED},
                  {0, 0},
                  make_layout(c, world) && stretto_comms_count() < stretto_config.max_communicators,
                  devices_possible(),
                  stretto_threads_make_communicators()};
    /* what is issued without waiting finds no moment to grow in */
    const stretto_size size =
        stretto_the_world.nonblocking ? STRETTO_MEMORY_LARGE : STRETTO_MEMORY_SHORT;
    bool node = false, shadow = false;
    if (mine.well) {
        wants(c, &node, &shadow);
        mine.well = !node || stretto_memory_prepare(c, world);
    }
    if (node && mine.well)
        mine.memory = stretto_memory_offer(c, size);
    if (shadow && mine.well)
        mine.shadow = stretto_shadow_offered(c, world);
    const int length = sizeof mine / sizeof(int64_t);
    if (PMPI_Allgather(&mine, length, MPI_INT64_T, offers, length, MPI_INT64_T, c->comm) !=
        MPI_SUCCESS) {
        why = "the MPI failed";
        goto out;
    }
    for (int i = 0; i < nranks; i++) {
        if (!offers[i].well)
            why = "too many communicators (STRETTO_MAX_COMMUNICATORS) or no memory";
        if (offers[i].devices)
            why = "a rank has a device, and its buffers may be device memory (STRETTO_DEVICES=0 if "
                  "never)";
        c->in_threads |= offers[i].threads != 0;
    }
    if (why) {
        stretto_memory_withdraw(c, &mine.memory);
        goto out;
    }
    c->node_ready = node && stretto_memory_join(c, size, offers, sizeof *offers);
    c->one_node = c->node_ready && c->layout.nnodes == 1;
    if (!c->node_ready) {
        stretto_node_detach(c->node);
        c->node = NULL;
    }
    if (shadow && !stretto_shadow_take(c, world, &offers[0].shadow, sizeof *offers))
        why = c->in_threads ? "several threads create communicators: under Open MPI this may "
                              "deadlock if Stretto creates some too"
                            : "the MPI cannot create another communicator";
out:
    free(world);
    free(offers);
    return why;
}

/* Collectives for which a row fits are looked at, the others pass at once. */
static void prepare_calls(stretto_comm *c) {
    c->coll = calloc(STRETTO_COLLECTIVES, sizeof *c->coll);
    if (!c->coll)
        stretto_no_memory();
    for (int i = 0; i < STRETTO_COLLECTIVES; i++) {
        c->coll[i].last = &stretto_undecided;
        /* with STRETTO_VERBOSE each shape is explained, native ones too */
        c->coll[i].looked_at =
            stretto_config.verbose > 0 ||
            (stretto_config.reproducible && stretto_collective_reduces((stretto_collective)i)) ||
            (stretto_config.learn && stretto_learns((stretto_collective)i));
    }
    for (int i = 0; i < stretto_the_table.nrows; i++) {
        const stretto_row *row = &stretto_the_table.rows[i];
        if (row->choice.kind != STRETTO_CHOICE_NATIVE &&
            (!row->nodes || row->nodes == c->layout.nnodes) && (!row->ppn || row->ppn == c->ppn))
            c->coll[row->collective].looked_at = true;
    }
}

STRETTO_COLD void stretto_comm_setup(stretto_comm *c) {
    MPI_Errhandler before = stretto_be_quiet(c->comm);
    c->why = set_up(c);
    stretto_be_as_before(c->comm, before);
    if (!c->why)
        prepare_calls(c);
    c->status = c->why ? STRETTO_COMM_NATIVE : STRETTO_COMM_READY;
    if (c->why)
        stretto_comm_teardown(c, true);
    /* one rank is the ordinary case of nothing to do */
    bool missed =
        stretto_config.verbose || stretto_config.check_calls || stretto_config.reproducible;
    if (c->why && missed && c->rank == 0 && c->nranks > 1)
        stretto_say("a communicator of %d ranks stays with the MPI: %s", c->nranks, c->why);
}

void stretto_comm_teardown(stretto_comm *c, bool free_shadow) {
    stretto_evidence_add(c);
    stretto_plans_forget(c);
    stretto_comm_graph_forget(c);
    if (c->arena >= 0)
        stretto_arena_leave(c->arena, stretto_node_reached(c->node));
    c->arena = -1;
    stretto_node_detach(c->node);
    c->node = NULL;
    c->node_ready = c->one_node = false;
    stretto_shadow_leave(c, c->is_broken);
    stretto_learned_add(c);
    stretto_learn_forget(c);
    if (c->has_shadow && free_shadow) {
        stretto_outstanding_lend(); /* freeing is collective: the MPI may wait for the others */
        PMPI_Comm_free(&c->shadow);
        stretto_outstanding_return();
    }
    c->has_shadow = false;
    free(c->layout_memory);
    c->layout_memory = NULL;
    for (int i = 0; c->coll && i < STRETTO_COLLECTIVES; i++) {
        free(c->coll[i].decisions);
        free(c->coll[i].forced);
    }
    free(c->coll);
    c->coll = NULL;
    for (int i = 0; i < STRETTO_SCRATCHES; i++) {
        free(c->scratch[i]);
        c->scratch[i] = NULL;
        c->scratch_size[i] = 0;
    }
    free(c->requests);
    free(c->node_numbers);
    c->node_numbers = NULL;
    c->requests = NULL;
    c->nrequests = 0;
}
