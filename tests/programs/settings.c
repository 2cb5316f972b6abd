/* What rank 1's MPI says of its own settings: settings read NAME... prints NAME=VALUE for each
 * (MPI_T; "absent" for one that it lacks). settings figure NAME [worse] prints a figure that is
 * 1000000 / the setting's value (its value, with worse), so that a larger value looks faster, with
 * nothing that depends on time; it also writes ./result, which holds the value with "tell".
 * settings faults prints the page faults of three rounds that allocate and free 48 MB in blocks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static long faults(void) {
    enum { BLOCKS = 480, BYTES = 100000 };
    static char *volatile blocks[BLOCKS];
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++)
            memset(blocks[i] = malloc(BYTES), round, BYTES);
        for (int i = BLOCKS - 1; i >= 0; i--)
            free(blocks[i]);
    }
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

static int find(const char *wanted, int *index) {
    int count = 0;
    MPI_T_cvar_get_num(&count);
    for (*index = 0; *index < count; ++*index) {
        char name[256];
        int length = sizeof name, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_cvar_get_info(*index, name, &length, &verbosity, &type, &values, NULL, NULL,
                                &bind, &scope) == MPI_SUCCESS &&
            strcmp(name, wanted) == 0)
            return 1;
    }
    return 0;
}

static void get(const char *wanted, char *text, size_t size) {
    int index, count, bytes = 8;
    union {
        long long number;
        char text[4096];
    } value = {0};
    MPI_T_cvar_handle handle;
    snprintf(text, size, "absent");
    if (!find(wanted, &index) ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    char name[256];
    int length = sizeof name, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, &values, NULL, NULL, &bind,
                        &scope);
    int fits = count < (int)sizeof value;
    if (fits && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS) {
        if (type == MPI_CHAR)
            snprintf(text, size, "%.200s", value.text);
        else {
            MPI_Type_size(type, &bytes);
            snprintf(text, size, "%lld", bytes == 4 ? (long long)(int)value.number : value.number);
        }
    }
    MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char **argv) {
    int rank, level;
    char value[512];
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && argc > 2 && strcmp(argv[1], "read") == 0)
        for (int i = 2; i < argc; i++) {
            get(argv[i], value, sizeof value);
            printf("%s=%s\n", argv[i], value);
        }
    if (rank == 1 && argc > 1 && strcmp(argv[1], "faults") == 0)
        printf("faults=%ld\n", faults());
    if (rank == 0 && argc > 2 && strcmp(argv[1], "figure") == 0) {
        get(argv[2], value, sizeof value);
        double number = atof(value);
        int tell = argc > 3 && strcmp(argv[3], "tell") == 0;
        FILE *file = fopen("result", "w");
        if (!file || fprintf(file, "result %s\n", tell ? value : "42") < 0 || fclose(file) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (argc > 3 && strcmp(argv[3], "refuse") == 0 && number > 20000) {
            fprintf(stderr, "no such limit\n");
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
        int worse = argc > 3 && strcmp(argv[3], "worse") == 0;
        printf("time: %.3f s\n", worse ? number : 1000000 / number);
    }
    MPI_T_finalize(); /* the other way round Open MPI 4.1.4 crashes */
    MPI_Finalize();
    return 0;
}
