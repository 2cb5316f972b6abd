/* Commands from standard input, one a line; answers are JSON objects, one a line:
 *
 *   token HEX                                     of this run; nothing is served without it
 *   listen address=A port=P [device=D]            {"event":"listening",...}; port 0: any
 *   run id=N address=A port=P [bind=A] [device=D] mode=... (net_format in session.c)
 *                                                 {"event":"result",...} or {"event":"error",...}
 *   rails [root=FOLDER]                           {"event":"rails",...}: bytes of each interface,
 * of this host or of a recorded one quit                                          as the end of the
 * input
 *
 * The first line of output says what this host is: {"event":"hello",...}.
 */
#include "net/net.h"
#include "net/rails.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

static char token[NET_TOKEN_MOST + 1];

/* The first line of a file of the kernel's, "" where there is none. */
static void read_file(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    text[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(text, (int)size, file) == NULL)
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

static void put_setting(FILE *out, const char *key, const char *path) {
    char text[128];
    read_file(path, text, sizeof text);
    fprintf(out, ",\"%s\":", key);
    net_json_text(out, text);
}

static bool is_in_path(const char *program) {
    const char *path = getenv("PATH");
    char file[512];
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
        if (access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static void put_interface(FILE *out, const struct ifaddrs *one, int fd, bool first) {
    char address[INET6_ADDRSTRLEN] = "", path[128], speed[32];
    const struct sockaddr *own = one->ifa_addr;
    if (own->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)own)->sin_addr, address,
                  sizeof address);
    else
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)own)->sin6_addr, address,
                  sizeof address);
    struct ifreq request = {0};
    strncpy(request.ifr_name, one->ifa_name, IFNAMSIZ - 1);
    int mtu = ioctl(fd, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", one->ifa_name);
    read_file(path, speed, sizeof speed);
    fprintf(out, "%s{\"name\":", first ? "" : ",");
    net_json_text(out, one->ifa_name);
    fprintf(out, ",\"address\":\"%s\",\"mtu\":%d,\"speed_mbits\":%ld}", address, mtu,
            strtol(speed, NULL, 10));
}

static void put_interfaces(FILE *out) {
    struct ifaddrs *all = NULL;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool first = true;
    if (fd < 0 || getifaddrs(&all) != 0)
        all = NULL;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr == NULL || !(one->ifa_flags & IFF_UP) ||
            (one->ifa_flags & IFF_LOOPBACK) ||
            (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6))
            continue;
        put_interface(out, one, fd, first);
        first = false;
    }
    if (all != NULL)
        freeifaddrs(all);
    if (fd >= 0)
        close(fd);
}

static void hello(void) {
    char *text = NULL;
    size_t size = 0;
    struct utsname system = {0};
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        exit(1);
    uname(&system);
    fprintf(out, "{\"event\":\"hello\",\"version\":%d,\"host\":", NET_VERSION);
    net_json_text(out, system.nodename);
    fputs(",\"kernel\":", out);
    net_json_text(out, system.release);
    fprintf(out, ",\"cores\":%ld,\"iperf3\":%s", sysconf(_SC_NPROCESSORS_ONLN),
            is_in_path("iperf3") ? "true" : "false");
    put_setting(out, "congestion", "/proc/sys/net/ipv4/tcp_congestion_control");
    put_setting(out, "tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem");
    put_setting(out, "tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem");
    put_setting(out, "wmem_max", "/proc/sys/net/core/wmem_max");
    put_setting(out, "rmem_max", "/proc/sys/net/core/rmem_max");
    fputs(",\"interfaces\":[", out);
    put_interfaces(out);
    fputs("]}", out);
    if (fclose(out) == 0)
        net_print(text);
    free(text);
}

static void rails(const char *line) {
    stretto_rail found[STRETTO_RAILS_MOST];
    char root[400] = "", *text = NULL;
    size_t size = 0;
    net_word(line, "root", root, sizeof root);
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        exit(1);
    fputs("{\"event\":\"rails\",\"rails\":", out);
    stretto_rails_write(out, found, stretto_rails_read(root, found, STRETTO_RAILS_MOST));
    fputs("}", out);
    if (fclose(out) == 0)
        net_print(text);
    free(text);
}

static void *run(void *line) {
    net_run(line, token);
    free(line);
    return NULL;
}

static void listen_on(const char *line) {
    struct net_failure failure = {0};
    char address[64] = "", port[16] = "0", device[16] = "", text[512];
    int taken = 0;
    net_word(line, "address", address, sizeof address);
    net_word(line, "port", port, sizeof port);
    net_word(line, "device", device, sizeof device);
    if (net_serve(address, atoi(port), device, token, &taken, &failure))
        snprintf(text, sizeof text, "{\"event\":\"listening\",\"port\":%d}", taken);
    else
        snprintf(text, sizeof text,
                 "{\"event\":\"error\",\"id\":-1,\"kind\":\"%s\",\"text\":\"%s\"}", failure.kind,
                 failure.text);
    net_print(text);
}

/* A word of the token is a letter or a digit: it stands in lines. */
static bool take_token(const char *word) {
    size_t length = strlen(word);
    bool good = length >= 16 && length <= NET_TOKEN_MOST && token[0] == '\0';
    for (size_t i = 0; good && i < length; i++)
        good = isalnum((unsigned char)word[i]) != 0;
    if (good)
        memcpy(token, word, length + 1);
    return good;
}

static bool obey(const char *line) {
    if (strncmp(line, "token ", 6) == 0)
        return take_token(line + 6);
    if (token[0] == '\0')
        return false;
    if (strncmp(line, "listen ", 7) == 0) {
        listen_on(line + 7);
    } else if (strncmp(line, "rails", 5) == 0) {
        rails(line + 5);
    } else if (strncmp(line, "run ", 4) == 0) {
        pthread_t thread;
        char *copy = strdup(line + 4);
        if (copy == NULL || pthread_create(&thread, NULL, run, copy) != 0)
            return false;
        pthread_detach(thread);
    } else {
        return false; /* quit, and what it does not know */
    }
    return true;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        fprintf(stderr, "%s: takes no arguments; `stretto net` starts it\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    hello();
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!obey(line))
            break;
    }
    free(line);
    fflush(stdout);
    _exit(0); /* whatever is being measured */
}
