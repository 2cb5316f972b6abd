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

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    attributes();
    types();
    messages();
    windows_and_files(argv[1]);
    MPI_Finalize();
    if (!wrong)
        printf("edges done\n");
    return wrong != 0;
}
