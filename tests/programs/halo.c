/* A halo exchange on a torus of ranks with four neighbours each, whose order may be hidden.
 *
 * usage: halo WIDTH HEIGHT BYTES STEPS [SEED [COUNTERS]]
 * With a seed other than 0, ranks sit in the torus in a random order, so that neighbours are on
 * other nodes. With COUNTERS, the first rank of each node prints the bytes that its eth0 sent
 * meanwhile. Each rank prints its node, how many ranks share its memory, and its mask. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long long sent_by_card(void) {
    long long bytes = 0;
    FILE *file = fopen("/sys/class/net/eth0/statistics/tx_bytes", "r");
    if (file) {
        if (fscanf(file, "%lld", &bytes) != 1)
            bytes = 0;
        fclose(file);
    }
    return bytes;
}

static void print_place(int rank, int local) {
    char name[MPI_MAX_PROCESSOR_NAME], line[4096], cpus[1024] = "";
    int length;
    MPI_Get_processor_name(name, &length);
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "Cpus_allowed_list: %1023s", cpus);
    if (file)
        fclose(file);
    printf("rank %d on %s beside %d cpus %s\n", rank, name, local, cpus);
}

/* at[i]: which rank sits at place i of the torus */
static void arrange(int *at, int size, unsigned seed) {
    uint64_t state = seed;
    for (int i = 0; i < size; i++)
        at[i] = i;
    for (int i = size - 1; seed && i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int other = (int)((state >> 33) % (uint64_t)(i + 1)), kept = at[i];
        at[i] = at[other];
        at[other] = kept;
    }
}

int main(int argc, char **argv) {
    int rank, size, local, first, wrong = 0, all = 0, mine = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int width = argc > 4 ? atoi(argv[1]) : 0, height = argc > 4 ? atoi(argv[2]) : 0;
    if (width < 1 || width * height != size) {
        fprintf(stderr, "halo: WIDTH x HEIGHT must be the number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int bytes = atoi(argv[3]), steps = atoi(argv[4]), *at = malloc((size_t)size * sizeof *at);
    arrange(at, size, argc > 5 ? (unsigned)atoi(argv[5]) : 0);
    while (at[mine] != rank)
        mine++;
    int x = mine % width, y = mine / width;
    int next[4] = {at[y * width + (x + 1) % width], at[y * width + (x + width - 1) % width],
                   at[(y + 1) % height * width + x], at[(y + height - 1) % height * width + x]};
    char *out = malloc((size_t)bytes), *in = malloc(4 * (size_t)bytes);
    memset(out, rank & 127, (size_t)bytes);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &local);
    MPI_Comm_rank(node, &first);
    print_place(rank, local);
    MPI_Barrier(MPI_COMM_WORLD);
    long long before = sent_by_card();
    MPI_Barrier(MPI_COMM_WORLD); /* nobody sends before all have read */
    double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[8];
        for (int i = 0; i < 4; i++)
            MPI_Irecv(in + (size_t)i * (size_t)bytes, bytes, MPI_CHAR, next[i], i, MPI_COMM_WORLD,
                      &requests[i]);
        for (int i = 0; i < 4; i++)
            MPI_Isend(out, bytes, MPI_CHAR, next[i ^ 1], i, MPI_COMM_WORLD, &requests[4 + i]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 4 && bytes; i++)
            wrong += in[(size_t)(i + 1) * (size_t)bytes - 1] != (next[i] & 127);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double took = MPI_Wtime() - start;
    if (argc > 6 && first == 0)
        printf("card sent %lld\n", sent_by_card() - before);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("wrong: %d\nhalo seconds: %g\n", all, took);
    free(at);
    free(out);
    free(in);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return all != 0;
}
