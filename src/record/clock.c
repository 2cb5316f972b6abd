#include "record/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

int stretto_clock = STRETTO_CLOCK_MONOTONIC;

static size_t read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

#if defined(__x86_64__)
/* CPUID promises a constant rate; that the cores are in step only the kernel knows, which tells by
 * its own choice of clock. */
static bool tsc_is_sound(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8)))
        return false;
    char source[64];
    read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
              sizeof source);
    static const char *const built_on_tsc[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                               "xen"};
    for (size_t i = 0; i < sizeof built_on_tsc / sizeof built_on_tsc[0]; i++)
        if (!strncmp(source, built_on_tsc[i], strlen(built_on_tsc[i])))
            return true;
    return false;
}
#endif

void stretto_clock_choose(void) {
#if defined(__x86_64__)
    if (tsc_is_sound())
        stretto_clock = STRETTO_CLOCK_TSC;
#elif defined(__aarch64__)
    stretto_clock = STRETTO_CLOCK_CNTVCT; /* architecturally constant and system-wide */
#endif
}

stretto_raw_instant stretto_clock_instant(void) {
    stretto_raw_instant best = {0, 0};
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = stretto_ticks();
        uint64_t ns = stretto_monotonic_ns();
        uint64_t after = stretto_ticks();
        if (after - before < shortest) {
            shortest = after - before;
            best = (stretto_raw_instant){before + (after - before) / 2, ns};
        }
    }
    return best;
}

double stretto_clock_rate(stretto_raw_instant first, stretto_raw_instant last) {
    if (stretto_clock == STRETTO_CLOCK_MONOTONIC || last.ns <= first.ns)
        return 1e9;
    return (double)(last.ticks - first.ticks) * 1e9 / (double)(last.ns - first.ns);
}

uint64_t stretto_clock_domain(void) {
    char boot[64];
    size_t n = read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (!n) /* unknown: this host alone */
        n = gethostname(boot, sizeof boot) ? 0 : strnlen(boot, sizeof boot);
    uint64_t hash = stretto_hash_bytes(boot, n, STRETTO_HASH_START);
    struct stat space;
    if (!stat("/proc/self/ns/time", &space))
        hash = stretto_hash_bytes(&space.st_ino, sizeof space.st_ino, hash);
    return hash;
}
