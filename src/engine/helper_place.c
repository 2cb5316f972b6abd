/* Where the helper thread of nonblocking collectives runs: STRETTO_NONBLOCKING_CPU. */
#include "engine/engine.h"
#include "engine/operation.h"
#include "topo/topo.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A hardware thread beside this rank that no rank of the node needs; -1: none. Collective over
 * node_comm. */
static int spare_cpu(void) {
    const stretto_world *w = &stretto_the_world;
    const int n = w->node_nranks;
    int cpu = -1, *cpus = malloc((size_t)n * sizeof *cpus);
    stretto_cpus mine, *all = malloc((size_t)n * sizeof *all);
    if (!cpus || !all)
        stretto_no_memory();
    if (!stretto_cpus_allowed(&mine))
        memset(&mine, 0xff, sizeof mine); /* anywhere, for all that is known */
    if (PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, w->node_comm) ==
            MPI_SUCCESS &&
        stretto_topo_spare("", all, n, cpus))
        cpu = cpus[w->node_rank];
    free(cpus);
    free(all);
    if (cpu < 0 && w->node_rank == 0)
        stretto_say("STRETTO_NONBLOCKING_CPU=spare: no hardware thread of this node is free (are "
                    "the ranks bound to cores?); the helper threads run on the cores of the ranks");
    return cpu;
}

/* This rank's element of a list of numbers; -1, said on rank 0: it is no such list. */
static int listed_cpu(const char *list) {
    int numbers[64], n = 0;
    const char *at = list;
    while (n < 64) {
        char *end;
        long cpu = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || cpu < 0 || cpu >= STRETTO_TOPO_CPUS) {
            if (stretto_the_world.rank == 0)
                stretto_say("STRETTO_NONBLOCKING_CPU: '%s' is neither `spare` nor numbers of "
                            "hardware threads with commas; the helper threads run anywhere",
                            list);
            return -1;
        }
        numbers[n++] = (int)cpu;
        if (!*end)
            break;
        at = end + 1;
    }
    return numbers[stretto_the_world.node_rank % n];
}

void stretto_helper_place(pthread_t helper) {
    const char *wanted = stretto_config.nonblocking_cpus;
    if (!*wanted)
        return;
    int cpu = strcmp(wanted, "spare") == 0 ? spare_cpu() : listed_cpu(wanted);
    if (cpu < 0)
        return;
    const size_t bytes = CPU_ALLOC_SIZE(STRETTO_TOPO_CPUS);
    cpu_set_t *set = CPU_ALLOC(STRETTO_TOPO_CPUS);
    if (set) {
        CPU_ZERO_S(bytes, set);
        CPU_SET_S((size_t)cpu, bytes, set);
    }
    if (!set || pthread_setaffinity_np(helper, bytes, set)) /* outside of the job's cpuset */
        stretto_say("STRETTO_NONBLOCKING_CPU: rank %d cannot use hardware thread %d; its helper "
                    "thread runs wherever it may",
                    stretto_the_world.rank, cpu);
    else if (stretto_config.verbose)
        stretto_say("rank %d: the helper thread runs on hardware thread %d", stretto_the_world.rank,
                    cpu);
    CPU_FREE(set);
}
