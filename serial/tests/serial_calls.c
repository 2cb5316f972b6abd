/* The calls of MPI-3.1 that few programs use, with one rank: what a program prints must be the same
 * with the serial library and with a real MPI. argv[1]: a file to be made. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int seen_code, seen_class;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    seen_code++;
    MPI_Error_class(*code, &seen_class);
}

static void win_handler(MPI_Win *win, int *code, ...) {
    (void)win;
    MPI_Error_class(*code, &seen_class);
}

static void file_handler(MPI_File *file, int *code, ...) {
    (void)file;
    MPI_Error_class(*code, &seen_class);
}

static void errors(void) {
    int class_, code, of_code, length, *last, flag;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler h;
    MPI_Add_error_class(&class_);
    MPI_Add_error_code(class_, &code);
    MPI_Add_error_string(code, "the tank is empty");
    MPI_Error_class(code, &of_code);
    MPI_Error_string(code, text, &length);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    printf("added: above %d, class of code %d, text '%s' %d, last used %d\n",
           class_ > MPI_ERR_LASTCODE, of_code == class_, text, length, flag && *last >= class_);
    MPI_Error_string(class_, text, &length);
    MPI_Comm_create_errhandler(handler, &h);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, h);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    printf("called: %d, class %d\n", seen_code, seen_class == class_);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&h);
}

static void sizes(void) {
    static const struct {
        int class_, size;
    } wanted[] = {{MPI_TYPECLASS_INTEGER, 4}, {MPI_TYPECLASS_INTEGER, 8},
                  {MPI_TYPECLASS_REAL, 4},    {MPI_TYPECLASS_REAL, 8},
                  {MPI_TYPECLASS_COMPLEX, 8}, {MPI_TYPECLASS_COMPLEX, 16}};
    for (int i = 0; i < 6; i++) {
        MPI_Datatype type;
        int size;
        MPI_Type_match_size(wanted[i].class_, wanted[i].size, &type);
        MPI_Type_size(type, &size);
        printf("match %d ", size);
    }
    MPI_Datatype type;
    MPI_Count lb, extent;
    MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &type);
    MPI_Type_get_extent_x(type, &lb, &extent);
    printf("extent_x %lld %lld ", (long long)lb, (long long)extent);
    MPI_Type_get_true_extent_x(type, &lb, &extent);
    printf("true %lld %lld\n", (long long)lb, (long long)extent);
    MPI_Type_free(&type);
}

static void f90(void) {
    MPI_Datatype a, b, c;
    int size, n, m, k, combiner, ints[2];
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &a);
    MPI_Type_create_f90_complex(6, 30, &b);
    MPI_Type_create_f90_integer(9, &c);
    MPI_Type_size(a, &size);
    printf("f90 %d", size);
    MPI_Type_size(b, &size);
    printf(" %d", size);
    MPI_Type_size(c, &size);
    printf(" %d", size);
    MPI_Type_get_envelope(b, &n, &m, &k, &combiner);
    printf(" envelope %d %d %d %d", n, m, k, combiner == MPI_COMBINER_F90_COMPLEX);
    MPI_Type_get_contents(b, n, 0, 0, ints, NULL, NULL);
    double x[2] = {1.5, -2.5}, y[2] = {0, 0};
    MPI_Sendrecv(x, 2, a, 0, 1, y, 2, a, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    printf(" contents %d %d, sent %g %g\n", ints[0], ints[1], y[0], y[1]);
}

/* The numbers of an array that a type of it takes. */
static void show(const char *what, MPI_Datatype type, int n) {
    int all[64], taken[64], size, position = 0;
    MPI_Aint lb, extent;
    for (int i = 0; i < 64; i++)
        all[i] = i;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Pack(all, n, type, taken, sizeof taken, &position, MPI_COMM_SELF);
    printf("%s: %d bytes, lb %ld, extent %ld:", what, size, (long)lb, (long)extent);
    for (int i = 0; i < position / 4; i++)
        printf(" %d", taken[i]);
    printf("\n");
    MPI_Type_free(&type);
}

