/* The topology parser on described machines: each tests/data/topology/NAME.machine becomes a tree
 * of sysfs files (README.md there), and the places and domains it expects are compared. */
#include "../check.h"
#include "topo/topo.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef TOPOLOGY_DATA
#define TOPOLOGY_DATA "tests/data/topology"
#endif

static char root[64];
static int tested, levels; /* lines about spare hardware threads, about L2 caches */
static const char *machine;

/* root/sys/devices/system/PATH with the text, folders made on the way. */
static void put(const char *path, const char *text) {
    char name[512];
    snprintf(name, sizeof name, "%s/sys/devices/system/%s", root, path);
    for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(name, 0700) && errno != EEXIST)
            CHECK_MSG(false, "mkdir %s", name);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    CHECK_MSG(file && fprintf(file, "%s\n", text) >= 0 && fclose(file) == 0, "%s", name);
}

static bool there(const char *path) {
    char name[512];
    snprintf(name, sizeof name, "%s/sys/devices/system/%s", root, path);
    return access(name, F_OK) == 0;
}

/* The same file for every processor of the list. */
static void put_each(const char *cpus, const char *file, const char *text) {
    stretto_cpus set;
    CHECK_MSG(stretto_cpus_parse(cpus, &set), "%s: %s", machine, cpus);
    for (int cpu = 0; cpu < STRETTO_TOPO_CPUS; cpu++) {
        char path[128];
        snprintf(path, sizeof path, "cpu/cpu%d/topology/%s", cpu, file);
        if (stretto_cpus_has(&set, cpu))
            put(path, text);
    }
}

static void put_cache(const char *level, const char *type, const char *cpus, const char *size) {
    stretto_cpus set;
    CHECK_MSG(stretto_cpus_parse(cpus, &set), "%s: %s", machine, cpus);
    for (int cpu = 0; cpu < STRETTO_TOPO_CPUS; cpu++) {
        char path[128];
        int index = 0;
        if (!stretto_cpus_has(&set, cpu))
            continue;
        for (;; index++) {
            snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/type", cpu, index);
            if (!there(path))
                break;
        }
        put(path, type);
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/level", cpu, index);
        put(path, level);
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, index);
        put(path, cpus);
        snprintf(path, sizeof path, "cpu/cpu%d/cache/index%d/size", cpu, index);
        if (size)
            put(path, size);
    }
}

static stretto_place place_of(const char *cpus) {
    stretto_cpus set;
    CHECK_MSG(stretto_cpus_parse(cpus, &set), "%s: %s", machine, cpus);
    return stretto_topo_place(root, &set);
}

static void check_place(const char *cpus, int numa, int package, int cache) {
    stretto_place got = place_of(cpus);
    CHECK_MSG(got.numa == numa && got.package == package && got.cache == cache,
              "%s: %s is at %d %d %d", machine, cpus, got.numa, got.package, got.cache);
}

static void check_level2(const char *cpus, long bytes) {
    stretto_cpus set;
    CHECK_MSG(stretto_cpus_parse(cpus, &set), "%s: %s", machine, cpus);
    size_t got = stretto_topo_level2(root, &set);
    CHECK_MSG(got == (size_t)bytes, "%s: %s has %zu bytes of L2", machine, cpus, got);
    levels++;
}

static void check_domains(char *line) {
    enum { MOST = 64 };
    stretto_place places[MOST];
    int n = 0, out[MOST], first[MOST], seen = 0;
    bool caches = strncmp(line, "caches ", 7) == 0;
    char *expected = strstr(line, " = "), *save;
    CHECK_MSG(expected, "%s: %s", machine, line);
    if (!expected)
        return;
    *expected = '\0';
    for (char *mask = strtok_r(line + (caches ? 7 : 0), "/", &save); mask && n < MOST;
         mask = strtok_r(NULL, "/", &save))
        places[n++] = place_of(mask);
    bool found = stretto_topo_domains(places, n, caches, out);
    CHECK_MSG(found == !strstr(expected + 3, "one"), "%s: %s", machine, line);
    if (!found)
        return;
    char *number = expected + 3;
    for (int i = 0; i < n; i++) { /* numbered by first appearance, as the file writes them */
        int domain = 0;
        for (int j = 0; j < i && out[j] != out[i]; j++)
            domain = j + 1;
        first[i] = domain == i ? seen++ : first[domain];
        CHECK_MSG(strtol(number, &number, 10) == first[i], "%s: %s: rank %d is in %d", machine,
                  line, i, first[i]);
    }
}

