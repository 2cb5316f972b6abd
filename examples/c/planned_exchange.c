/* An irregular exchange that a solver does in every step, planned with Stretto's C API.
 *
 * Each rank has rows of a sparse matrix and needs entries of a vector from other ranks: some from
 * its neighbours, a few from far away. The pattern is the same in every step. With Stretto in the
 * process the exchange is planned once for each choice that is named; without it MPI_Alltoallv does
 * the same.
 *
 *   mpicc -O2 -I../../include planned_exchange.c -o planned_exchange -ldl
 *   mpirun -n 4 ./planned_exchange                                       # without Stretto
 *   STRETTO_API=1 stretto run -- mpirun -n 4 ./planned_exchange aggregated 'bruck_v(2)'
 *
 * With -DSTRETTO_LINKED it is linked to Stretto's library instead of looking for it.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stretto.h"

#ifdef STRETTO_LINKED
#define FIND(name) name
#else
#include <dlfcn.h>
extern void *dlsym(void *restrict, const char *restrict);
#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void *)0)
#endif
#define FIND(name) (*(__typeof__(&name) *)&(void *[]){dlsym(RTLD_DEFAULT, #name)})
#endif

enum { STEPS = 50 };

/* Entries that rank `from` has for rank `to`: more the nearer they are. */
static int entries(int from, int to, int size) {
    int distance = abs(from - to) < size - abs(from - to) ? abs(from - to) : size - abs(from - to);
    return distance == 0 ? 0 : distance == 1 ? 200 + from : (from * 7 + to) % 4;
}

static int rank, size, *scounts, *sdispls, *rcounts, *rdispls;
static double *mine, *theirs;

/* Exchange in all steps; return how many entries were wrong. */
static int steps(stretto_alltoallv *plan) {
    int wrong = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int r = 0; r < size; r++)
            for (int i = 0; i < scounts[r]; i++)
                mine[sdispls[r] + i] = rank * 1e6 + r * 1e4 + i + step;
        if (plan)
            FIND(stretto_alltoallv_run)(plan, mine, theirs);
        else
            MPI_Alltoallv(mine, scounts, sdispls, MPI_DOUBLE, theirs, rcounts, rdispls, MPI_DOUBLE,
                          MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            for (int i = 0; i < rcounts[r]; i++)
                wrong += theirs[rdispls[r] + i] != r * 1e6 + rank * 1e4 + i + step;
    }
    return wrong;
}

/* Plan the exchange by a choice, and do it; return how many entries were wrong. */
static int planned(const char *wanted) {
    stretto_alltoallv *plan = NULL;
    char error[400] = "Stretto is not in this process", choice[256] = "MPI_Alltoallv";
    const int found = FIND(stretto_alltoallv_plan) != NULL;
    unsigned long long ours[2] = {0}, native[2] = {0};
    if (found &&
        FIND(stretto_alltoallv_plan)(MPI_COMM_WORLD, scounts, sdispls, MPI_DOUBLE, rcounts, rdispls,
                                     MPI_DOUBLE, wanted, &plan, error, sizeof error) == 0)
        FIND(stretto_alltoallv_choice)(plan, choice, sizeof choice);
    else if (rank == 0)
        printf("not planned: %s\n", error);
    if (found)
        FIND(stretto_counters)(MPI_COMM_WORLD, "alltoallv", &ours[0], &native[0]);
    int wrong = steps(plan), all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (found)
        FIND(stretto_counters)(MPI_COMM_WORLD, "alltoallv", &ours[1], &native[1]);
    if (rank == 0)
        printf("%d steps by %s: %d wrong entries; %llu exchanges by Stretto, %llu by the MPI\n",
               STEPS, choice, all, ours[1] - ours[0], native[1] - native[0]);
    if (plan)
        FIND(stretto_alltoallv_free)(&plan);
    return all;
}

int main(int argc, char **argv) {
    int sent = 0, got = 0, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    scounts = malloc(4 * (size_t)size * sizeof *scounts), sdispls = scounts + size;
    rcounts = sdispls + size, rdispls = rcounts + size;
    for (int r = 0; r < size; r++) {
        scounts[r] = entries(rank, r, size);
        rcounts[r] = entries(r, rank, size);
        sdispls[r] = sent;
        rdispls[r] = got;
        sent += scounts[r];
        got += rcounts[r];
    }
    mine = calloc((size_t)sent + 1, sizeof *mine);
    theirs = calloc((size_t)got + 1, sizeof *theirs);
    for (int i = 1; i < argc || i == 1; i++)
        wrong |= planned(i < argc ? argv[i] : "");
    free(scounts);
    free(mine);
    free(theirs);
    MPI_Finalize();
    return wrong != 0;
}