static void darrays(void) {
    int sizes_[2] = {4, 6}, grid[2] = {2, 2}, dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2},
        how[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    MPI_Datatype type;
    for (int rank = 0; rank < 4; rank++) {
        char what[40];
        snprintf(what, sizeof what, "darray C rank %d", rank);
        MPI_Type_create_darray(4, rank, 2, sizes_, how, dargs, grid, MPI_ORDER_C, MPI_INT, &type);
        show(what, type, 1);
    }
    int one[2] = {1, 3}, part[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK},
        no[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(3, 2, 2, sizes_, part, no, one, MPI_ORDER_C, MPI_INT, &type);
    int n, m, k, combiner;
    MPI_Type_get_envelope(type, &n, &m, &k, &combiner);
    printf("envelope %d %d %d %d\n", n, m, k, combiner == MPI_COMBINER_DARRAY);
    show("darray none, block", type, 1);
}

static void bounds(void) {
    MPI_Aint lb, extent;
    MPI_Datatype made;
    int lengths[2] = {1, 1};
    MPI_Aint where[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR};
    MPI_Type_create_struct(2, lengths, where, types, &made);
    MPI_Type_get_extent(made, &lb, &extent);
    printf("struct with a gap at the end: %ld %ld\n", (long)lb, (long)extent);
    MPI_Type_free(&made);
}

static void external(void) {
    unsigned char packed[64] = {0};
    int in[2] = {1, -2}, out[2] = {0, 0};
    double x = -1.5, y = 0;
    short s = 258, t = 0;
    MPI_Aint size, position = 0;
    MPI_Pack_external_size("external32", 2, MPI_INT, &size);
    printf("external32: size %ld,", (long)size);
    MPI_Pack_external("external32", in, 2, MPI_INT, packed, sizeof packed, &position);
    MPI_Pack_external("external32", &x, 1, MPI_DOUBLE, packed, sizeof packed, &position);
    MPI_Pack_external("external32", &s, 1, MPI_SHORT, packed, sizeof packed, &position);
    for (int i = 0; i < position; i++)
        printf(" %02x", packed[i]);
    position = 0;
    MPI_Unpack_external("external32", packed, sizeof packed, &position, out, 2, MPI_INT);
    MPI_Unpack_external("external32", packed, sizeof packed, &position, &y, 1, MPI_DOUBLE);
    MPI_Unpack_external("external32", packed, sizeof packed, &position, &t, 1, MPI_SHORT);
    printf("; back %d %d %g %d, at %ld\n", out[0], out[1], y, t, (long)position);
}

static int deleted;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra) {
    (void)win, (void)keyval;
    deleted += *(int *)value + *(int *)extra;
    return MPI_SUCCESS;
}

static void windows(void) {
    int keyval, extra = 100, value = 7, *got, flag, other = 3, before = 0;
    int *base;
    MPI_Win win;
    MPI_Info info;
    MPI_Request request;
    MPI_Errhandler h;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &base, &win);
    base[1] = 40;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, &extra);
    MPI_Win_set_attr(win, keyval, &value);
    MPI_Win_get_attr(win, keyval, &got, &flag);
    printf("window: attribute %d %d", flag, *got);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &got, &flag);
    printf(", unit %d", *got);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    printf(", info %d", info != MPI_INFO_NULL);
    MPI_Info_free(&info);
    MPI_Win_lock_all(0, win);
    MPI_Rget_accumulate(&other, 1, MPI_INT, &before, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win,
                        &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush_all(win);
    printf(", rget_accumulate %d %d", before, base[1]);
    MPI_Win_unlock_all(win);
    MPI_Win_create_errhandler(win_handler, &h);
    MPI_Win_set_errhandler(win, h);
    MPI_Win_call_errhandler(win, MPI_ERR_BASE);
    printf(", handler %d", seen_class == MPI_ERR_BASE);
    MPI_Win_delete_attr(win, keyval);
    MPI_Win_get_attr(win, keyval, &got, &flag);
    printf(", deleted %d %d", deleted, flag);
    MPI_Win_set_attr(win, keyval, &value);
    MPI_Win_free_keyval(&keyval);
    MPI_Win_free(&win);
    printf(", with the window %d\n", deleted);
    MPI_Errhandler_free(&h);
}

