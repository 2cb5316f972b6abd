#include "record/offsets.h"

#include "abi/host.h"
#include "record/clock.h"

enum { ROUNDS = 24, TAG = 77 };

static MPI_Comm leaders; /* one rank a clock; only where `measuring` */
static bool measuring;

static void serve(int peer) {
    for (int i = 0; i < ROUNDS; i++) {
        int64_t now;
        PMPI_Recv(&now, 1, MPI_INT64_T, peer, TAG, leaders, MPI_STATUS_IGNORE);
        now = (int64_t)stretto_monotonic_ns();
        PMPI_Send(&now, 1, MPI_INT64_T, peer, TAG, leaders);
    }
}

/* This clock minus that of `peer`, from the round trip with the least time to err in. */
static stretto_raw_offset ask(int peer) {
    stretto_raw_offset best = {0, 0, INT64_MAX};
    for (int i = 0; i < ROUNDS; i++) {
        int64_t there = 0, before = (int64_t)stretto_monotonic_ns();
        PMPI_Send(&there, 1, MPI_INT64_T, peer, TAG, leaders);
        PMPI_Recv(&there, 1, MPI_INT64_T, peer, TAG, leaders, MPI_STATUS_IGNORE);
        int64_t after = (int64_t)stretto_monotonic_ns(), error = (after - before + 1) / 2;
        if (error < best.error_ns)
            best = (stretto_raw_offset){after, before + (after - before) / 2 - there, error};
    }
    return best;
}

/* Down a binomial tree: a rank that knows its offset serves one that does not. */
static stretto_raw_offset measure(void) {
    int me, n;
    stretto_raw_offset mine = {(int64_t)stretto_monotonic_ns(), 0, 0};
    PMPI_Comm_rank(leaders, &me);
    PMPI_Comm_size(leaders, &n);
    for (int known = 1; known < n; known *= 2) {
        if (me < known && me + known < n) {
            int64_t sum[2] = {mine.offset_ns, mine.error_ns};
            serve(me + known);
            PMPI_Send(sum, 2, MPI_INT64_T, me + known, TAG, leaders);
        } else if (me >= known && me < 2 * known) {
            int64_t sum[2];
            mine = ask(me - known);
            PMPI_Recv(sum, 2, MPI_INT64_T, me - known, TAG, leaders, MPI_STATUS_IGNORE);
            mine.offset_ns += sum[0];
            mine.error_ns += sum[1];
        }
    }
    return mine;
}

stretto_raw_offset stretto_offsets_begin(const uint64_t *clocks, int n, int rank) {
    stretto_raw_offset none = {0, 0, 0};
    bool several = false, leader = true;
    for (int i = 0; i < n; i++)
        several = several || clocks[i] != clocks[0];
    for (int i = 0; i < rank; i++)
        leader = leader && clocks[i] != clocks[rank];
    if (!several ||
        PMPI_Comm_split(MPI_COMM_WORLD, leader ? 0 : MPI_UNDEFINED, rank, &leaders) != MPI_SUCCESS)
        return none;
    measuring = leader;
    return leader ? measure() : none;
}

stretto_raw_offset stretto_offsets_end(void) {
    stretto_raw_offset none = {0, 0, 0};
    if (!measuring)
        return none;
    measuring = false;
    stretto_raw_offset offset = measure();
    PMPI_Comm_free(&leaders);
    return offset;
}
