/* MPI_Gatherv and MPI_Scatterv with too little room: whoever has it gets MPI_ERR_TRUNCATE and
 * nobody else does, everybody else's data arrives, nothing is written behind the room, and the next
 * call is as good as ever. Ragged and empty blocks, every root, in place or not.
 *
 *   trees CALLS [all]      all: sometimes there is no room at all, which not every MPI minds in a
 *                          message whose length only the sender knows
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, GUARD = 8, UNTOUCHED = -77 };

static int rank, size, wrong;

static int value(int owner, int i, int call) {
    return (owner * 100003 + i) * 7 + call;
}

/* Elements of a rank's block in a call: none, few, or more than any eager message. */
static int length(int owner, int call) {
    const int most[] = {3, 40, 700, 60000};
    return (owner * 7 + call * 5) % 4 == 0 ? 0
                                           : 1 + (owner * 7919 + call * 104729) % most[call % 4];
}

/* Places of all blocks, the last rank's first, each with a guard behind it; the end of all. */
static int lay_out(const int *counts, int *at) {
    int end = 0;
    for (int r = size - 1; r >= 0; r--) {
        at[r] = end;
        end += counts[r] + GUARD;
    }
    return end;
}

static int *room_for(int n) {
    int *memory = malloc((size_t)(n + 1) * sizeof *memory);
    for (int i = 0; i <= n; i++)
        memory[i] = UNTOUCHED;
    return memory;
}

static void fault(const char *what, int call, int owner) {
    if (wrong++ < 5)
        printf("rank %d, call %d, block of rank %d: %s\n", rank, call, owner, what);
}

static void fill(int *block, int owner, int n, int call) {
    for (int i = 0; i < n; i++)
        block[i] = value(owner, i, call);
}

/* `cut`: there was too little room, and what is in it is not said. */
static void expect(const int *block, int owner, int n, int call, int cut) {
    for (int i = 0; i < n && !cut; i++)
        if (block[i] != value(owner, i, call)) {
            fault("other data", call, owner);
            break;
        }
    for (int i = 0; i < GUARD; i++)
        if (block[n + i] != UNTOUCHED) {
            fault("written behind the room", call, owner);
            break;
        }
}

static void expect_class(int rc, int cut, int call) {
    int class = MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    if (class != (cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS)) {
        char text[80];
        snprintf(text, sizeof text, "error class %d", class);
        fault(text, call, rank);
    }
}

/* `loser`'s block has `less` elements less room; nobody's: -1. */
static void gather(int root, int loser, int less, int call, int in_place) {
    const int n = length(rank, call);
    int counts[MOST], at[MOST];
    for (int r = 0; r < size; r++)
        counts[r] = length(r, call) - (r == loser ? less : 0);
    int *own = room_for(n), *all = room_for(lay_out(counts, at));
    fill(own, rank, n, call);
    const int stays = in_place && rank == root;
    if (stays)
        fill(all + at[rank], rank, n, call);
    const int rc = MPI_Gatherv(stays ? MPI_IN_PLACE : own, n, MPI_INT, all, counts, at, MPI_INT,
                               root, MPI_COMM_WORLD);
    expect_class(rc, rank == root && loser >= 0, call);
    for (int r = 0; rank == root && r < size; r++)
        expect(all + at[r], r, counts[r], call, r == loser);
    free(own);
    free(all);
}

static void scatter(int root, int loser, int less, int call, int in_place) {
    const int n = length(rank, call) - (rank == loser ? less : 0);
    int counts[MOST], at[MOST];
    for (int r = 0; r < size; r++)
        counts[r] = length(r, call);
    int *own = room_for(n + GUARD), *all = room_for(lay_out(counts, at));
    for (int r = 0; rank == root && r < size; r++)
        fill(all + at[r], r, counts[r], call);
    const int stays = in_place && rank == root;
    const int rc = MPI_Scatterv(all, counts, at, MPI_INT, stays ? MPI_IN_PLACE : own, n, MPI_INT,
                                root, MPI_COMM_WORLD);
    expect_class(rc, rank == loser, call);
    if (!stays)
        expect(own, rank, n, call, rank == loser);
    for (int r = 0; rank == root && r < size; r++)
        expect(all + at[r], r, counts[r], call, 0);
    free(own);
    free(all);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int calls = argc > 1 ? atoi(argv[1]) : 100;
    const int no_room = argc > 2 && !strcmp(argv[2], "all");
    int cuts = 0;
    for (int call = 0; call < calls; call++) {
        const int root = call % size, in_place = call / size % 2;
        int loser = (root + 1 + call / 3 % (size > 1 ? size - 1 : 1)) % size;
        const int n = length(loser, call);
        const int less = no_room && call % 5 == 0 ? n : 1;
        if (loser == root || n <= !no_room || call % 2)
            loser = -1;
        cuts += loser >= 0;
        gather(root, loser, less, call, in_place);
        scatter(root, loser, less, call, in_place);
    }
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("trees: %d calls with too little room, %d faults\n", cuts, all);
    MPI_Finalize();
    return all != 0;
}