static void files(const char *name) {
    int data[6] = {0, 1, 2, 3, 4, 5}, back[6] = {0};
    MPI_File file;
    MPI_Status status;
    MPI_Errhandler h;
    MPI_Offset end;
    int n, rc, class_;
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at_all_begin(file, 0, data, 4, MPI_INT);
    MPI_File_write_at_all_end(file, data, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    printf("split: wrote %d", n);
    MPI_File_write_ordered_begin(file, data, 2, MPI_INT);
    MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE);
    MPI_File_read_all_begin(file, back, 3, MPI_INT);
    MPI_File_read_all_end(file, back, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    printf(", read %d: %d %d %d", n, back[0], back[1], back[2]);
    MPI_File_seek_shared(file, 4, MPI_SEEK_SET);
    MPI_File_read_ordered_begin(file, back, 2, MPI_INT);
    MPI_File_read_ordered_end(file, back, &status);
    MPI_File_write_all_begin(file, data, 1, MPI_INT);
    MPI_File_write_all_end(file, data, &status);
    MPI_File_read_at_all_begin(file, 0, back, 2, MPI_INT);
    MPI_File_read_at_all_end(file, back, &status);
    MPI_File_get_size(file, &end);
    printf(", then %d %d, size %lld\n", back[0], back[1], (long long)end);
    MPI_File_create_errhandler(file_handler, &h);
    MPI_File_set_errhandler(file, h);
    MPI_File_call_errhandler(file, MPI_ERR_QUOTA);
    printf("file handler %d", seen_class == MPI_ERR_QUOTA);
    MPI_Errhandler_free(&h);
    MPI_File_close(&file);
    rc =
        MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_Error_class(rc, &class_);
    printf(", read-only and made: %d\n", class_ == MPI_ERR_AMODE);
}

static void graphs(void) {
    int index[1] = {2}, edges[2] = {0, 0}, n, m, rank;
    MPI_Comm graph;
    MPI_Graph_create(MPI_COMM_SELF, 1, index, edges, 0, &graph);
    index[0] = edges[0] = edges[1] = -1;
    MPI_Graphdims_get(graph, &n, &m);
    MPI_Graph_get(graph, 1, 2, index, edges);
    MPI_Graph_map(MPI_COMM_SELF, 1, index, edges, &rank);
    printf("graph: %d %d, %d, %d %d, map %d\n", n, m, index[0], edges[0], edges[1], rank);
    MPI_Comm_free(&graph);
    static const int ranks[] = {1, 60, 64, 30, 17, 12, 100};
    for (int i = 0; i < 7; i++)
        for (int d = 2; d < 4; d++) {
            int dims[3] = {0, 0, 0};
            MPI_Dims_create(ranks[i], d, dims);
            printf("%s%d = %d x %d", i || d > 2 ? ", " : "dims ", ranks[i], dims[0], dims[1]);
            if (d > 2)
                printf(" x %d", dims[2]);
        }
    int dims[3] = {0, 3, 0};
    MPI_Dims_create(24, 3, dims);
    printf(", 24 = %d x %d x %d\n", dims[0], dims[1], dims[2]);
}

static void statuses(void) {
    MPI_Status status, again;
    MPI_Fint fortran[64];
    int x = 5, y, n;
    MPI_Sendrecv(&x, 1, MPI_INT, 0, 9, &y, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &status);
    MPI_Status_c2f(&status, fortran);
    memset(&again, 0, sizeof again);
    MPI_Status_f2c(fortran, &again);
    MPI_Get_count(&again, MPI_INT, &n);
    MPI_Comm comm = MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF));
    MPI_Datatype type = MPI_Type_f2c(MPI_Type_c2f(MPI_INT));
    printf("status %d %d %d, handles %d %d\n", again.MPI_SOURCE, again.MPI_TAG, n,
           comm == MPI_COMM_SELF, type == MPI_INT);
}

/* A receive on a communicator that is freed meanwhile takes no message of the next one. */
static void freed(void) {
    MPI_Comm first, second;
    MPI_Request old, request;
    int lost = -1, x = 4, got = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    MPI_Irecv(&lost, 1, MPI_INT, 0, 3, first, &old);
    MPI_Comm_free(&first);
    MPI_Comm_dup(MPI_COMM_SELF, &second);
    MPI_Isend(&x, 1, MPI_INT, 0, 3, second, &request);
    MPI_Recv(&got, 1, MPI_INT, 0, 3, second, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("after a freed communicator: %d, %d\n", got, lost);
    MPI_Comm_free(&second);
    MPI_Cancel(&old);
    MPI_Wait(&old, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    errors();
    sizes();
    f90();
    darrays();
    bounds();
    external();
    windows();
    files(argv[1]);
    graphs();
    statuses();
    freed();
    MPI_Finalize();
    return 0;
}
