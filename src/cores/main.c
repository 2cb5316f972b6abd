/* The command line, and the lines that are printed. */
#include "cores/cores.h"

#include "topo/sysfs.h"

#include <stdlib.h>
#include <string.h>

static int usage(void) {
    fprintf(stderr, "usage: stretto-cores places [ROOT]\n"
                    "       stretto-cores measure BYTES,... A:B...   (BYTES -: the flag alone; "
                    "normally run by `stretto net node`)\n");
    return 2;
}

/* For another machine's tree: all that it has. */
static int places(const char *root) {
    static stretto_cpus mine, one, core;
    bool known = root ? stretto_sysfs_online(root, &mine) : stretto_cpus_allowed(&mine);
    if (!known) {
        fprintf(stderr, "stretto-cores: the kernel does not list the processors\n");
        return 1;
    }
    root = root ? root : "";
    for (int cpu = 0; cpu < STRETTO_TOPO_CPUS; cpu++) {
        if (!stretto_cpus_has(&mine, cpu))
            continue;
        memset(&one, 0, sizeof one);
        one.bits[cpu / 8] = (unsigned char)(1u << cpu % 8);
        stretto_place place = stretto_topo_place(root, &one);
        int first = stretto_sysfs_core(root, cpu, &core) ? stretto_cpus_lowest(&core) : cpu;
        printf("{\"cpu\":%d,\"core\":%d,\"cache\":%d,\"numa\":%d,\"socket\":%d}\n", cpu, first,
               place.cache, place.numa, place.package);
    }
    return 0;
}

static bool read_sizes(const char *text, cores_pair *pair) {
    static const size_t most = (size_t)1 << 30;
    for (pair->sizes = 0; strcmp(text, "-") != 0; text++) {
        char *end;
        unsigned long bytes = strtoul(text, &end, 10);
        if (*text < '0' || *text > '9' || bytes < 1 || bytes > most ||
            pair->sizes == CORES_MOST_SIZES)
            return false;
        pair->size[pair->sizes++] = bytes;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end;
    }
    return true;
}

static void print_pair(const cores_pair *pair, const cores_took *took) {
    static const char *const names[CORES_WAYS] = {"shared", "cma", "xpmem"};
    const char *comma = "";
    printf("{\"a\":%d,\"b\":%d,\"flag_ns\":%.2f,\"cma_error\":%d,\"cma_strict\":%d,\"copies\":[",
           pair->cpu[0], pair->cpu[1], 1e9 * took->flag_s, took->cma_error, took->cma_strict);
    for (int way = 0; way < CORES_WAYS; way++)
        for (int i = 0; i < pair->sizes; i++) {
            const double one = took->copy_s[way][0][i], both = took->copy_s[way][1][i];
            if (one <= 0 || both <= 0)
                continue;
            printf("%s{\"way\":\"%s\",\"bytes\":%zu,\"bytes_s\":%.6g,\"both_bytes_s\":%.6g}", comma,
                   names[way], pair->size[i], (double)pair->size[i] / one,
                   2 * (double)pair->size[i] / both);
            comma = ",";
        }
    printf("]}\n");
    fflush(stdout); /* before the next fork */
}

int main(int argc, char **argv) {
    cores_pair pair;
    if (argc >= 2 && argc <= 3 && strcmp(argv[1], "places") == 0)
        return places(argc == 3 ? argv[2] : NULL);
    if (argc < 4 || strcmp(argv[1], "measure") != 0 || !read_sizes(argv[2], &pair))
        return usage();
    for (int i = 3; i < argc; i++) {
        char rest;
        cores_took took;
        if (sscanf(argv[i], "%d:%d%c", &pair.cpu[0], &pair.cpu[1], &rest) != 2 || pair.cpu[0] < 0 ||
            pair.cpu[1] < 0 || pair.cpu[0] == pair.cpu[1] || pair.cpu[0] >= STRETTO_TOPO_CPUS ||
            pair.cpu[1] >= STRETTO_TOPO_CPUS)
            return usage();
        if (!cores_measure(&pair, &took))
            return 1;
        print_pair(&pair, &took);
    }
    return 0;
}
