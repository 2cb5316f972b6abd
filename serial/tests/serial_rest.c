/* As serial.c: lines that a real MPI with one rank and libstretto-serial are to print alike. Here:
 * what is kept when the program gives its own away, and what is rarely asked. */
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

/* A hint that is set is the communicator's own: the program's object may go. */
static void hints(void) {
    MPI_Info info, got, other;
    MPI_Comm comm, copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "red");
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    MPI_Info_create(&other);
    MPI_Info_set(other, "colour", "blue");
    MPI_Comm_get_info(comm, &got);
    MPI_Comm_dup_with_info(comm, other, &copy);
    MPI_Info_free(&other);
    MPI_Info_free(&got);
    MPI_Comm_get_info(copy, &got);
    show("hints", (int[]){info == MPI_INFO_NULL, got == MPI_INFO_NULL}, 2);
    MPI_Info_free(&got);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
}

static void buffers(void) {
    char *memory = malloc(10000), *back = NULL;
    int size = 0;
    MPI_Buffer_attach(memory, 10000);
    MPI_Buffer_detach(&back, &size);
    show("buffer", (int[]){back == memory, size}, 2);
    free(memory);
}

static int answers, frees;
static int answer(void *extra, MPI_Status *status) {
    (void)extra;
    answers++;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = 7;
    return MPI_SUCCESS;
}
static int give_up(void *extra) {
    (void)extra;
    frees++;
    return MPI_SUCCESS;
}
static int cancel(void *extra, int complete) {
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

/* Requests whose handles go while they are under way are completed all the same. */
static void freed(void) {
    int a = 5, b = 0, c = 0, flag, count;
    MPI_Request r;
    MPI_Status s;
    MPI_Irecv(&b, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    MPI_Send(&a, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    for (volatile int *come = &b; !*come;) /* nobody tells */
        MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    show("freed receive", (int[]){b, r == MPI_REQUEST_NULL}, 2);
    MPI_Issend(&a, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    MPI_Recv(&c, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    show("freed send", &c, 1);
    MPI_Grequest_start(answer, give_up, cancel, NULL, &r);
    MPI_Request copy = r;
    MPI_Request_free(&r);
    MPI_Grequest_complete(copy);
    show("freed general", &frees, 1);
    MPI_Grequest_start(answer, give_up, cancel, NULL, &r);
    MPI_Grequest_complete(r);
    MPI_Request_get_status(r, &flag, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    show("asked", (int[]){flag, count, s.MPI_TAG, answers}, 4);
    MPI_Wait(&r, &s);
    show("waited", (int[]){answers, frees}, 2);
}

/* Elements of predefined types in what came: whole ones, and cut. */
static void elements(void) {
    struct {
        int a[2];
        double b;
        char c;
    } data[3] = {{{1, 2}, 3, 'x'}, {{4, 5}, 6, 'y'}, {{7, 8}, 9, 'z'}}, got[3];
    MPI_Datatype record, row, bare;
    MPI_Status s;
    int n, whole, packed_size, cut[4] = {4, 8, 16, 17 + 8};
    char packed[100];
    MPI_Type_create_struct(3, (int[]){2, 1, 1}, (MPI_Aint[]){0, 8, 16},
                           (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_CHAR}, &bare);
    MPI_Type_create_resized(bare, 0, sizeof data[0], &record);
    MPI_Type_commit(&record);
    MPI_Type_contiguous(3, record, &row);
    MPI_Type_commit(&row);
    MPI_Sendrecv(data, 3, record, 0, 0, got, 3, record, 0, 0, MPI_COMM_SELF, &s);
    MPI_Get_elements(&s, record, &n);
    MPI_Get_count(&s, record, &whole);
    show("records", (int[]){n, whole, got[2].a[1], got[1].c}, 4);
    MPI_Sendrecv(data, 2, record, 0, 0, got, 1, row, 0, 0, MPI_COMM_SELF, &s);
    MPI_Get_elements(&s, row, &n);
    MPI_Get_count(&s, row, &whole);
    show("part of a row", (int[]){n, whole == MPI_UNDEFINED}, 2);
    packed_size = 0;
    MPI_Pack(data, 3, record, packed, sizeof packed, &packed_size, MPI_COMM_SELF);
    for (int i = 0; i < 4; i++) {
        MPI_Sendrecv(packed, cut[i], MPI_PACKED, 0, 0, got, 3, record, 0, 0, MPI_COMM_SELF, &s);
        MPI_Get_elements(&s, record, &n);
        show("cut", &n, 1);
    }
    MPI_Type_free(&row);
    MPI_Type_free(&record);
    MPI_Type_free(&bare);
}

/* The larger values of pairs, which have a gap, in a window. */
static void pairs(void) {
    struct {
        double value;
        int index;
    } * memory, mine[3] = {{5, 9}, {0, 9}, {7, 9}};
    MPI_Win win;
    MPI_Win_allocate(sizeof mine, sizeof mine[0], MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 3; i++)
        memory[i].value = memory[i].index = i + 1;
    MPI_Win_fence(0, win);
    MPI_Accumulate(mine, 3, MPI_DOUBLE_INT, 0, 0, 3, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 3; i++)
        show("pair", (int[]){(int)memory[i].value, memory[i].index}, 2);
    MPI_Win_free(&win);
}

static void nothing(void) {
    MPI_Errhandler handler;
    MPI_Comm none;
    int zero[1] = {0};
    int rc = MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_get_errhandler(MPI_FILE_NULL, &handler);
    show("files", (int[]){rc == MPI_SUCCESS, handler == MPI_ERRORS_ARE_FATAL}, 2);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Graph_create(MPI_COMM_WORLD, 0, zero, zero, 0, &none);
    show("empty graph", (int[]){none == MPI_COMM_NULL}, 1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    hints();
    buffers();
    freed();
    elements();
    pairs();
    nothing();
    MPI_Finalize();
    return 0;
}
