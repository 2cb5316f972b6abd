/* See topo.h. Of sysfs lists of processors are read and a size, as the kernel's documentation
 * describes them (Documentation/ABI/stable/sysfs-devices-node,
 * .../testing/sysfs-devices-system-cpu); a file that is not there means that this kernel, or this
 * machine, does not tell. */
#include "topo/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool stretto_cpus_parse(const char *text, stretto_cpus *cpus) {
    memset(cpus, 0, sizeof *cpus);
    while (*text == ' ' || *text == '\n')
        text++;
    while (*text && *text != '\n') {
        char *end;
        if (*text < '0' || *text > '9')
            return false;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-') {
            text = end + 1;
            if (*text < '0' || *text > '9')
                return false;
            last = strtoul(text, &end, 10);
        }
        if (last < first || last >= STRETTO_TOPO_CPUS)
            return false;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            cpus->bits[cpu / 8] |= (unsigned char)(1u << cpu % 8);
        if (*end == ',' && end[1] >= '0' && end[1] <= '9')
            end++;
        else if (*end && *end != '\n')
            return false;
        text = end;
    }
    return true;
}

bool stretto_cpus_allowed(stretto_cpus *cpus) {
    /* the kernel refuses a mask shorter than its own */
    static const size_t bytes = sizeof cpus->bits;
    cpu_set_t *set = malloc(bytes);
    bool well = set && sched_getaffinity(0, bytes, set) == 0;
    memset(cpus, 0, sizeof *cpus);
    for (int cpu = 0; well && cpu < STRETTO_TOPO_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, bytes, set))
            cpus->bits[cpu / 8] |= (unsigned char)(1u << cpu % 8);
    free(set);
    return well;
}

/* A file's first bytes as text; false when it cannot be read or is longer. */
static bool read_text(const char *root, const char *path, char *text, size_t size) {
    char name[512];
    if (snprintf(name, sizeof name, "%s/sys/devices/system/%s", root, path) >= (int)sizeof name)
        return false;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n;
    while (used < size && (n = read(fd, text + used, size - used)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    if (n != 0 || used >= size)
        return false;
    text[used] = '\0';
    return true;
}

static bool read_cpus(const char *root, const char *path, stretto_cpus *cpus) {
    char text[16384];
    return read_text(root, path, text, sizeof text) && stretto_cpus_parse(text, cpus);
}

int stretto_cpus_lowest(const stretto_cpus *cpus) {
    for (int cpu = 0; cpu < STRETTO_TOPO_CPUS; cpu++)
        if (stretto_cpus_has(cpus, cpu))
            return cpu;
    return -1;
}

static bool within(const stretto_cpus *part, const stretto_cpus *whole) {
    for (size_t i = 0; i < sizeof part->bits; i++)
        if (part->bits[i] & ~whole->bits[i])
            return false;
    return true;
}

/* Nodes that have memory only hold no processor and are never anybody's. */
static int numa_of(const char *root, const stretto_cpus *mine) {
    stretto_cpus online, cpus; /* the nodes' numbers are a list like that of processors */
    if (!read_cpus(root, "node/online", &online))
        return 0;
    for (int node = 0; node < STRETTO_TOPO_CPUS; node++) {
        char path[64];
        if (!stretto_cpus_has(&online, node))
            continue;
        snprintf(path, sizeof path, "node/node%d/cpulist", node);
        if (!read_cpus(root, path, &cpus))
            return -1;
        if (within(mine, &cpus))
            return node;
    }
    return -1;
}

bool stretto_sysfs_online(const char *root, stretto_cpus *cpus) {
    return read_cpus(root, "cpu/online", cpus);
}

/* Newer and older kernels' names. */
static bool read_topology(const char *root, int cpu, const char *newer, const char *older,
                          stretto_cpus *cpus) {
    const char *const names[] = {newer, older};
    for (size_t i = 0; i < 2; i++) {
        char path[96];
        snprintf(path, sizeof path, "cpu/cpu%d/topology/%s", cpu, names[i]);
        if (read_cpus(root, path, cpus))
            return true;
    }
    return false;
}

bool stretto_sysfs_core(const char *root, int cpu, stretto_cpus *cpus) {
    return read_topology(root, cpu, "core_cpus_list", "thread_siblings_list", cpus);
}

bool stretto_sysfs_package(const char *root, int cpu, stretto_cpus *cpus) {
    return read_topology(root, cpu, "package_cpus_list", "core_siblings_list", cpus);
}

/* Of the caches for data the one of the highest level. */
bool stretto_sysfs_cache(const char *root, const stretto_cpus *mine, int cpu, stretto_cpus *cpus) {
    int highest = 0;
    bool found = false;
    for (int index = 0; index < 16; index++) {
        char path[96], text[64];
        stretto_cpus these;
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/type", cpu, index);
        if (!read_text(root, path, text, sizeof text))
            break;
        if (strncmp(text, "Instruction", 11) == 0)
            continue;
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/level", cpu, index);
        int level = read_text(root, path, text, sizeof text) ? atoi(text) : 0;
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, index);
        if (level <= highest || !read_cpus(root, path, &these))
            continue;
        highest = level;
        found = within(mine, &these);
        *cpus = these;
    }
    return found;
}

/* "1024K" and a line's end, as the kernel writes it. 0: something else. */
static size_t parse_size(const char *text) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || number > SIZE_MAX >> 10 || *end != 'K' ||
        (end[1] && end[1] != '\n'))
        return 0;
    return number << 10;
}

size_t stretto_topo_level2(const char *root, const stretto_cpus *allowed) {
    const int cpu = stretto_cpus_lowest(allowed);
    for (int index = 0; cpu >= 0 && index < 16; index++) {
        char path[96], text[64];
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/level", cpu, index);
        if (!read_text(root, path, text, sizeof text))
            break;
        if (atoi(text) != 2)
            continue;
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/size", cpu, index);
        return read_text(root, path, text, sizeof text) ? parse_size(text) : 0;
    }
    return 0;
}

stretto_place stretto_topo_place(const char *root, const stretto_cpus *allowed) {
    stretto_cpus mine = *allowed, online;
    if (stretto_sysfs_online(root, &online))
        for (size_t i = 0; i < sizeof mine.bits; i++)
            mine.bits[i] &= online.bits[i];
    int cpu = stretto_cpus_lowest(&mine);
    if (cpu < 0)
        return (stretto_place){-1, -1, -1};
    stretto_cpus cpus;
    bool one = stretto_sysfs_package(root, cpu, &cpus) && within(&mine, &cpus);
    int package = one ? stretto_cpus_lowest(&cpus) : -1;
    one = stretto_sysfs_cache(root, &mine, cpu, &cpus);
    return (stretto_place){numa_of(root, &mine), package, one ? stretto_cpus_lowest(&cpus) : -1};
}

/* A machine that does not tell its packages has one; that some ranks' are known and others' not
 * means that those are not bound. */
bool stretto_topo_domains(const stretto_place *places, int n, bool caches, int *out) {
    bool packages = false;
    for (int i = 0; i < n; i++)
        packages |= places[i].package >= 0;
    for (int i = 0; i < n; i++) {
        const stretto_place *p = &places[i];
        if (p->numa < 0 || (packages && p->package < 0) || (caches && p->cache < 0))
            return false;
        out[i] = i;
        for (int j = 0; j < i && out[i] == i; j++)
            if (places[j].numa == p->numa && places[j].package == p->package &&
                (!caches || places[j].cache == p->cache))
                out[i] = out[j];
    }
    return true;
}
