/* Files that somebody else may have put there: refused in words, at once, and never overwritten. */
#include "files/regular.h"

#include "../check.h"

#include <stdio.h>
#include <string.h>

static const size_t LIMIT = 64 << 10;
static char here[] = "/tmp/stretto-regular.XXXXXX";

static const char *in(const char *name) {
    static char path[4][128];
    static int at;
    char *out = path[at = (at + 1) % 4];
    snprintf(out, sizeof *path, "%s/%s", here, name);
    return out;
}

static void fill(const char *name, const char *text, off_t size) {
    int fd = open(in(name), O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(size == 0 || ftruncate(fd, size) == 0);
    close(fd);
}

int main(void) {
    CHECK(mkdtemp(here) != NULL);
    fill("file", "text", 0);
    fill("empty", "", 0);
    fill("sparse", "", (off_t)1 << 40);
    fill("full", "", (off_t)LIMIT);
    CHECK(mkfifo(in("fifo"), 0600) == 0 && mkdir(in("directory"), 0700) == 0);
    CHECK(symlink("file", in("link")) == 0 && symlink("none", in("dangling")) == 0);
    const struct {
        const char *name, *read, *written; /* the reason; NULL: none */
    } cases[] = {
        {"file", NULL, NULL},
        {"empty", NULL, NULL},
        {"full", NULL, NULL},
        {"sparse", "it is too large", NULL},
        {"fifo", "it is not a regular file", "No such device or address"}, /* without a reader */
        {"directory", "it is not a regular file", "Is a directory"},
        {"link", NULL, "it is a symbolic link"},
        {"dangling", "No such file or directory", "it is a symbolic link"},
        {"../../dev/zero", "it is not a regular file", "it is not a regular file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = NULL, *path = in(cases[i].name);
        size_t size = 0;
        char *text = stretto_read_regular(path, LIMIT, &size, &why);
        CHECK_MSG(!cases[i].read == !!text && (text || strcmp(why, cases[i].read) == 0),
                  "%s: read: %s", path, text ? "well" : why);
        CHECK(!text || text[size] == '\0');
        free(text);
        int fd = stretto_open_regular(path, O_WRONLY | O_CREAT | O_APPEND, &why);
        CHECK_MSG(!cases[i].written == (fd >= 0) && (fd >= 0 || strcmp(why, cases[i].written) == 0),
                  "%s: written: %s", path, fd >= 0 ? "well" : why);
        if (fd >= 0)
            close(fd);
    }
    size_t size;
    const char *why;
    char *text = stretto_read_regular(in("link"), LIMIT, &size, &why);
    CHECK(text && size == 4 && strcmp(text, "text") == 0);
    free(text);
    CHECK(access(in("none"), F_OK) != 0);
    const char *names[] = {"file", "empty", "sparse", "full", "fifo", "link", "dangling"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in(names[i]));
    rmdir(in("directory"));
    rmdir(here);
    return check_report("regular files");
}
