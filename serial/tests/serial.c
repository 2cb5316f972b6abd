/* What a program of one rank sees of MPI, printed: the same lines are to come from a real MPI with
 * one rank and from libstretto-serial. Nothing that an MPI may choose (handles, addresses, names)
 * is printed. "serial FILE": FILE is written and read back. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *name, const int *values, int n) {
    printf("%s", name);
    for (int i = 0; i < n; i++)
        printf(" %d", values[i]);
    printf("\n");
}

static void messages(void) {
    int a[4] = {1, 2, 3, 4}, b[4] = {0}, flag, count;
    MPI_Status s;
    MPI_Request r[3];
    MPI_Isend(a, 3, MPI_INT, 0, 7, MPI_COMM_SELF, &r[0]);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &s);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    show("probe", (int[]){flag, s.MPI_SOURCE, s.MPI_TAG, count}, 4);
    MPI_Recv(b, 4, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    show("recv", (int[]){b[0], b[1], b[2], b[3], count}, 5);
    /* posted first, two tags, out of order */
    MPI_Irecv(b, 4, MPI_INT, 0, 2, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(b + 2, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Test(&r[0], &flag, &s);
    show("early", &flag, 1);
    MPI_Isend(a + 3, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Ssend(a, 2, MPI_INT, 0, 2, MPI_COMM_WORLD);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    show("waitall", b, 4);
    MPI_Request_get_status(r[0], &flag, &s);
    show("null", (int[]){flag, s.MPI_SOURCE == MPI_ANY_SOURCE, s.MPI_TAG == MPI_ANY_TAG}, 3);
    MPI_Sendrecv(a, 4, MPI_INT, 0, 0, b, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    show("proc_null", (int[]){s.MPI_SOURCE == MPI_PROC_NULL, count, b[0]}, 3);
    /* persistent, twice; cancel; a matched probe */
    MPI_Recv_init(b, 2, MPI_INT, 0, 9, MPI_COMM_WORLD, &r[0]);
    MPI_Send_init(a, 2, MPI_INT, 0, 9, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 2; i++) {
        a[0] = 40 + i;
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        show("persistent", b, 2);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Irecv(b, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Cancel(&r[0]);
    MPI_Wait(&r[0], &s);
    MPI_Test_cancelled(&s, &flag);
    show("cancelled", &flag, 1);
    MPI_Message message;
    MPI_Isend(a, 4, MPI_INT, 0, 6, MPI_COMM_WORLD, &r[0]);
    MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, &s);
    MPI_Iprobe(0, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Mrecv(b, 4, MPI_INT, &message, &s);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    show("mprobe", (int[]){flag, b[0], b[3], message == MPI_MESSAGE_NULL}, 4);
    int index, indices[2];
    MPI_Irecv(b, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[1]);
    MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
    show("waitany", &index, 1);
    MPI_Testsome(2, r, &count, indices, MPI_STATUSES_IGNORE);
    show("testsome", &count, 1);
    MPI_Send(a, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Waitsome(2, r, &count, indices, MPI_STATUSES_IGNORE);
    show("waitsome", (int[]){count, indices[0]}, 2);
    MPI_Waitsome(2, r, &count, indices, MPI_STATUSES_IGNORE);
    show("waitsome none", (int[]){count == MPI_UNDEFINED}, 1);
}

static void twice(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += 2 * ((int *)in)[i];
}

static void collectives(void) {
    int a[4] = {5, 6, 7, 8}, b[8] = {0}, zero = 0, three = 3, one = 1;
    struct {
        double value;
        int index;
    } pair[2] = {{1.5, 3}, {1.5, 1}};
    MPI_Op op;
    MPI_Request r;
    MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    show("allreduce", b, 4);
    MPI_Reduce(MPI_IN_PLACE, a, 4, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(a, 3, MPI_INT, b, &three, &one, MPI_INT, MPI_COMM_WORLD);
    show("allgatherv", b, 5);
    MPI_Alltoallv(a, &three, &one, MPI_INT, b, &three, &zero, MPI_INT, MPI_COMM_WORLD);
    show("alltoallv", b, 4);
    /* no displacement: Open MPI 4 and 5 count it in elements on one rank */
    MPI_Alltoallw(a, &one, &zero, &(MPI_Datatype){MPI_INT}, b + 2, &one, &zero,
                  &(MPI_Datatype){MPI_INT}, MPI_COMM_WORLD);
    show("alltoallw", b, 4);
    MPI_Scan(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(a + 2, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(a, b + 4, (int[]){2}, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    show("scan", b, 6);
    MPI_Iallreduce(a, b, 1, MPI_INT, MPI_BXOR, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Op_create(twice, 0, &op);
    MPI_Reduce_local(a, b, 2, MPI_INT, op);
    MPI_Op_free(&op);
    show("user op", b, 2);
    MPI_Reduce_local(&pair[0], &pair[1], 1, MPI_DOUBLE_INT, MPI_MAXLOC);
    show("maxloc", &pair[1].index, 1);
    for (int i = 0; i < 2; i++)
        b[i] = 12;
    MPI_Reduce_local(a, b, 1, MPI_INT, MPI_LAND);
    MPI_Reduce_local(a + 1, b + 1, 1, MPI_INT, MPI_BAND);
    show("logical", b, 2);
}

static void datatypes(void) {
    int m[4][6], out[24], packed[24], position = 0, size, ints[10], n[4];
    MPI_Datatype column, block, record, back[4];
    MPI_Aint lb, extent, aints[4];
    for (int i = 0; i < 24; i++)
        m[i / 6][i % 6] = i;
    MPI_Type_vector(4, 2, 6, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_get_extent(column, &lb, &extent);
    MPI_Type_size(column, &size);
    show("vector", (int[]){(int)lb, (int)extent, size}, 3);
    MPI_Sendrecv(&m[0][1], 1, column, 0, 0, out, 8, MPI_INT, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    show("column", out, 8);
    MPI_Type_create_subarray(2, (int[]){4, 6}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_C, MPI_INT,
                             &block);
    MPI_Type_commit(&block);
    MPI_Pack(m, 1, block, packed, sizeof packed, &position, MPI_COMM_SELF);
    MPI_Type_get_extent(block, &lb, &extent);
    show("subarray",
         (int[]){position, (int)lb, (int)extent, packed[0], packed[2], packed[3], packed[5]}, 7);
    MPI_Type_create_subarray(2, (int[]){4, 6}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_FORTRAN,
                             MPI_INT, &record);
    MPI_Type_commit(&record);
    position = 0;
    MPI_Pack(m, 1, record, packed, sizeof packed, &position, MPI_COMM_SELF);
    show("fortran order", packed, 6);
    MPI_Type_free(&record);
    MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){0, 8, -8},
                           (MPI_Datatype[]){MPI_INT, MPI_CHAR, MPI_DOUBLE}, &record);
    MPI_Type_get_extent(record, &lb, &extent);
    MPI_Type_size(record, &size);
    show("struct", (int[]){(int)lb, (int)extent, size}, 3);
    MPI_Type_get_true_extent(record, &lb, &extent);
    show("true", (int[]){(int)lb, (int)extent}, 2);
    MPI_Type_get_envelope(record, &n[0], &n[1], &n[2], &n[3]);
    MPI_Type_get_contents(record, n[0], n[1], n[2], ints, aints, back);
    show("contents",
         (int[]){n[0], n[1], n[2], ints[0], ints[2], (int)aints[2], back[1] == MPI_CHAR,
                 n[3] == MPI_COMBINER_STRUCT},
         8);
    MPI_Type_free(&record);
    MPI_Type_create_resized(MPI_INT, -4, 16, &record);
    MPI_Type_commit(&record);
    memset(out, -1, sizeof out);
    MPI_Sendrecv(m, 3, MPI_INT, 0, 0, out + 1, 3, record, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    show("resized", out, 12);
    MPI_Type_free(&record);
    MPI_Type_indexed(3, (int[]){2, 0, 1}, (int[]){3, 9, 0}, MPI_INT, &record);
    MPI_Type_commit(&record);
    position = 0;
    MPI_Pack(m, 2, record, packed, sizeof packed, &position, MPI_COMM_SELF);
    show("indexed", packed, 6);
    position = 0;
    memset(out, -1, sizeof out);
    MPI_Unpack(packed, sizeof packed, &position, out, 2, record, MPI_COMM_SELF);
    show("unpack", out, 11);
    MPI_Type_free(&record);
    MPI_Type_free(&block);
    MPI_Type_free(&column);
}

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *to, int *flag) {
    (void)comm, (void)key, (void)extra;
    copied++;
    *(void **)to = (char *)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int removed(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void communicators(void) {
    MPI_Comm dup, none, grid, line;
    MPI_Group world, empty, both;
    int key, flag, result, dims[3] = {0, 0, 0}, coords[2], periods[2], source, target, rank;
    char base[4], *value;
    MPI_Comm_create_keyval(copy, removed, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, base);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_attr(dup, key, &value, &flag);
    MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
    show("dup", (int[]){flag, (int)(value - base), result == MPI_CONGRUENT, copied, deleted}, 5);
    MPI_Comm_free(&dup);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    show("freed", (int[]){dup == MPI_COMM_NULL, copied, deleted}, 3);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &none);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, (int[]){0}, &empty);
    MPI_Group_union(world, empty, &both);
    MPI_Group_size(empty, &source);
    MPI_Group_compare(world, both, &result);
    MPI_Group_rank(empty, &rank);
    show("groups",
         (int[]){none == MPI_COMM_NULL, source, result == MPI_IDENT, rank == MPI_UNDEFINED}, 4);
    MPI_Group_free(&world);
    if (both != MPI_GROUP_NULL)
        MPI_Group_free(&both);
    MPI_Dims_create(24, 3, dims);
    show("dims", dims, 3);
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){1, 1}, (int[]){1, 0}, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &source, &target);
    show("shift", (int[]){source, target}, 2);
    MPI_Cart_shift(grid, 1, 1, &source, &target);
    show("shift", (int[]){source == MPI_PROC_NULL, target == MPI_PROC_NULL}, 2);
    MPI_Cart_get(grid, 2, dims, periods, coords);
    show("cart", (int[]){dims[0], dims[1], periods[0], periods[1], coords[0]}, 5);
    MPI_Cart_sub(grid, (int[]){0, 1}, &line);
    MPI_Cartdim_get(line, &result);
    show("sub", &result, 1);
    int halo[4] = {1, 2, 3, 4}, got[4] = {9, 9, 9, 9};
    MPI_Neighbor_allgather(halo, 1, MPI_INT, got, 1, MPI_INT, grid);
    show("neighbours", got, 4);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
}

static void errors(void) {
    int a[2] = {1, 2}, b[1], code, error_class;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Send(a, 1, MPI_INT, 5, 0, comm);
    MPI_Error_class(code, &error_class);
    show("rank", (int[]){error_class == MPI_ERR_RANK}, 1);
    code = MPI_Bcast(a, 1, MPI_INT, 3, comm);
    MPI_Error_class(code, &error_class);
    show("root", (int[]){error_class == MPI_ERR_ROOT}, 1);
    MPI_Request r;
    MPI_Isend(a, 2, MPI_INT, 0, 0, comm, &r);
    code = MPI_Recv(b, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &error_class);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    show("truncate", (int[]){error_class == MPI_ERR_TRUNCATE, b[0]}, 2);
    MPI_Comm_free(&comm);
}

static void windows(void) {
    int *memory, value = 5, old = 0, compare = 6, unit;
    MPI_Win win;
    MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 8 * sizeof(int));
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Fetch_and_op(&(int){1}, &old, MPI_INT, 0, 3, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Compare_and_swap(&(int){40}, &compare, &unit, MPI_INT, 0, 3, win);
    MPI_Win_unlock(0, win);
    show("window", (int[]){memory[3], old, unit}, 3);
    MPI_Win_fence(0, win);
    MPI_Accumulate((int[]){2, 3}, 2, MPI_INT, 0, 2, 2, MPI_INT, MPI_PROD, win);
    MPI_Win_fence(0, win);
    show("accumulate", memory, 5);
    MPI_Win_free(&win);
}

static void files(const char *name) {
    int a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {0}, count;
    MPI_File f;
    MPI_Datatype odd;
    MPI_Offset at, size;
    MPI_Status s;
    int rc = MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    MPI_Error_class(rc, &rc);
    show("missing", (int[]){rc == MPI_ERR_NO_SUCH_FILE}, 1);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_size(f, 0);
    MPI_Type_vector(2, 1, 2, MPI_INT, &odd);
    MPI_Type_create_resized(odd, 0, 4 * sizeof(int), &odd);
    MPI_Type_commit(&odd);
    MPI_File_set_view(f, 4, MPI_INT, odd, "native", MPI_INFO_NULL);
    MPI_File_write(f, a, 3, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_position(f, &at);
    MPI_File_get_size(f, &size);
    show("view", (int[]){(int)at, (int)size}, 2);
    MPI_File_write_at(f, 3, a + 3, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_read_at(f, 1, b, 5, MPI_INT, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    show("read", (int[]){count, b[0], b[2], b[4]}, 4);
    MPI_File_seek(f, -2, MPI_SEEK_END);
    MPI_File_read(f, b, 6, MPI_INT, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    show("end", (int[]){count, b[1]}, 2);
    MPI_File_close(&f);
    MPI_File_delete(name, MPI_INFO_NULL);
}

int main(int argc, char **argv) {
    int size, rank, flag, length, keys;
    char text[MPI_MAX_ERROR_STRING], value[20];
    MPI_Info info;
    MPI_Initialized(&flag);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    show("init", (int[]){flag, size, rank}, 3);
    double start = MPI_Wtime();
    messages();
    collectives();
    datatypes();
    communicators();
    errors();
    windows();
    files(argv[1]);
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "red");
    MPI_Info_get(info, "colour", 19, value, &flag);
    MPI_Info_get_nkeys(info, &keys);
    printf("info %d %s %d\n", flag, value, keys);
    MPI_Info_free(&info);
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    show("time", (int[]){MPI_Wtime() >= start, length > 0}, 2);
    MPI_Finalize();
    MPI_Finalized(&flag);
    show("finalized", &flag, 1);
    return 0;
}
