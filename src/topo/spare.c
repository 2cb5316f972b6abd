/* A hardware thread for each rank's helper that no rank needs. See topo.h. */
#include "topo/sysfs.h"

#include <stdlib.h>
#include <string.h>

enum { CORE, OWN, CACHE, PACKAGE, LEVELS };

/* The hardware threads near a rank with this mask, by level; an empty set where the kernel does not
 * say, or the rank may run in several of them. */
static void find_near(const char *root, const stretto_cpus *mine, stretto_cpus near[LEVELS]) {
    memset(near, 0, LEVELS * sizeof *near);
    int cpu = stretto_cpus_lowest(mine);
    if (cpu < 0)
        return;
    if (!stretto_sysfs_core(root, cpu, &near[CORE]))
        memset(&near[CORE], 0, sizeof near[CORE]);
    if (!stretto_sysfs_cache(root, mine, cpu, &near[CACHE]))
        memset(&near[CACHE], 0, sizeof near[CACHE]);
    if (!stretto_sysfs_package(root, cpu, &near[PACKAGE]))
        memset(&near[PACKAGE], 0, sizeof near[PACKAGE]);
}

/* The highest: launchers fill from below, and siblings of a core come after all first threads. */
static int highest_free(const stretto_cpus *near, const stretto_cpus *taken) {
    for (int cpu = STRETTO_TOPO_CPUS - 1; cpu >= 0; cpu--)
        if (stretto_cpus_has(near, cpu) && !stretto_cpus_has(taken, cpu))
            return cpu;
    return -1;
}

static void take(stretto_cpus *taken, int cpu) {
    taken->bits[cpu / 8] |= (unsigned char)(1u << cpu % 8);
}

/* A rank's own second hardware thread: when no other rank may run there. */
static int second_of(const stretto_cpus *masks, int n, int rank) {
    stretto_cpus others;
    int count = 0;
    memset(&others, 0, sizeof others);
    for (int i = 0; i < n; i++)
        for (size_t b = 0; i != rank && b < sizeof others.bits; b++)
            others.bits[b] |= masks[i].bits[b];
    for (int cpu = 0; cpu < STRETTO_TOPO_CPUS; cpu++)
        count += stretto_cpus_has(&masks[rank], cpu);
    if (count < 2)
        return -1;
    for (size_t b = 0; b < sizeof others.bits; b++)
        if (others.bits[b] & masks[rank].bits[b])
            return -1;
    return highest_free(&masks[rank], &others);
}

bool stretto_topo_spare(const char *root, const stretto_cpus *allowed, int n, int *out) {
    stretto_cpus *masks = malloc((size_t)n * sizeof *masks), online, taken;
    stretto_cpus(*near)[LEVELS] = malloc((size_t)n * sizeof *near);
    bool well = masks && near;
    bool known = stretto_sysfs_online(root, &online);
    memset(&taken, 0, sizeof taken);
    for (int i = 0; well && i < n; i++) {
        masks[i] = allowed[i];
        for (size_t b = 0; b < sizeof taken.bits; b++) {
            if (known)
                masks[i].bits[b] &= online.bits[b];
            taken.bits[b] |= masks[i].bits[b];
        }
        find_near(root, &masks[i], near[i]);
        for (int level = 0; known && level < LEVELS; level++)
            for (size_t b = 0; b < sizeof online.bits; b++)
                near[i][level].bits[b] &= online.bits[b];
    }
    for (int i = 0; well && i < n; i++)
        out[i] = -1;
    /* level by level, so that a rank does not take away what is nearer to another */
    for (int level = 0; well && level < LEVELS; level++)
        for (int i = 0; i < n; i++) {
            if (out[i] >= 0)
                continue;
            out[i] = level == OWN ? second_of(masks, n, i) : highest_free(&near[i][level], &taken);
            if (out[i] >= 0)
                take(&taken, out[i]);
        }
    free(masks);
    free(near);
    return well;
}
