/* Counters of the kernel and of RDMA drivers, from sysfs. */
#include "net/rails.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPBACK = 772 }; /* <net/if_arp.h> */

/* The first line of a file; false: there is none. */
static bool line_of(char *text, int size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool line_of(char *text, int size, const char *format, ...) {
    char path[1024];
    va_list words;
    va_start(words, format);
    int length = vsnprintf(path, sizeof path, format, words);
    va_end(words);
    text[0] = '\0';
    FILE *file = length < (int)sizeof path ? fopen(path, "re") : NULL;
    if (!file)
        return false;
    bool found = fgets(text, size, file) != NULL; /* fails where a driver has no answer */
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return found;
}

static bool number_of(unsigned long long *value, const char *folder, const char *file) {
    char text[64];
    bool found = line_of(text, sizeof text, "%s/%s", folder, file);
    *value = found ? strtoull(text, NULL, 0) : 0;
    return found;
}

static bool has_lower(const char *folder) {
    DIR *all = opendir(folder);
    bool found = false;
    for (struct dirent *one; all && !found && (one = readdir(all));)
        found = strncmp(one->d_name, "lower_", 6) == 0;
    if (all)
        closedir(all);
    return found;
}

static bool read_interface(const char *folder, const char *name, stretto_rail *rail) {
    unsigned long long type, speed;
    char state[32];
    if (!number_of(&type, folder, "type") || type == LOOPBACK || has_lower(folder))
        return false;
    line_of(state, sizeof state, "%s/operstate", folder);
    /* `unknown`: the driver does not report it (tunnels, some virtual interfaces) */
    rail->up = strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0;
    number_of(&speed, folder, "speed"); /* -1 where it is not known */
    rail->speed_mbits = (long)speed > 0 ? (long)speed : 0;
    snprintf(rail->name, sizeof rail->name, "%.60s", name);
    return number_of(&rail->sent, folder, "statistics/tx_bytes") &&
           number_of(&rail->received, folder, "statistics/rx_bytes");
}

/* EFA counts bytes; InfiniBand and RoCE count words of four. */
static bool read_port(const char *folder, const char *device, const char *port,
                      stretto_rail *rail) {
    char text[64];
    rail->rdma = true;
    rail->up = line_of(text, sizeof text, "%s/state", folder) && strstr(text, "ACTIVE");
    line_of(text, sizeof text, "%s/rate", folder);
    rail->speed_mbits = (long)(1000 * strtod(text, NULL)); /* 100 Gb/sec (4X EDR) */
    snprintf(rail->name, sizeof rail->name, "%.40s:%.16s", device, port);
    if (number_of(&rail->sent, folder, "hw_counters/tx_bytes") &&
        number_of(&rail->received, folder, "hw_counters/rx_bytes"))
        return true;
    bool found = number_of(&rail->sent, folder, "counters/port_xmit_data") &&
                 number_of(&rail->received, folder, "counters/port_rcv_data");
    rail->sent *= 4;
    rail->received *= 4;
    return found;
}

static int read_ports(const char *folder, const char *device, stretto_rail *rails, int most) {
    char path[768];
    int count = 0;
    DIR *ports = opendir(folder);
    for (struct dirent *one; ports && count < most && (one = readdir(ports));) {
        rails[count] = (stretto_rail){0};
        snprintf(path, sizeof path, "%.500s/%.200s", folder, one->d_name);
        if (one->d_name[0] != '.' && read_port(path, device, one->d_name, &rails[count]))
            count++;
    }
    if (ports)
        closedir(ports);
    return count;
}

int stretto_rails_read(const char *root, stretto_rail *rails, int most) {
    char folder[512], path[768];
    int count = 0;
    snprintf(folder, sizeof folder, "%.400s/sys/class/net", root);
    DIR *all = opendir(folder);
    for (struct dirent *one; all && count < most && (one = readdir(all));) {
        rails[count] = (stretto_rail){0};
        snprintf(path, sizeof path, "%.450s/%.64s", folder, one->d_name);
        if (one->d_name[0] != '.' && read_interface(path, one->d_name, &rails[count]))
            count++;
    }
    if (all)
        closedir(all);
    snprintf(folder, sizeof folder, "%.400s/sys/class/infiniband", root);
    all = opendir(folder);
    for (struct dirent *one; all && count < most && (one = readdir(all));) {
        snprintf(path, sizeof path, "%.450s/%.64s/ports", folder, one->d_name);
        if (one->d_name[0] != '.')
            count += read_ports(path, one->d_name, rails + count, most - count);
    }
    if (all)
        closedir(all);
    return count;
}

void stretto_rails_write(FILE *out, const stretto_rail *rails, int count) {
    fputc('[', out);
    for (int i = 0; i < count; i++) {
        const stretto_rail *rail = &rails[i];
        fprintf(out, "%s{\"name\":\"", i ? "," : "");
        for (const char *c = rail->name; *c; c++) /* what JSON has to escape is left out */
            if ((unsigned char)*c >= ' ' && *c != '"' && *c != '\\')
                fputc(*c, out);
        fprintf(out,
                "\",\"rdma\":%s,\"up\":%s,\"speed_mbits\":%ld,\"sent\":%llu,\"received\":%llu}",
                rail->rdma ? "true" : "false", rail->up ? "true" : "false", rail->speed_mbits,
                rail->sent, rail->received);
    }
    fputc(']', out);
}
