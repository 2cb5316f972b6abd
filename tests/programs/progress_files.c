/* Cases in which the victim blocks in files (progress_cases.h). The file lies in the current
 * directory. */
#include "progress_cases.h"

static MPI_Comm const W = MPI_COMM_WORLD;
static MPI_File file;

/* A new file each time: Open MPI loses its way when one is made again under the same name at once.
 */
static void open_file(void) {
    static int files;
    char name[64];
    snprintf(name, sizeof name, "progress_cases.%d", files++);
    MPI_File_open(W, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
}
static void in_open(void) {
    open_file();
    MPI_File_close(&file);
}
static void open_close(void) {
    one_is_early(in_open);
}

static void with_file(void (*all)(void)) {
    open_file();
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_Barrier(W);
    one_is_early(all);
    MPI_Barrier(W);
    MPI_File_close(&file);
}

static void in_all(void) {
    static int out[4096], in[4096];
    int n;
    MPI_Status status;
    for (int i = 0; i < 4096; i++)
        out[i] = rank * 4096 + i;
    MPI_File_write_at_all(file, (MPI_Offset)rank * 4096, out, 4096, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    check(n == 4096, "amount written");
    MPI_File_sync(file);
    MPI_Barrier(W);
    MPI_File_sync(file);
    MPI_File_seek(file, (MPI_Offset)rank * 4096, MPI_SEEK_SET);
    MPI_File_read_all(file, in, 4096, MPI_INT, &status);
    check(!memcmp(in, out, sizeof in), "data");
    MPI_File_write_at_all_begin(file, (MPI_Offset)rank * 4096, out, 4096, MPI_INT);
    MPI_File_write_at_all_end(file, out, &status);
    MPI_Request request;
    MPI_File_iwrite_at(file, (MPI_Offset)rank * 4096, out, 4096, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void in_set(void) {
    MPI_Offset n;
    MPI_File_set_size(file, 1 << 16);
    MPI_File_preallocate(file, 1 << 16);
    MPI_File_set_atomicity(file, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_get_size(file, &n);
    check(n >= 1 << 16, "size"); /* Open MPI preallocates whole blocks */
}
static void in_ordered(void) {
    int mine = rank + 1, got = 0;
    MPI_Status status;
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_ordered(file, &mine, 1, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(W);
    MPI_File_sync(file);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(file, &got, 1, MPI_INT, &status);
    check(got == mine, "ordered data");
}

static void collective_io(void) {
    with_file(in_all);
}
static void settings(void) {
    with_file(in_set);
}
static void ordered(void) {
    with_file(in_ordered);
}

/* The one that preallocates comes last: after it, an MPI_File_open of Open MPI (4.1 and 5.0) fails
 * on some ranks and hangs on the others, now and then; on a busy machine most times. */
const progress_case file_cases[] = {
    {"file_open", open_close, 2},
    {"file_all", collective_io, 2},
    {"file_ordered", ordered, 2},
    {"file_set", settings, 2},
    {NULL, NULL, 0},
};
