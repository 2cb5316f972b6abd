/* What once crashed, took seconds or told an error twice under the MPI for one process. Prints
 * "edges done", or each thing that is not as it should be.
 */
#include <mpi.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int wrong, other;

static void expect(int holds, const char *what) {
    if (!holds) {
        printf("not so: %s\n", what);
        wrong++;
    }
}

static int deletes_another(MPI_Comm comm, int key, void *value, void *extra) {
    (void)key, (void)value, (void)extra;
    return other == MPI_KEYVAL_INVALID ? MPI_SUCCESS : MPI_Comm_delete_attr(comm, other);
}

static void attributes(void) {
    MPI_Comm comm;
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deletes_another, &key, NULL);
    MPI_Comm_set_attr(comm, other, &wrong);
    MPI_Comm_set_attr(comm, key, &wrong);
    expect(MPI_Comm_delete_attr(comm, key) == MPI_SUCCESS, "a callback deletes another attribute");
    int there = 1;
    void *value;
    MPI_Comm_get_attr(comm, other, &value, &there);
    expect(!there, "the other attribute is gone");
    MPI_Comm_get_attr(comm, key, &value, &there);
    expect(!there, "its own is gone");
    MPI_Comm_free(&comm);
}

static void types(void) {
    MPI_Datatype large, structure;
    clock_t begin = clock();
    MPI_Type_contiguous(INT_MAX, MPI_BYTE, &large);
    expect(clock() - begin < CLOCKS_PER_SEC, "a type of 2^31 bytes is made at once");
    MPI_Count size = 0;
    MPI_Type_size_x(large, &size);
    expect(size == INT_MAX, "its size");
    MPI_Type_free(&large);
    MPI_Aint lb, extent;
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 16},
                           (MPI_Datatype[]){MPI_DOUBLE_INT, MPI_CHAR}, &structure);
    MPI_Type_get_extent(structure, &lb, &extent);
    expect(extent == 24, "a struct with a pair is padded as the compiler does");
    MPI_Type_free(&structure);
    int position = 12, n = 0;
    char packed[8] = {0};
    expect(MPI_Pack(&n, 1, MPI_INT, packed, 8, &position, MPI_COMM_SELF) != MPI_SUCCESS,
           "packing behind the end is an error");
    expect(MPI_Unpack(packed, 8, &position, &n, 1, MPI_INT, MPI_COMM_SELF) != MPI_SUCCESS,
           "unpacking behind the end, too");
}

