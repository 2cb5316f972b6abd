#include "p2p/launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 256 };

/* Names come from the system: what JSON has to escape is left out. */
static void print_name(FILE *out, const char *name) {
    fputc('"', out);
    for (; *name; name++)
        if ((unsigned char)*name >= ' ' && *name != '"' && *name != '\\')
            fputc(*name, out);
    fputc('"', out);
}

static void print_line(FILE *out, int nranks, const char *more, const char *names) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\r\n")] = '\0';
    fprintf(out, "{\"kind\":\"launch\",\"ranks\":%d,%s\"library\":", nranks, more);
    print_name(out, library);
    fprintf(out, ",\"hosts\":[");
    for (int i = 0; i < nranks; i++) {
        fputs(i ? "," : "", out);
        print_name(out, names + (size_t)i * NAME);
    }
    fprintf(out, "]}\n");
}

int stretto_launch_line(FILE *out, MPI_Comm comm, const char *more) {
    char host[NAME] = "";
    int rank = 0, nranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    char *names = rank == 0 ? calloc((size_t)nranks, NAME) : NULL;
    int failed = rank == 0 && !names;
    MPI_Bcast(&failed, 1, MPI_INT, 0, comm);
    if (failed)
        return -1;
    gethostname(host, NAME - 1);
    MPI_Gather(host, NAME, MPI_CHAR, names, NAME, MPI_CHAR, 0, comm);
    if (rank == 0)
        print_line(out, nranks, more, names);
    free(names);
    return 0;
}