/* "CPUS/CPUS/... = CPU CPU ...": the spare hardware threads of ranks with those masks. */
static void check_spare(char *line) {
    enum { MOST = 64 };
    static stretto_cpus allowed[MOST];
    int n = 0, out[MOST];
    char *expected = strstr(line, " = "), *save = NULL;
    CHECK_MSG(expected, "%s: %s", machine, line);
    *expected = '\0';
    for (char *mask = strtok_r(line, "/", &save); mask && n < MOST;
         mask = strtok_r(NULL, "/", &save))
        CHECK_MSG(stretto_cpus_parse(mask, &allowed[n++]), "%s: %s", machine, mask);
    CHECK(stretto_topo_spare(root, allowed, n, out));
    char *number = expected + 3;
    for (int i = 0; i < n; i++) {
        long wanted = strtol(number, &number, 10);
        CHECK_MSG(out[i] == wanted, "%s: spare of rank %d is %d, not %ld", machine, i, out[i],
                  wanted);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void run(const char *path) {
    char line[512], a[256], b[256], c[256], d[256], nodes[256] = "";
    int x, y, z, n, places = 0, spares = 0;
    long bytes;
    FILE *file = fopen(path, "r");
    machine = strrchr(path, '/') + 1;
    strcpy(root, "/tmp/stretto-topo-XXXXXX");
    CHECK(file && mkdtemp(root));
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#' || !*line)
            continue;
        if (sscanf(line, "online %255s", a) == 1) {
            put("cpu/online", a);
        } else if (sscanf(line, "node %d %255s", &x, a) == 2) {
            char name[64];
            snprintf(name, sizeof name, "node/node%d/cpulist", x);
            put(name, *a == '-' ? "" : a);
            sprintf(nodes + strlen(nodes), "%s%d", *nodes ? "," : "", x);
            put("node/online", nodes);
        } else if (sscanf(line, "package %255s", a) == 1) {
            put_each(a, "package_cpus_list", a);
        } else if (sscanf(line, "siblings %255s", a) == 1) {
            put_each(a, "core_siblings_list", a);
        } else if (sscanf(line, "core %255s", a) == 1) {
            put_each(a, "core_cpus_list", a);
        } else if (sscanf(line, "threads %255s", a) == 1) {
            put_each(a, "thread_siblings_list", a);
        } else if ((n = sscanf(line, "cache %255s %255s %255s %255s", a, b, c, d)) >= 3) {
            put_cache(a, b, c, n == 4 ? d : NULL);
        } else if (sscanf(line, "level2 %255s %ld", a, &bytes) == 2) {
            check_level2(a, bytes);
        } else if (sscanf(line, "place %255s %d %d %d", a, &x, &y, &z) == 4) {
            check_place(a, x, y, z);
            places++;
        } else if (strncmp(line, "domains ", 8) == 0) {
            check_domains(line + 8);
        } else if (strncmp(line, "spare ", 6) == 0) {
            check_spare(line + 6);
            spares++;
        } else {
            CHECK_MSG(false, "%s: what is '%s'?", machine, line);
        }
    }
    CHECK_MSG(places, "%s: no places", machine);
    tested += spares;
    fclose(file);
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void check_lists(void) {
    static const char *const bad[] = {"a", "1-", "-3", "3-1", "1,,2", "1;2", "0-8192", "1 2", "1,"};
    stretto_cpus cpus;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_MSG(!stretto_cpus_parse(bad[i], &cpus), "'%s' was taken", bad[i]);
    CHECK(stretto_cpus_parse("\n", &cpus) && stretto_cpus_parse("", &cpus));
    CHECK(stretto_cpus_parse("0,3-5,8191\n", &cpus));
    for (int cpu = 0; cpu < STRETTO_TOPO_CPUS; cpu++)
        CHECK(stretto_cpus_has(&cpus, cpu) == (cpu == 0 || (cpu >= 3 && cpu <= 5) || cpu == 8191));
}

/* This very machine: whatever it is, the mask is not empty and the parser comes back. */
static void check_here(void) {
    stretto_cpus cpus;
    bool any = false;
    CHECK(stretto_cpus_allowed(&cpus));
    for (int cpu = 0; cpu < STRETTO_TOPO_CPUS; cpu++)
        any |= stretto_cpus_has(&cpus, cpu);
    CHECK(any);
    stretto_place place = stretto_topo_place("", &cpus);
    printf("here: domain %d, package %d, cache %d, L2 of %zu bytes\n", place.numa, place.package,
           place.cache, stretto_topo_level2("", &cpus));
    CHECK(place.numa >= -1);
}

int main(void) {
    glob_t files;
    CHECK(glob(TOPOLOGY_DATA "/*.machine", 0, NULL, &files) == 0 && files.gl_pathc >= 10);
    for (size_t i = 0; i < files.gl_pathc; i++)
        run(files.gl_pathv[i]);
    globfree(&files);
    CHECK(tested >= 8 && levels >= 6);
    check_lists();
    check_here();
    return check_report("where ranks sit");
}
