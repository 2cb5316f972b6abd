/* A program that has all its memory locked, as those do that must not be paged out (mlockall): what
 * Stretto keeps in reserve must not become memory. Prints by rank 0 "N kB resident", or "not
 * allowed" where the system does not let it.
 *
 * Usage: locked before|after (MPI_Init)
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static long resident(void) {
    char line[256];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && kb < 0 && fgets(line, sizeof line, status))
        sscanf(line, "VmRSS: %ld", &kb);
    if (status)
        fclose(status);
    return kb;
}

int main(int argc, char **argv) {
    const int before = argc > 1 && strcmp(argv[1], "before") == 0;
    int rank, one = 1, all, refused = 0;
    MPI_Request request;
    if (before)
        refused = mlockall(MCL_CURRENT | MCL_FUTURE);
    MPI_Init(&argc, &argv);
    if (!before)
        refused = mlockall(MCL_CURRENT | MCL_FUTURE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0 && refused)
        printf("not allowed\n");
    else if (rank == 0)
        printf("%ld kB resident\n", resident());
    MPI_Finalize();
    return 0;
}
