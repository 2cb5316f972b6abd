/* Where a process sits inside its node: the NUMA domain, package and last-level cache that all the
 * processors it may run on have in common. From the affinity mask and sysfs; no library, no MPI. */
#ifndef STRETTO_TOPO_H
#define STRETTO_TOPO_H

#include <stdbool.h>
#include <stddef.h>

enum { STRETTO_TOPO_CPUS = 8192 };

typedef struct {
    unsigned char bits[STRETTO_TOPO_CPUS / 8];
} stretto_cpus;

static inline bool stretto_cpus_has(const stretto_cpus *cpus, int cpu) {
    return cpus->bits[cpu / 8] >> cpu % 8 & 1;
}

/* "0-3,8,10-11" as in sysfs; empty text is the empty set. False on anything else. */
bool stretto_cpus_parse(const char *text, stretto_cpus *cpus);
/* The processors this process (its calling thread) may run on; false when the kernel does not say.
 */
bool stretto_cpus_allowed(stretto_cpus *cpus);

/* Numbers that are equal for two processes of a node when they share the thing. -1: the process is
 * not bound to one, or the kernel does not say. */
typedef struct {
    int numa;    /* number of the NUMA domain; 0 where the kernel knows of none */
    int package; /* lowest processor of the package (socket) */
    int cache;   /* lowest processor that shares the last-level cache */
} stretto_place;

/* The place of a process with this mask. root: "" for this machine, or a directory that holds
 * another one's sys/devices/system. Processors that are not online do not count. */
stretto_place stretto_topo_place(const char *root, const stretto_cpus *allowed);

/* Bytes of the level-2 cache of the first processor of the mask; 0: the kernel does not say. */
size_t stretto_topo_level2(const char *root, const stretto_cpus *allowed);

/* The domain of each of n places: out[i] equal for two that share the NUMA domain and the package
 * and, with `caches`, the last-level cache. False (out undefined) when one of them is not bound to
 * one domain: then all count as one. */
bool stretto_topo_domains(const stretto_place *places, int n, bool caches, int *out);

/* A hardware thread for a helper of each of n processes of this machine that may run on allowed[i]:
 * one where no process may run of its core; its own second one, when no other process may run on
 * its own; one where none may run of its last-level cache, or of its package. Given to one only.
 * out[i]: its number, -1 where there is none (processes that are not bound have none). False: no
 * memory. */
bool stretto_topo_spare(const char *root, const stretto_cpus *allowed, int n, int *out);

#endif