static void messages(void) {
    enum { MANY = 50000 };
    MPI_Request *requests = malloc(MANY * sizeof *requests);
    int *received = malloc(MANY * sizeof *received);
    clock_t begin = clock();
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(&received[i], 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Send(&i, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    expect(clock() - begin < 2 * CLOCKS_PER_SEC, "many outstanding receives");
    int in_order = 1;
    for (int i = 0; i < MANY; i++)
        in_order &= received[i] == i;
    expect(in_order, "messages match in the order of posting");
    /* removal at the end of the list, then one more */
    MPI_Request last;
    MPI_Irecv(&received[0], 1, MPI_INT, 0, 8, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(&received[1], 1, MPI_INT, 0, 9, MPI_COMM_SELF, &last);
    MPI_Cancel(&last);
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    MPI_Irecv(&received[2], 1, MPI_INT, 0, 10, MPI_COMM_SELF, &requests[1]);
    int ten = 10, eight = 8;
    MPI_Send(&ten, 1, MPI_INT, 0, 10, MPI_COMM_SELF);
    MPI_Send(&eight, 1, MPI_INT, 0, 8, MPI_COMM_SELF);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(received[2] == 10 && received[0] == 8, "receives after a cancelled one");
    /* one that is too short: told where it is completed */
    MPI_Send((int[]){1, 2}, 2, MPI_INT, 0, 11, MPI_COMM_SELF);
    expect(MPI_Irecv(&received[0], 1, MPI_INT, 0, 11, MPI_COMM_SELF, &last) == MPI_SUCCESS,
           "Irecv itself has no truncation error");
    int class = MPI_SUCCESS, rc = MPI_Wait(&last, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    expect(class == MPI_ERR_TRUNCATE, "its Wait has");
    free(requests);
    free(received);
}

static void windows_and_files(const char *path) {
    MPI_Comm comm;
    MPI_Win win;
    MPI_Group group;
    int memory = 0, size = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
    MPI_Comm_free(&comm);
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &size);
    expect(size == 1, "the group of a window whose communicator is gone");
    MPI_Errhandler handler;
    MPI_Win_get_errhandler(win, &handler);
    expect(handler == MPI_ERRORS_ARE_FATAL, "a window's own error handler");
    MPI_Group_free(&group);
    MPI_Win_free(&win);
    MPI_File file;
    MPI_Datatype vector;
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, vector, "native", MPI_INFO_NULL);
    MPI_Offset byte;
    expect(MPI_File_read_at(file, -1, &memory, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS,
           "reading before the view is an error");
    expect(MPI_File_get_byte_offset(file, -1, &byte) != MPI_SUCCESS, "so is asking for the byte");
    MPI_File_close(&file);
    MPI_Type_free(&vector);
}

static int class_of(int code) {
    int class_;
    MPI_Error_class(code, &class_);
    return class_;
}

static int asked(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int freed_badly(void *extra) {
    (void)extra;
    return MPI_ERR_OTHER;
}

static int cancelled(void *extra, int complete) {
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void wrong_arguments(void) {
    MPI_Datatype type;
    MPI_Request request = 12345;
    MPI_Status status;
    MPI_Message message;
    MPI_Comm comm;
    char port[MPI_MAX_PORT_NAME];
    int x = 1, flag, size[2] = {4, 4}, grid[2] = {2, 1}, no[2] = {-1, -1},
        block[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
    MPI_Aint at = 0, packed = 0;
    expect(class_of(MPI_Type_vector(2, -1, 3, MPI_INT, &type)) == MPI_ERR_ARG,
           "blocks of a negative length");
    expect(class_of(MPI_Type_create_struct(1, (int[]){-2}, &at, (MPI_Datatype[]){MPI_INT},
                                           &type)) == MPI_ERR_ARG,
           "a struct with one");
    expect(class_of(MPI_Type_create_darray(4, 0, 2, size, block, no, grid, MPI_ORDER_C, MPI_INT,
                                           &type)) == MPI_ERR_ARG,
           "a grid of fewer places than ranks");
    expect(class_of(MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &type)) == MPI_ERR_ARG,
           "no real number has 5 bytes");
    expect(class_of(MPI_Type_create_f90_real(99, MPI_UNDEFINED, &type)) == MPI_ERR_ARG,
           "none has 99 digits");
    expect(class_of(MPI_Wait(&request, &status)) == MPI_ERR_REQUEST, "a request that is none");
    expect(class_of(MPI_Testall(1, &request, &flag, &status)) == MPI_ERR_REQUEST, "one of several");
    MPI_Send(&x, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    MPI_Mprobe(0, 2, MPI_COMM_SELF, &message, &status);
    expect(class_of(MPI_Mrecv(&x, -1, MPI_INT, &message, &status)) == MPI_ERR_COUNT,
           "a matched message with a negative count");
    MPI_Mrecv(&x, 1, MPI_INT, &message, &status);
    expect(MPI_Comm_get_attr(MPI_COMM_SELF, 4711, &port, &flag) != MPI_SUCCESS,
           "a key value that is none");
    expect(MPI_Comm_connect("port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm) != MPI_SUCCESS &&
               MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS,
           "nobody can be found");
    expect(class_of(MPI_Add_error_string(MPI_ERR_COMM, "mine")) == MPI_ERR_ARG,
           "texts of the library's own classes are not the program's");
    MPI_Errhandler nothing = MPI_ERRHANDLER_NULL;
    expect(class_of(MPI_Win_call_errhandler(MPI_WIN_NULL, 1)) == MPI_ERR_WIN &&
               class_of(MPI_Comm_call_errhandler(MPI_COMM_NULL, 0)) == MPI_ERR_COMM,
           "handlers of what is not there");
    expect(class_of(MPI_Comm_set_errhandler(MPI_COMM_SELF, nothing)) == MPI_ERR_ARG &&
               class_of(MPI_Errhandler_free(&nothing)) == MPI_ERR_ARG,
           "a handler that is none");
    MPI_Group group;
    expect(class_of(MPI_Group_size(MPI_GROUP_NULL, &x)) == MPI_ERR_GROUP &&
               class_of(MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_NULL, &group)) == MPI_ERR_GROUP,
           "a group that is none");
    expect(class_of(MPI_Intercomm_merge(MPI_COMM_SELF, 0, &comm)) == MPI_ERR_COMM,
           "merging what is no inter-communicator");
    MPI_Grequest_start(asked, freed_badly, cancelled, NULL, &request);
    MPI_Grequest_complete(request);
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_OTHER,
           "what freeing a generalised request gives");
    long large = 1L << 40;
    char external[8];
    expect(class_of(MPI_Pack_external("external32", &large, 1, MPI_LONG, external, 8, &packed)) ==
               MPI_ERR_CONVERSION,
           "a long that has no place in external32");
    expect(class_of(MPI_Pack_external("native", &x, 1, MPI_INT, external, 8, &packed)) ==
               MPI_ERR_ARG,
           "another representation");
}

/* Where MPIs differ, or none is as the standard has it. */
static void by_the_standard(const char *path) {
    int dims[2] = {0, 0};
    MPI_Dims_create(72, 2, dims);
    expect(dims[0] == 9 && dims[1] == 8, "dimensions as close as they can be");
    clock_t begin = clock();
    int five[5] = {0}, seven[7] = {0}, product = 1;
    MPI_Dims_create(1073741824, 5, five);
    expect(five[0] == 64 && five[4] == 64, "2^30 ranks in five directions");
    MPI_Dims_create(2095133040, 7, seven); /* of which there are most divisors */
    for (int i = 0; i < 7; i++)
        product *= seven[i];
    expect(product == 2095133040 && seven[0] - seven[6] == 10, "in seven");
    expect(clock() - begin < CLOCKS_PER_SEC, "found at once");
    /* a part of a pair counts as one element (section 4.1.11) */
    MPI_Datatype three;
    MPI_Status status;
    struct {
        double a;
        int b, gap;
    } pairs[2] = {{1, 2, 0}, {3, 4, 0}}, got[2];
    int count;
    MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 8, 16},
                           (MPI_Datatype[]){MPI_DOUBLE, MPI_INT, MPI_DOUBLE}, &three);
    MPI_Sendrecv(pairs, 1, three, 0, 0, got, 2, MPI_DOUBLE_INT, 0, 0, MPI_COMM_SELF, &status);
    MPI_Get_elements(&status, MPI_DOUBLE_INT, &count);
    expect(count == 3 && got[1].a == 3, "three elements of two pairs");
    MPI_Type_free(&three);
    /* nobody needs a datatype */
    MPI_Request request;
    expect(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_SELF, &request) ==
                   MPI_SUCCESS &&
               MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
           "a receive from MPI_PROC_NULL");
    MPI_Comm graph;
    int weighted, in, out;
    MPI_Dist_graph_create(MPI_COMM_SELF, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                          &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    expect(!in && !out && weighted, "a graph without edges is weighted, if it is said so");
    MPI_Comm_free(&graph);
    /* an explicit upper bound holds whatever else lies behind it (MPI-3.1 section 4.1.7) */
    MPI_Datatype inner, made;
    MPI_Aint lb, extent;
    MPI_Type_create_resized(MPI_DOUBLE, 0, 12, &inner);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 12}, (MPI_Datatype[]){inner, MPI_CHAR},
                           &made);
    MPI_Type_get_extent(made, &lb, &extent);
    expect(lb == 0 && extent == 12, "explicit bounds of a part");
    MPI_Type_free(&made);
    MPI_Type_free(&inner);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 15, &inner);
    MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){0}, &inner, &made);
    MPI_Type_get_extent(made, &lb, &extent);
    expect(lb == 0 && extent == 15, "no padding behind explicit bounds");
    MPI_Type_free(&made);
    MPI_Type_free(&inner);
    /* the grid of ranks is in C order also where the array is not (section 4.1.4) */
    int all[24], taken[4], position = 0;
    for (int i = 0; i < 24; i++)
        all[i] = i;
    MPI_Type_create_darray(
        4, 1, 2, (int[]){4, 6}, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
        (int[]){MPI_DISTRIBUTE_DFLT_DARG, 2}, (int[]){2, 2}, MPI_ORDER_FORTRAN, MPI_INT, &made);
    MPI_Pack(all, 1, made, taken, sizeof taken, &position, MPI_COMM_SELF);
    expect(position == 16 && taken[0] == 8 && taken[1] == 9 && taken[2] == 12 && taken[3] == 13,
           "a part of an array in Fortran's order");
    MPI_Type_free(&made);
    /* two bytes of each eight; the file ends with the first byte of the third tile */
    MPI_File file;
    MPI_Offset end;
    MPI_Type_contiguous(2, MPI_BYTE, &inner);
    MPI_Type_create_resized(inner, 0, 8, &made);
    MPI_Type_commit(&made);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 17);
    MPI_File_set_view(file, 0, MPI_BYTE, made, "native", MPI_INFO_NULL);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &end);
    expect(end == 5, "the end of a view within a tile");
    MPI_Datatype falling;
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){3, 2}, MPI_INT, &falling);
    expect(class_of(MPI_File_set_view(file, 0, MPI_INT, falling, "native", MPI_INFO_NULL)) ==
               MPI_ERR_IO,
           "displacements of a view must not fall");
    MPI_Type_free(&falling);
    MPI_File_seek_shared(file, 3, MPI_SEEK_SET);
    MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_get_byte_offset(file, 0, &end);
    expect(end == 9, "a view from where the shared pointer stands");
    MPI_File_close(&file);
    MPI_Type_free(&made);
    MPI_Type_free(&inner);
    /* the widest numbers there are, in external32 and back */
    char packed[16];
    long double wide = 1.0L / 3, back = 0;
    MPI_Aint size, at = 0;
    MPI_Pack_external_size("external32", 1, MPI_LONG_DOUBLE, &size);
    MPI_Pack_external("external32", &wide, 1, MPI_LONG_DOUBLE, packed, 16, &at);
    at = 0;
    MPI_Unpack_external("external32", packed, 16, &at, &back, 1, MPI_LONG_DOUBLE);
    expect(size == 16 && at == 16 && back == wide, "a long double in external32");
    long number = -5, again = 0;
    at = 0;
    MPI_Pack_external("external32", &number, 1, MPI_LONG, packed, 16, &at);
    expect(at == 4, "a long has 4 bytes there");
    at = 0;
    MPI_Unpack_external("external32", packed, 16, &at, &again, 1, MPI_LONG);
    expect(again == -5, "and comes back with its sign");
}

