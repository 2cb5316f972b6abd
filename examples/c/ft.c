/* Diffusion in a periodic square, in Fourier space, after the FT kernel of the NAS benchmarks (not
 * their code, no result of theirs).
 *
 *     mpicc -O2 ft.c -o ft -lm && mpirun -n 2 ./ft [SIDE [STEPS]]
 *
 * SIDE (512) is a power of two, and a multiple of the ranks. Each rank holds rows of SIDE x SIDE
 * complex numbers. A step damps every wave and transforms the field back: transforms of rows, a
 * transposition, transforms of rows again. The transposition is an MPI_Alltoall of 16 (SIDE / P)^2
 * bytes a pair of ranks, and takes most of the communication; a checksum is an MPI_Allreduce of
 * 16 bytes. Prints the checksums' sum in hexadecimal, so that runs can be compared to the last bit.
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex number;

static int rank, nranks, side, rows; /* rows of this rank */
static const double PI = 3.14159265358979323846;

/* One row, in place, without a factor; sign -1: forward, +1: back. */
static void transform(number *x, int sign) {
    for (int i = 1, j = 0; i < side; i++) {
        int bit = side >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            number swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
    }
    for (int half = 1; half < side; half *= 2) {
        const number turn = cexp(sign * I * PI / half);
        for (int begin = 0; begin < side; begin += 2 * half) {
            number factor = 1;
            for (int k = begin; k < begin + half; k++, factor *= turn) {
                const number odd = factor * x[k + half];
                x[k + half] = x[k] - odd;
                x[k] += odd;
            }
        }
    }
}

/* From rows to columns: block b of `packed` goes to rank b, as a square that is already turned. */
static void transpose(number *field, number *packed, number *arrived) {
    const size_t square = (size_t)rows * (size_t)rows;
    for (int b = 0; b < nranks; b++)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < rows; c++)
                packed[(size_t)b * square + (size_t)c * rows + r] =
                    field[(size_t)r * side + (size_t)b * rows + c];
    MPI_Alltoall(packed, (int)square, MPI_C_DOUBLE_COMPLEX, arrived, (int)square,
                 MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    for (int b = 0; b < nranks; b++)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < rows; c++)
                field[(size_t)r * side + (size_t)b * rows + c] =
                    arrived[(size_t)b * square + (size_t)r * rows + c];
}

static void transform_all(number *field, number *packed, number *arrived, int sign) {
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < rows; r++)
            transform(field + (size_t)r * side, sign);
        if (pass == 0)
            transpose(field, packed, arrived);
    }
}

static double wave(int index) {
    const double k = index <= side / 2 ? index : index - side;
    return 2 * PI * k;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    side = argc > 1 ? atoi(argv[1]) : 512;
    const int steps = argc > 2 ? atoi(argv[2]) : 20;
    if (side < 2 || side > 1 << 15 || side & (side - 1) || side % nranks || steps < 1) {
        if (rank == 0)
            fprintf(stderr,
                    "ft: SIDE must be a power of two and a multiple of the ranks, and STEPS "
                    "at least 1\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rows = side / nranks;
    const size_t n = (size_t)rows * (size_t)side;
    number *waves = calloc(4 * n, sizeof *waves);
    if (!waves)
        MPI_Abort(MPI_COMM_WORLD, 3);
    number *field = waves + n, *packed = field + n, *arrived = packed + n;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < side; c++)
            waves[(size_t)r * side + c] = sin(0.1 * (rank * rows + r)) + ((7 * c) % 13) * 0.25;
    transform_all(waves, packed, arrived, -1);
    number total = 0;
    const double begin = MPI_Wtime();
    for (int step = 1; step <= steps; step++) {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < side; c++) {
                const double a = wave(rank * rows + r), b = wave(c);
                const double damped = exp(-1e-6 * step * (a * a + b * b));
                field[(size_t)r * side + c] = damped * waves[(size_t)r * side + c];
            }
        transform_all(field, packed, arrived, 1);
        number mine = 0, sum;
        for (size_t i = 0; i < n; i++)
            if ((rank * n + i) % 17 == 0) /* of the whole field, however it is divided */
                mine += field[i];
        MPI_Allreduce(&mine, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
        total += sum / ((double)side * side);
    }
    const double took = MPI_Wtime() - begin;
    if (rank == 0) {
        printf("ft of %d x %d on %d ranks: %a %a\n", side, side, nranks, creal(total),
               cimag(total));
        printf("%.4g steps per second\n", steps / took);
    }
    free(waves);
    MPI_Finalize();
    return 0;
}
