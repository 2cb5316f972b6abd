/* Communicators and groups: of one rank, or of none. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROUP_OF_ONE = 2 };

static serial_comm world = {
    .name = "MPI_COMM_WORLD", .handler = MPI_ERRORS_ARE_FATAL, .topology = {.kind = MPI_UNDEFINED}};
static serial_comm self = {
    .name = "MPI_COMM_SELF", .handler = MPI_ERRORS_ARE_FATAL, .topology = {.kind = MPI_UNDEFINED}};
static serial_table comms = {.size = sizeof(serial_comm), .first = 3};

serial_comm *serial_comm_at(MPI_Comm comm) {
    serial_comm *c = comm == MPI_COMM_WORLD  ? &world
                     : comm == MPI_COMM_SELF ? &self
                                             : serial_at(&comms, comm);
    return c && c->freed ? NULL : c;
}

MPI_Comm serial_comm_new(const serial_comm *like) {
    MPI_Comm comm;
    serial_comm *c = serial_add(&comms, &comm);
    c->handler = like->handler;
    c->topology.kind = MPI_UNDEFINED;
    return comm;
}

int MPI_Comm_size(MPI_Comm comm, int *size) {
    CHECK_COMM(c, comm, "MPI_Comm_size");
    (void)c;
    *size = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank) {
    CHECK_COMM(c, comm, "MPI_Comm_rank");
    (void)c;
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result) {
    CHECK_COMM(ca, a, "MPI_Comm_compare");
    CHECK_COMM(cb, b, "MPI_Comm_compare");
    *result = ca == cb ? MPI_IDENT : MPI_CONGRUENT;
    return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    CHECK_COMM(c, comm, "MPI_Comm_dup");
    *made = serial_comm_new(c);
    serial_comm *n = serial_comm_at(*made);
    serial_topology_copy(&n->topology, &c->topology);
    serial_info_keep(&n->info, c->info);
    int rc = serial_attributes_copy(comm, c->attributes, &n->attributes);
    if (rc != MPI_SUCCESS)
        return serial_error(comm, rc, "MPI_Comm_dup", "an attribute could not be copied");
    return MPI_SUCCESS;
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made) {
    int rc = MPI_Comm_dup(comm, made);
    return rc == MPI_SUCCESS ? MPI_Comm_set_info(*made, info) : rc;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
    return serial_request_done(request, MPI_Comm_dup(comm, made));
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) {
    CHECK_COMM(c, comm, "MPI_Comm_split");
    (void)key;
    *made = MPI_COMM_NULL;
    if (color == MPI_UNDEFINED)
        return MPI_SUCCESS;
    if (color < 0)
        return serial_error(comm, MPI_ERR_ARG, "MPI_Comm_split", "the color is %d", color);
    *made = serial_comm_new(c);
    return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    (void)info;
    return MPI_Comm_split(comm, type == MPI_UNDEFINED ? MPI_UNDEFINED : 0, key, made);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made) {
    return MPI_Comm_split(comm, group == GROUP_OF_ONE ? 0 : MPI_UNDEFINED, 0, made);
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made) {
    (void)tag;
    return MPI_Comm_create(comm, group, made);
}

static int discard(MPI_Comm comm) {
    serial_comm *c = serial_at(&comms, comm);
    int rc = serial_attributes_delete(comm, &c->attributes);
    if (rc != MPI_SUCCESS)
        return serial_error(comm, rc, "MPI_Comm_free", "an attribute could not be deleted");
    serial_topology_free(&c->topology);
    serial_info_keep(&c->info, MPI_INFO_NULL);
    /* A handle that messages under way still name must not come to stand for another one. */
    if (serial_comm_in_use(comm))
        c->freed = true;
    else
        serial_drop(&comms, comm);
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm) {
    CHECK_COMM(c, *comm, "MPI_Comm_free");
    if (c == &world || c == &self)
        return serial_error(*comm, MPI_ERR_COMM, "MPI_Comm_free", "%s cannot be freed", c->name);
    int rc = discard(*comm);
    if (rc == MPI_SUCCESS)
        *comm = MPI_COMM_NULL;
    return rc;
}

int MPI_Comm_disconnect(MPI_Comm *comm) {
    return MPI_Comm_free(comm);
}

int MPI_Comm_set_name(MPI_Comm comm, const char *name) {
    CHECK_COMM(c, comm, "MPI_Comm_set_name");
    snprintf(c->name, sizeof c->name, "%s", name);
    return MPI_SUCCESS;
}

int MPI_Comm_get_name(MPI_Comm comm, char *name, int *length) {
    CHECK_COMM(c, comm, "MPI_Comm_get_name");
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", c->name);
    return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag) {
    CHECK_COMM(c, comm, "MPI_Comm_test_inter");
    (void)c;
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
    CHECK_COMM(c, comm, "MPI_Comm_set_info");
    return serial_info_keep(&c->info, info);
}

int MPI_Comm_get_info(MPI_Comm comm, MPI_Info *info) {
    CHECK_COMM(c, comm, "MPI_Comm_get_info");
    return serial_info_give(c->info, info);
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group) {
    CHECK_COMM(c, comm, "MPI_Comm_group");
    (void)c;
    *group = GROUP_OF_ONE;
    return MPI_SUCCESS;
}