/* A view of many pieces, and data in external32. */
static void views(const char *path) {
    enum { MANY = 200000 };
    MPI_File file;
    MPI_Datatype odd;
    int *data = malloc(MANY * sizeof *data), *back = malloc(MANY * sizeof *back), same = 1;
    for (int i = 0; i < MANY; i++)
        data[i] = i;
    MPI_Type_vector(MANY, 1, 2, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, odd, "native", MPI_INFO_NULL);
    clock_t begin = clock();
    MPI_File_write_at(file, 0, data, MANY, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, back, MANY, MPI_INT, MPI_STATUS_IGNORE);
    expect(clock() - begin < 5 * CLOCKS_PER_SEC, "a view of many pieces");
    for (int i = 0; i < MANY; i++)
        same &= data[i] == back[i];
    expect(same, "its data");
    MPI_File_set_size(file, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
    int two[2] = {1, -2}, got[3] = {7, 7, 7};
    unsigned char bytes[8];
    MPI_Status status;
    int count;
    MPI_File_write_at(file, 0, two, 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, got, 3, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 2 && got[0] == 1 && got[1] == -2 && got[2] == 7, "external32, there and back");
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, 0, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(bytes[3] == 1 && bytes[4] == 0xff && bytes[7] == 0xfe, "big endian in the file");
    expect(class_of(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL)) ==
               MPI_ERR_UNSUPPORTED_DATAREP,
           "but not of longs");
    MPI_File_close(&file);
    MPI_Type_free(&odd);
    free(data);
    free(back);
}

