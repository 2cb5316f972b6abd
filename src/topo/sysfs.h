/* Lists of processors as the kernel tells them (files of sysfs), for the parts of topo/. `root` as
 * in topo.h. False: this kernel, or this machine, does not tell. */
#ifndef STRETTO_TOPO_SYSFS_H
#define STRETTO_TOPO_SYSFS_H

#include "topo/topo.h"

/* -1: the set is empty. */
int stretto_cpus_lowest(const stretto_cpus *cpus);
bool stretto_sysfs_online(const char *root, stretto_cpus *cpus);
/* The hardware threads of a processor's core; those of its package. */
bool stretto_sysfs_core(const char *root, int cpu, stretto_cpus *cpus);
bool stretto_sysfs_package(const char *root, int cpu, stretto_cpus *cpus);
/* Those that share the last-level cache for data with `cpu`; false, too, when not all of `mine` do.
 */
bool stretto_sysfs_cache(const char *root, const stretto_cpus *mine, int cpu, stretto_cpus *cpus);

#endif
