/* Shows the file CPUINFO in place of /proc/cpuinfo to what opens it with fopen. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FILE *fopen(const char *path, const char *mode) {
    FILE *(*real)(const char *, const char *);
    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    return real(strcmp(path, "/proc/cpuinfo") ? path : getenv("CPUINFO"), mode);
}
