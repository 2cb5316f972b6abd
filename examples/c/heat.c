/* Heat in a plate: explicit steps until the temperature no longer changes.
 *
 *     mpicc -O2 heat.c -o heat && mpirun -n 2 ./heat [SIZE]
 *
 * Rows are divided among the ranks; neighbours exchange their edge rows, and every step ends with
 * the largest change anywhere, an MPI_Allreduce of 8 bytes that all ranks wait for. The left edge
 * is at 1, the others at 0. Prints the number of steps and the heat in the plate, in hexadecimal so
 * that two runs can be compared to the last bit.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, nranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    int size = argc > 1 ? atoi(argv[1]) : 64;
    if (size < nranks) {
        if (rank == 0)
            fprintf(stderr, "heat: SIZE must be a number of at least %d\n", nranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int first = (int)((long)rank * size / nranks),
        rows = (int)((rank + 1L) * size / nranks) - first;
    int width = size + 2;
    double *old = calloc((size_t)(rows + 2) * width, sizeof *old);
    double *new = calloc((size_t)(rows + 2) * width, sizeof *new);
    if (old == NULL || new == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < rows + 2; i++)
        old[i * width] = new[i * width] = 1.0;

    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL,
        down = rank + 1 < nranks ? rank + 1 : MPI_PROC_NULL;
    double change = 1.0, start = MPI_Wtime();
    int steps = 0;
    while (change > 1e-6) {
        MPI_Sendrecv(&old[width], width, MPI_DOUBLE, up, 0, &old[(rows + 1) * width], width,
                     MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&old[rows * width], width, MPI_DOUBLE, down, 1, old, width, MPI_DOUBLE, up, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double largest = 0.0;
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j <= size; j++) {
                int at = i * width + j;
                new[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]);
                double moved = fabs(new[at] - old[at]);
                largest = moved > largest ? moved : largest;
            }
        double *swap = old;
        old = new;
        new = swap;
        MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        steps++;
    }
    double seconds = MPI_Wtime() - start, heat = 0.0, total = 0.0;
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j <= size; j++)
            heat += old[i * width + j];
    MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("steps: %d  heat: %a\n", steps, total);
        printf("steps per second: %.1f\n", steps / seconds);
    }
    free(old);
    free(new);
    MPI_Finalize();
    return 0;
}
