#include "record/comm.h"

#include "record/clock.h"
#include "record/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 1024, CHILD_SETS = 4096 };

stretto_comm_table *stretto_comms;
uint64_t stretto_comms_version;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ncomms;
static stretto_raw_shape *shapes;
static const int *node_of;
static int world_size, world_rank;
static MPI_Group world_group;
/* Stands for the parent of what is made from no communicator. */
static stretto_comm nobody = {.id = 1};

/* ---- the table of handles (under the lock) -------------------------------------------------- */

static void write_begin(void) {
    __atomic_store_n(&stretto_comms_version, stretto_comms_version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void write_end(void) {
    __atomic_store_n(&stretto_comms_version, stretto_comms_version + 1, __ATOMIC_RELEASE);
}

static uint64_t home(const stretto_comm_table *table, uint64_t handle) {
    return (handle * 0x9e3779b97f4a7c15ull >> 20) & table->mask;
}

static void put(stretto_comm_table *table, uint64_t handle, stretto_comm *comm) {
    uint64_t slot = home(table, handle);
    while (table->slots[slot].comm && table->slots[slot].handle != handle)
        slot = (slot + 1) & table->mask;
    __atomic_store_n(&table->slots[slot].handle, handle, __ATOMIC_RELAXED);
    __atomic_store_n(&table->slots[slot].comm, comm, __ATOMIC_RELAXED);
}

static bool grow(void) {
    uint64_t old_size = stretto_comms ? stretto_comms->mask + 1 : 0;
    if (stretto_comms && ncomms * 2 < old_size)
        return true;
    uint64_t size = old_size ? old_size * 2 : 64;
    stretto_comm_table *table = calloc(1, sizeof *table + size * sizeof table->slots[0]);
    if (!table)
        return false;
    table->mask = size - 1;
    for (uint64_t i = 0; i < old_size; i++)
        if (stretto_comms->slots[i].comm)
            put(table, stretto_comms->slots[i].handle, stretto_comms->slots[i].comm);
    /* the old table is never freed, for a reader may be in it; all of them together are smaller
     * than the new one */
    __atomic_store_n(&stretto_comms, table, __ATOMIC_RELEASE);
    return true;
}

static stretto_comm *find(uint64_t handle) {
    for (uint64_t slot = home(stretto_comms, handle); stretto_comms->slots[slot].comm;
         slot = (slot + 1) & stretto_comms->mask)
        if (stretto_comms->slots[slot].handle == handle)
            return stretto_comms->slots[slot].comm;
    return NULL;
}

static void insert(stretto_comm *comm) {
    write_begin();
    if (grow()) {
        stretto_comm *stale = find(comm->handle);
        put(stretto_comms, comm->handle, comm);
        ncomms += !stale;
        /* a handle that came again without its free having been seen; the old entry stays
         * allocated, for another thread may hold it */
    }
    write_end();
}

/* Takes the handle out and moves later entries of its chain up, so that no marks remain. */
static stretto_comm *take(uint64_t handle) {
    stretto_comm_table *table = stretto_comms;
    uint64_t slot = home(table, handle);
    while (table->slots[slot].comm && table->slots[slot].handle != handle)
        slot = (slot + 1) & table->mask;
    stretto_comm *comm = table->slots[slot].comm;
    if (!comm)
        return NULL;
    write_begin();
    for (uint64_t next = (slot + 1) & table->mask; table->slots[next].comm;
         next = (next + 1) & table->mask) {
        uint64_t wish = home(table, table->slots[next].handle);
        if (((next - wish) & table->mask) >= ((next - slot) & table->mask)) {
            __atomic_store_n(&table->slots[slot].handle, table->slots[next].handle,
                             __ATOMIC_RELAXED);
            __atomic_store_n(&table->slots[slot].comm, table->slots[next].comm, __ATOMIC_RELAXED);
            slot = next;
        }
    }
    __atomic_store_n(&table->slots[slot].comm, NULL, __ATOMIC_RELAXED);
    ncomms--;
    write_end();
    return comm;
}

/* ---- who they are --------------------------------------------------------------------------- */

/* World ranks of a group's members; NULL when out of memory or when one has none. */
static int *translate(MPI_Group group, int n) {
    int *own = calloc((size_t)n + 1, sizeof *own), *world = calloc((size_t)n + 1, sizeof *world);
    bool good = own && world;
    if (good) {
        for (int i = 0; i < n; i++)
            own[i] = i;
        good = PMPI_Group_translate_ranks(group, n, own, world_group, world) == MPI_SUCCESS;
    }
    for (int i = 0; good && i < n; i++)
        good = world[i] >= 0 && world[i] < world_size; /* else spawned or connected */
    free(own);
    if (!good)
        free(world);
    return good ? world : NULL;
}

static int compare_ints(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Nodes that the members live on, and the most members on one. */
static void count_nodes(const int *world, int n, uint32_t *nodes, uint32_t *ppn) {
    *nodes = *ppn = 0;
    int *of = calloc((size_t)n + 1, sizeof *of);
    if (!of)
        return;
    for (int i = 0; i < n; i++)
        of[i] = node_of[world ? world[i] : i];
    qsort(of, (size_t)n, sizeof *of, compare_ints);
    uint32_t run = 0;
    for (int i = 0; i < n; i++) {
        run = i && of[i] == of[i - 1] ? run + 1 : 1;
        *nodes += run == 1;
        *ppn = run > *ppn ? run : *ppn;
    }
    free(of);
}

/* Index + 1 of the shape's row, counting one more of it; the last row takes what finds no room. */
static uint32_t shape_row(stretto_origin origin, uint32_t size, uint32_t nodes, uint32_t ppn) {
    uint32_t i = 0;
    for (; i < SHAPES - 1 && shapes[i].count; i++)
        if (shapes[i].origin == origin && shapes[i].size == size && shapes[i].nodes == nodes &&
            shapes[i].ppn == ppn)
            break;
    if (!shapes[i].count) {
        shapes[i].origin = i < SHAPES - 1 ? origin : STRETTO_ORIGIN_UNKNOWN;
        shapes[i].size = i < SHAPES - 1 ? size : 0;
        shapes[i].nodes = i < SHAPES - 1 ? nodes : 0;
        shapes[i].ppn = i < SHAPES - 1 ? ppn : 0;
    }
    shapes[i].count++;
    return i + 1;
}

/* How many communicators with these members the parent has brought forth, this one included; 0
 * when the list is full. */
static uint64_t count_child(stretto_comm *parent, uint64_t members) {
    for (int i = 0; i < parent->nchildren; i++)
        if (parent->children[i].members == members)
            return ++parent->children[i].made;
    int n = parent->nchildren;
    if (n >= CHILD_SETS)
        return 0;
    if (!(n & (n - 1))) { /* full at powers of two */
        size_t room = n ? 2 * (size_t)n : 1;
        stretto_child_count *more = realloc(parent->children, room * sizeof *more);
        if (!more)
            return 0;
        parent->children = more;
    }
    parent->children[n] = (stretto_child_count){members, 1};
    parent->nchildren = n + 1;
    return 1;
}

static uint64_t identity(stretto_comm *parent, uint64_t members) {
    if (!parent->id)
        return 0;
    uint64_t k = count_child(parent, members);
    if (!k)
        return 0;
    uint64_t id = stretto_mix(stretto_mix(parent->id ^ stretto_mix(members)) + k);
    return id > 2 ? id : id + 3;
}

static uint64_t hash_members(const int *world, int n) {
    uint64_t hash = STRETTO_HASH_START;
    for (int i = 0; i < n; i++)
        hash = stretto_mix(hash ^ (uint64_t)(world ? world[i] : i) ^ (uint64_t)n << 32);
    return hash;
}

/* Asks the MPI for size, rank and members; NULL when the handle is no communicator or there is no
 * memory. `members` gets a hash of the member list, 0 when it is not known. */
static stretto_comm *describe(MPI_Comm handle, stretto_origin origin, uint64_t *members) {
    *members = 0;
    stretto_comm *comm = calloc(1, sizeof *comm);
    int inter = 0;
    if (!comm || PMPI_Comm_test_inter(handle, &inter) != MPI_SUCCESS ||
        PMPI_Comm_size(handle, &comm->size) != MPI_SUCCESS ||
        PMPI_Comm_rank(handle, &comm->rank) != MPI_SUCCESS) {
        free(comm);
        return NULL;
    }
    comm->handle = STRETTO_HANDLE(handle);
    comm->inter = inter;
    comm->out_degree = -1;
    MPI_Group group;
    int *world = NULL;
    uint32_t nodes = 0, ppn = 0, size = (uint32_t)comm->size;
    if (PMPI_Comm_group(handle, &group) == MPI_SUCCESS) {
        world = translate(group, comm->size);
        PMPI_Group_free(&group);
    }
    if (world)
        count_nodes(world, comm->size, &nodes, &ppn);
    if (inter) {
        /* peers of point-to-point are the remote group; both sides must find the same identity */
        uint64_t own = world ? hash_members(world, comm->size) : 0;
        free(world);
        world = NULL;
        PMPI_Comm_remote_size(handle, &comm->peers);
        size += (uint32_t)comm->peers;
        if (PMPI_Comm_remote_group(handle, &group) == MPI_SUCCESS) {
            world = translate(group, comm->peers);
            PMPI_Group_free(&group);
        }
        if (world && own)
            *members = own ^ hash_members(world, comm->peers);
        nodes = ppn = 0;
        origin = STRETTO_ORIGIN_INTER;
    } else {
        comm->peers = comm->size;
        if (world)
            *members = hash_members(world, comm->size);
    }
    comm->targets = comm->peers;
    if (!world)
        comm->peers = 0; /* of another MPI_COMM_WORLD */
    comm->world = world;
    comm->shape = shape_row(origin, size, nodes, ppn);
    return comm;
}

/* ---- from outside --------------------------------------------------------------------------- */

int stretto_comms_begin(const int *nodes, int size, int rank) {
    node_of = nodes;
    world_size = size;
    world_rank = rank;
    shapes = stretto_store_section(STRETTO_RAW_SHAPES, sizeof *shapes, SHAPES);
    if (!shapes || PMPI_Comm_group(MPI_COMM_WORLD, &world_group) != MPI_SUCCESS || !grow())
        return -1;
    uint64_t members;
    stretto_comm *world = describe(MPI_COMM_WORLD, STRETTO_ORIGIN_WORLD, &members);
    stretto_comm *self = describe(MPI_COMM_SELF, STRETTO_ORIGIN_SELF, &members);
    if (!world || !self)
        return -1;
    free(world->world);
    world->world = NULL; /* peers are world ranks already */
    world->id = 2;
    self->id = stretto_mix(0x5e1f ^ (uint64_t)rank << 16);
    pthread_mutex_lock(&lock);
    insert(world);
    insert(self);
    pthread_mutex_unlock(&lock);
    return 0;
}

void stretto_comm_made(MPI_Comm handle, MPI_Comm parent_handle, stretto_origin origin) {
    if (handle == MPI_COMM_NULL)
        return;
    uint64_t members;
    pthread_mutex_lock(&lock);
    stretto_comm *parent =
        parent_handle == MPI_COMM_NULL ? &nobody : find(STRETTO_HANDLE(parent_handle));
    stretto_comm *comm = describe(handle, origin, &members);
    if (comm) {
        comm->id = parent && members ? identity(parent, members) : 0;
        insert(comm);
    }
    pthread_mutex_unlock(&lock);
}

void stretto_comm_copied(MPI_Comm handle, MPI_Comm parent_handle) {
    if (handle == MPI_COMM_NULL)
        return;
    pthread_mutex_lock(&lock);
    stretto_comm *parent = find(STRETTO_HANDLE(parent_handle));
    stretto_comm *comm = parent ? calloc(1, sizeof *comm) : NULL;
    size_t bytes = comm ? (size_t)parent->peers * sizeof *comm->world : 0;
    int *world = comm && parent->world ? malloc(bytes) : NULL;
    if (comm && (world || !parent->world)) {
        *comm = *parent;
        if (world)
            memcpy(world, parent->world, bytes);
        comm->world = world;
        comm->handle = STRETTO_HANDLE(handle);
        comm->children = NULL;
        comm->nchildren = 0;
        comm->sequence = 0;
        stretto_raw_shape *shape = &shapes[parent->shape - 1];
        comm->shape = shape_row(parent->inter ? STRETTO_ORIGIN_INTER : STRETTO_ORIGIN_DUP,
                                shape->size, shape->nodes, shape->ppn);
        /* the copy of an intercommunicator has no order of members that both sides share */
        comm->id = parent->inter ? 0 : identity(parent, hash_members(world, comm->size));
        insert(comm);
    } else
        free(comm);
    pthread_mutex_unlock(&lock);
}

stretto_comm *stretto_comm_met(MPI_Comm handle) {
    if (handle == MPI_COMM_NULL)
        return NULL;
    uint64_t members;
    pthread_mutex_lock(&lock);
    stretto_comm *comm = find(STRETTO_HANDLE(handle));
    if (!comm && (comm = describe(handle, STRETTO_ORIGIN_UNKNOWN, &members)))
        insert(comm);
    pthread_mutex_unlock(&lock);
    return comm;
}

stretto_comm *stretto_comm_forget(MPI_Comm handle) {
    pthread_mutex_lock(&lock);
    stretto_comm *comm = take(STRETTO_HANDLE(handle));
    pthread_mutex_unlock(&lock);
    return comm;
}

void stretto_comm_restore(stretto_comm *comm) {
    if (!comm)
        return;
    pthread_mutex_lock(&lock);
    insert(comm);
    pthread_mutex_unlock(&lock);
}

void stretto_comm_destroy(stretto_comm *comm) {
    if (!comm)
        return;
    free(comm->world);
    free(comm->children);
    free(comm);
}

/* The other ranks may not have seen an error, and count the call. Wrong arguments are found before
 * anything is done: it was no call then. Who got more than fits took part in it. Of all else this
 * cannot be told, and calls that may be numbered otherwise than on the other ranks must not be
 * joined with theirs: from here on they are only counted. */
void stretto_comm_failed(stretto_comm *comm, int code) {
    int kind = MPI_ERR_UNKNOWN;
    if (!comm)
        return;
    PMPI_Error_class(code, &kind);
    if (kind == MPI_ERR_TRUNCATE)
        comm->sequence++;
    else if (kind != MPI_ERR_COUNT && kind != MPI_ERR_TYPE && kind != MPI_ERR_BUFFER &&
             kind != MPI_ERR_ROOT && kind != MPI_ERR_OP && kind != MPI_ERR_COMM &&
             kind != MPI_ERR_ARG)
        comm->id = 0;
}

void stretto_comm_named(MPI_Comm handle, const char *name) {
    pthread_mutex_lock(&lock);
    stretto_comm *comm = find(STRETTO_HANDLE(handle));
    if (comm && !shapes[comm->shape - 1].name[0])
        memcpy(shapes[comm->shape - 1].name, name, strnlen(name, sizeof shapes[0].name - 1));
    pthread_mutex_unlock(&lock);
}

int stretto_comm_out_degree(stretto_comm *comm, MPI_Comm handle) {
    if (comm->out_degree >= 0)
        return comm->out_degree;
    int topology = MPI_UNDEFINED, degree = 0, in, weighted;
    PMPI_Topo_test(handle, &topology);
    if (topology == MPI_CART && PMPI_Cartdim_get(handle, &degree) == MPI_SUCCESS)
        degree *= 2;
    else if (topology == MPI_GRAPH)
        PMPI_Graph_neighbors_count(handle, comm->rank, &degree);
    else if (topology == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors_count(handle, &in, &degree, &weighted);
    comm->out_degree = degree;
    return degree;
}