int MPI_Comm_get_parent(MPI_Comm *parent) {
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_remote_size(MPI_Comm comm, int *size) {
    (void)size;
    return serial_error(comm, MPI_ERR_COMM, "MPI_Comm_remote_size", "not an inter-communicator");
}

int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group) {
    (void)group;
    return serial_error(comm, MPI_ERR_COMM, "MPI_Comm_remote_group", "not an inter-communicator");
}

int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag,
                         MPI_Comm *made) {
    (void)leader, (void)peer, (void)remote, (void)tag, (void)made;
    return serial_alone(local, "MPI_Intercomm_create", "an inter-communicator");
}

int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm *made) {
    (void)high, (void)made;
    return serial_error(inter, MPI_ERR_COMM, "MPI_Intercomm_merge", "not an inter-communicator");
}

int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm *made, int codes[]) {
    (void)command, (void)argv, (void)maxprocs, (void)info, (void)root, (void)made, (void)codes;
    return serial_alone(comm, "MPI_Comm_spawn", "spawning processes");
}

int MPI_Comm_spawn_multiple(int n, char *commands[], char **argvs[], const int maxprocs[],
                            const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm *made,
                            int codes[]) {
    (void)n, (void)commands, (void)argvs, (void)maxprocs, (void)infos, (void)root, (void)made;
    (void)codes;
    return serial_alone(comm, "MPI_Comm_spawn_multiple", "spawning processes");
}

/* ---- groups: MPI_GROUP_EMPTY, or GROUP_OF_ONE ------------------------------------------------ */

static int is_one(MPI_Group group) {
    return group == GROUP_OF_ONE;
}

/* The groups, or an error raised: use as CHECK_GROUPS(a, b, "MPI_Group_union"). */
static bool is_group(MPI_Group group) {
    return group == MPI_GROUP_EMPTY || group == GROUP_OF_ONE;
}
#define CHECK_GROUPS(a, b, function)                                                               \
    if (!is_group(a) || !is_group(b))                                                              \
    return serial_error(0, MPI_ERR_GROUP, function, "no valid group")

static MPI_Group of_size(int one) {
    return one ? GROUP_OF_ONE : MPI_GROUP_EMPTY;
}

int MPI_Group_size(MPI_Group group, int *size) {
    CHECK_GROUPS(group, group, "MPI_Group_size");
    *size = is_one(group);
    return MPI_SUCCESS;
}

int MPI_Group_rank(MPI_Group group, int *rank) {
    CHECK_GROUPS(group, group, "MPI_Group_rank");
    *rank = is_one(group) ? 0 : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPI_Group_compare(MPI_Group a, MPI_Group b, int *result) {
    CHECK_GROUPS(a, b, "MPI_Group_compare");
    *result = is_one(a) == is_one(b) ? MPI_IDENT : MPI_UNEQUAL;
    return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group from, int n, const int *ranks, MPI_Group to, int *out) {
    CHECK_GROUPS(from, to, "MPI_Group_translate_ranks");
    for (int i = 0; i < n; i++)
        out[i] = ranks[i] == MPI_PROC_NULL                     ? MPI_PROC_NULL
                 : is_one(from) && is_one(to) && ranks[i] == 0 ? 0
                                                               : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPI_Group_union(MPI_Group a, MPI_Group b, MPI_Group *made) {
    CHECK_GROUPS(a, b, "MPI_Group_union");
    *made = of_size(is_one(a) || is_one(b));
    return MPI_SUCCESS;
}

int MPI_Group_intersection(MPI_Group a, MPI_Group b, MPI_Group *made) {
    CHECK_GROUPS(a, b, "MPI_Group_intersection");
    *made = of_size(is_one(a) && is_one(b));
    return MPI_SUCCESS;
}

int MPI_Group_difference(MPI_Group a, MPI_Group b, MPI_Group *made) {
    CHECK_GROUPS(a, b, "MPI_Group_difference");
    *made = of_size(is_one(a) && !is_one(b));
    return MPI_SUCCESS;
}

static int check_ranks(MPI_Group group, int n, const int *ranks, const char *function) {
    for (int i = 0; i < n; i++)
        if (!is_one(group) || ranks[i] != 0 || i > 0)
            return serial_error(0, MPI_ERR_RANK, function, "rank %d is not in the group, or twice",
                                ranks[i]);
    return MPI_SUCCESS;
}

int MPI_Group_incl(MPI_Group group, int n, const int *ranks, MPI_Group *made) {
    CHECK_GROUPS(group, group, "MPI_Group_incl");
    *made = of_size(is_one(group) && n > 0);
    return check_ranks(group, n, ranks, "MPI_Group_incl");
}

int MPI_Group_excl(MPI_Group group, int n, const int *ranks, MPI_Group *made) {
    CHECK_GROUPS(group, group, "MPI_Group_excl");
    *made = of_size(is_one(group) && n <= 0);
    return check_ranks(group, n, ranks, "MPI_Group_excl");
}

static int in_ranges(int n, int ranges[][3]) {
    int zeros = 0;
    for (int i = 0; i < n; i++)
        zeros += ranges[i][2] != 0 && ranges[i][0] == 0;
    return zeros;
}

int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *made) {
    CHECK_GROUPS(group, group, "MPI_Group_range_incl");
    *made = of_size(is_one(group) && in_ranges(n, ranges));
    return MPI_SUCCESS;
}

int MPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *made) {
    CHECK_GROUPS(group, group, "MPI_Group_range_excl");
    *made = of_size(is_one(group) && !in_ranges(n, ranges));
    return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group) {
    CHECK_GROUPS(*group, *group, "MPI_Group_free");
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
