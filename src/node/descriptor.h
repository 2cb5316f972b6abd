/* A file that is kept open while the application runs. Programs close numbers that are not theirs
 * (one of their own twice, say, when it has become ours in between), and then have a file of their
 * own under the number: before anything is done to the file, it is asked whether it is still the
 * one that was opened.
 */
#ifndef STRETTO_DESCRIPTOR_H
#define STRETTO_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
} stretto_descriptor;

#define STRETTO_NO_DESCRIPTOR                                                                      \
    { -1, 0, 0 }

/* Remembers fd, which may be -1. */
static inline stretto_descriptor stretto_descriptor_of(int fd) {
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return (stretto_descriptor)STRETTO_NO_DESCRIPTOR;
    return (stretto_descriptor){fd, st.st_dev, st.st_ino};
}

static inline bool stretto_descriptor_is_ours(const stretto_descriptor *d) {
    struct stat st;
    return d->fd >= 0 && fstat(d->fd, &st) == 0 && st.st_dev == d->device && st.st_ino == d->inode;
}

static inline void stretto_descriptor_close(stretto_descriptor *d) {
    if (stretto_descriptor_is_ours(d))
        close(d->fd);
    d->fd = -1;
}

#endif
