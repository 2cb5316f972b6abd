/* Beginning and end of the recording: MPI_Init, MPI_Finalize, MPI_Abort, exit. */
#include "abi/everywhere.h"
#include "abi/front.h"
#include "record/core.h"
#include "record/files.h"
#include "record/offsets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int world_size;
static bool begun;

typedef struct {
    uint64_t node, clock, salt; /* of the host name; of the clock; to tell worlds apart */
    uint64_t wanted;            /* it has a directory to record into */
} rank_facts;

/* Functions by number, so that the file explains itself. */
static const struct {
    const char *name;
    stretto_kind kind;
} functions[STRETTO_FUNCTIONS] = {
#define F(kind, name, parameters, arguments)                                                       \
    [STRETTO_FN_##name] = {"MPI_" #name, STRETTO_KIND_OTHER},
#define L(kind, name, parameters, arguments)
#include "abi/functions.def"
};

static int write_functions(void) {
    stretto_raw_function *rows =
        stretto_store_section(STRETTO_RAW_FUNCTIONS, sizeof *rows, STRETTO_FUNCTIONS);
    for (int i = 0; rows && i < STRETTO_FUNCTIONS; i++) {
        memcpy(rows[i].name, functions[i].name,
               strnlen(functions[i].name, sizeof rows[i].name - 1));
        rows[i].kind = stretto_kind_of(i);
    }
    return rows ? 0 : -1;
}

static void read_program(char *text, size_t size) {
    ssize_t n = readlink("/proc/self/exe", text, size - 1);
    text[n > 0 ? n : 0] = '\0';
}

static void describe(int thread_level, const rank_facts *facts, int rank) {
    stretto_raw_header *header = stretto_header;
    header->clock = (uint32_t)stretto_clock;
    header->thread_level = (uint32_t)(thread_level == MPI_THREAD_MULTIPLE     ? 3
                                      : thread_level == MPI_THREAD_SERIALIZED ? 2
                                      : thread_level == MPI_THREAD_FUNNELED   ? 1
                                                                              : 0);
    gethostname(header->host, sizeof header->host - 1);
    snprintf(header->family, sizeof header->family, "%s", STRETTO_FAMILY);
    static char library[MPI_MAX_LIBRARY_VERSION_STRING + 1];
    int length = 0;
    if (PMPI_Get_library_version(library, &length) == MPI_SUCCESS) {
        library[strcspn(library, "\n")] = '\0';
        memcpy(header->library, library, strnlen(library, sizeof header->library - 1));
    }
    read_program(header->program, sizeof header->program);
    stretto_front(header->front, sizeof header->front);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    header->started_realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    header->clock_domain = facts[rank].clock;
}

/* Numbers the nodes in the order of their lowest ranks. */
static int *number_nodes(const rank_facts *facts, int n) {
    int *node_of = malloc((size_t)n * sizeof *node_of);
    uint64_t size = 4;
    while (size < 2 * (uint64_t)n)
        size *= 2;
    int *first = calloc(size, sizeof *first), nodes = 0; /* hash table: rank + 1 */
    for (int i = 0; node_of && first && i < n; i++) {
        uint64_t slot = stretto_mix(facts[i].node) & (size - 1);
        while (first[slot] && facts[first[slot] - 1].node != facts[i].node)
            slot = (slot + 1) & (size - 1);
        if (!first[slot]) {
            first[slot] = i + 1;
            node_of[i] = nodes++;
        } else
            node_of[i] = node_of[first[slot] - 1];
    }
    if (!first) {
        free(node_of);
        node_of = NULL;
    }
    free(first);
    return node_of;
}

/* Whether some rank is to record: the environment is each rank's own. */
static bool anyone(const rank_facts *facts, int n) {
    bool found = false;
    for (int i = 0; i < n; i++)
        found |= facts[i].wanted != 0;
    return found;
}

/* Whether all ranks could begin; the lowest that could not says why. */
static void agree(int rank, int failed, const char *directory, const char *reason) {
    int mine[2] = {failed ? -rank - 1 : -world_size - 1, failed}, worst = 0, count = 0;
    if (PMPI_Allreduce(&mine[0], &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS ||
        PMPI_Allreduce(&mine[1], &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS)
        return;
    if (failed && worst == -rank - 1)
        fprintf(stderr,
                "stretto: cannot record into %s: %s (%d of %d ranks, this is rank %d)\n"
                "stretto: the application continues, and these ranks are not recorded; set "
                "STRETTO_PROFILE_DIR to a directory that every rank can write\n",
                directory, reason, count, world_size, rank);
}

/* By all ranks, also those that cannot record. */
static void measure_offsets(const rank_facts *facts, int rank, bool failed) {
    uint64_t *clocks = malloc((size_t)world_size * sizeof *clocks);
    if (!clocks)
        return;
    for (int i = 0; i < world_size; i++)
        clocks[i] = facts[i].clock;
    stretto_raw_offset offset = stretto_offsets_begin(clocks, world_size, rank);
    free(clocks);
    if (!failed)
        stretto_header->offsets[0] = offset;
}

void stretto_record_begin(int thread_level) {
    const char *directory = getenv("STRETTO_PROFILE_DIR");
    if (begun)
        return;
    begun = true;
    stretto_everywhere();
    int rank;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    stretto_clock_choose();
    stretto_raw_instant first = stretto_clock_instant();
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rank_facts mine = {
        stretto_hash_bytes(host, strlen(host), STRETTO_HASH_START), stretto_clock_domain(),
        stretto_mix(stretto_monotonic_ns() ^ (uint64_t)getpid() << 40), directory && directory[0]};
    rank_facts *facts = malloc((size_t)world_size * sizeof *facts);
    int *node_of = NULL;
    char reason[512] = "out of memory";
    /* memory of this size at all ranks or the job is lost anyway: no agreement about it */
    if (!facts || PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, facts, sizeof mine, MPI_BYTE,
                                 MPI_COMM_WORLD) != MPI_SUCCESS) {
        fprintf(stderr, "stretto: rank %d cannot start to record: %s\n", rank, reason);
        free(facts);
        return;
    }
    if (!anyone(facts, world_size)) {
        free(facts);
        return;
    }
    if (!mine.wanted) {
        directory = "STRETTO_PROFILE_DIR";
        snprintf(reason, sizeof reason, "this rank was started without the variable");
    }
    node_of = number_nodes(facts, world_size);
    bool failed =
        !node_of || !mine.wanted ||
        stretto_store_open(directory, facts[0].salt, rank, world_size, reason, sizeof reason);
    if (!failed) {
        stretto_header->first = stretto_header->last = first;
        stretto_header->last_ticks = first.ticks;
        failed = write_functions() || stretto_events_begin() ||
                 stretto_comms_begin(node_of, world_size, rank);
        stretto_types_begin();
        stretto_files_begin();
        failed = failed || !stretto_part_attach();
        if (failed) {
            snprintf(reason, sizeof reason, "%s", strerror(errno ? errno : ENOSPC));
            stretto_store_discard();
        }
    }
    agree(rank, failed, directory, reason);
    if (!failed)
        describe(thread_level, facts, rank);
    measure_offsets(facts, rank, failed);
    free(facts);
    if (failed) {
        free(node_of);
        return;
    }
    stretto_many = thread_level == MPI_THREAD_MULTIPLE;
    /* from here on the program's own time */
    stretto_raw_instant second = stretto_clock_instant();
    double rate = stretto_clock_rate(first, second);
    if (second.ns - first.ns < 2000000) { /* too near for a rate: wait for 2 ms, once */
        usleep(2000);
        second = stretto_clock_instant();
        rate = stretto_clock_rate(first, second);
    }
    stretto_header->last = second;
    stretto_refresh = (uint64_t)(rate * 50e-3);
    stretto_header->began_ticks = stretto_ticks();
    stretto_usage_begin();
    if (stretto_paused)
        stretto_header->paused_since = stretto_header->began_ticks;
    __atomic_store_n(&stretto_recording, true, __ATOMIC_RELEASE);
}

void stretto_record_finalize(void) {
    stretto_raw_offset offset = stretto_offsets_end();
    if (stretto_recording)
        stretto_header->offsets[1] = offset;
    stretto_record_end(STRETTO_RAW_FINALIZED, 0);
}

void stretto_record_end(int state, int code) {
    if (!stretto_recording || (pid_t)stretto_header->pid != getpid()) /* a fork's child shares it */
        return;
    stretto_header->last_ticks = stretto_ticks();
    stretto_header->last = stretto_clock_instant();
    stretto_usage_note(true);
    stretto_header->exit_code = (uint32_t)code;
    stretto_header->state = (uint32_t)state;
    stretto_recording = false;
}

__attribute__((destructor)) static void at_exit(void) {
    stretto_record_end(STRETTO_RAW_EXITED, 0);
}
