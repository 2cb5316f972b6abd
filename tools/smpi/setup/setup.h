/* Between the files that stand in front of functions of libsimgrid's; see smpi.py. */
#ifndef STRETTO_SETUP_H
#define STRETTO_SETUP_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static inline void setup_die(const char *why) {
    fprintf(stderr, "smpi setup: %s\n", why);
    abort();
}

/* What would have been called. */
static inline void *setup_next_of(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        setup_die(name);
    return found;
}

#endif
