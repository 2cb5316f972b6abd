/* Opening files that somebody else may have put there: the only way in which Stretto opens those
 * whose names it is given. A name may stand for a pipe without a writer, a device without an end, a
 * file larger than the memory, or a link to something that must not be overwritten.
 */
#ifndef STRETTO_REGULAR_H
#define STRETTO_REGULAR_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The descriptor of a regular file, or -1 with the reason in words. Whoever writes never does so
 * through a symbolic link, and nobody waits for the other end of a pipe. */
static inline int stretto_open_regular(const char *path, int flags, const char **why) {
    bool writing = (flags & O_ACCMODE) != O_RDONLY;
    int fd =
        open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (writing ? O_NOFOLLOW : 0), 0666);
    struct stat st;
    *why = "it is not a regular file";
    if (fd < 0) {
        *why = errno == ELOOP && writing ? "it is a symbolic link" : strerror(errno);
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return -1;
}

/* A regular file's text with a NUL behind it, or NULL with the reason in words. Free it. */
static inline char *stretto_read_regular(const char *path, size_t limit, size_t *size,
                                         const char **why) {
    int fd = stretto_open_regular(path, O_RDONLY, why);
    struct stat st;
    char *text = NULL;
    size_t used = 0, room = 0;
    *size = 0;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && (unsigned long long)st.st_size > limit) {
        *why = "it is too large";
        goto bad;
    }
    for (;;) {
        if (room - used < 2) {
            room = room ? 2 * room : 8192;
            char *more = used <= limit ? realloc(text, room) : NULL;
            if (!more) {
                *why = used <= limit ? "out of memory" : "it is too large";
                goto bad;
            }
            text = more;
        }
        ssize_t n = read(fd, text + used, room - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            *why = strerror(errno);
            goto bad;
        }
        if (n == 0)
            break;
        used += (size_t)n;
    }
    text[used] = '\0';
    *size = used;
    close(fd);
    return text;
bad:
    free(text);
    close(fd);
    return NULL;
}

#endif