/* Which Open MPI 4 has not. */
static void statuses_of_mpi_f08(void) {
    MPI_Status status = {.MPI_SOURCE = 3, .MPI_TAG = 4, .MPI_ERROR = 5}, back = {0};
    MPI_F08_status f08 = {0};
    MPI_Fint fortran[6] = {0};
    MPI_Status_c2f08(&status, &f08);
    MPI_Status_f082f(&f08, fortran);
    expect(fortran[0] == 3 && fortran[1] == 4 && fortran[2] == 5, "a status for mpif.h");
    fortran[1] = 9;
    MPI_Status_f2f08(fortran, &f08);
    MPI_Status_f082c(&f08, &back);
    expect(back.MPI_SOURCE == 3 && back.MPI_TAG == 9, "and back");
    expect(MPI_Status_f082c(MPI_F08_STATUS_IGNORE, &back) == MPI_ERR_ARG, "none to translate");
}

static void many_sends(void) {
    enum { MANY = 100000 };
    clock_t begin = clock();
    for (int i = 0; i < MANY; i++)
        MPI_Send(&i, 1, MPI_INT, 0, 8, MPI_COMM_SELF);
    int x, in_order = 1;
    for (int i = 0; i < MANY; i++) {
        MPI_Recv(&x, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        in_order &= x == i;
    }
    expect(clock() - begin < 2 * CLOCKS_PER_SEC, "many sends before their receives");
    expect(in_order, "received in the order of sending");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    attributes();
    types();
    messages();
    windows_and_files(argv[1]);
    wrong_arguments();
    by_the_standard(argv[1]);
    views(argv[1]);
    statuses_of_mpi_f08();
    many_sends();
    MPI_Finalize();
    if (!wrong)
        printf("edges done\n");
    return wrong != 0;
}
