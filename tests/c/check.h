/* Checks for the C tests: a failed one is printed with its place and counted, and the test goes on.
 * main ends with `return check_report("what was checked");`, which is 0 only when none failed and
 * at least one was made. */
#ifndef STRETTO_CHECK_H
#define STRETTO_CHECK_H

#include <stdio.h>

static long check_made, check_failed;

#define CHECK(condition) CHECK_MSG(condition, "%s", #condition)

/* The message is formatted only when the condition is false. */
#define CHECK_MSG(condition, ...)                                                                  \
    do {                                                                                           \
        check_made++;                                                                              \
        if (!(condition)) {                                                                        \
            if (check_failed++ < 50) {                                                             \
                fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                    \
                fprintf(stderr, __VA_ARGS__);                                                      \
                fputc('\n', stderr);                                                               \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static inline int check_report(const char *what) {
    printf("%s: %ld checks, %ld failed\n", what, check_made, check_failed);
    return check_failed || !check_made;
}

#endif
