/* Who takes the application's MPI calls before this library: a tool that is preloaded in front of
 * it, or that the program itself holds. The library does not see what it takes. */
#ifndef STRETTO_FRONT_H
#define STRETTO_FRONT_H

#include <stddef.h>
#include <stdint.h>

/* The object that takes calls (the program's file, where it does so itself), "" where there is
 * none. Returns a digest of what is taken, 0: nothing. */
uint64_t stretto_front(char *path, size_t size);

#endif
