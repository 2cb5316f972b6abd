/* Which memory of which peer is attached where. See xpmem.h. */
#include "node/xpmem.h"

#include "node/descriptor.h"
#include "node/tuning.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of the library's interface. */
enum { PERMIT_MODE = 1, READ_WRITE = 2, OWNER_ONLY = 0600 };
static const int first_version = 0x00022000, last_version = 0x0002ffff; /* 12 bits major: 2 */

enum { PAGE = 4096, TOUCHES = STRETTO_NODE_ATTACH_TOUCH / PAGE };

typedef struct {
    uint64_t from, to;             /* of the peer's address space */
    uint64_t known_from, known_to; /* whose pages were seen to be there */
    unsigned char *at;             /* NULL: unused, or being attached (users is then 1) */
    int users;                     /* whoever counts here may look at it without the lock */
    uint64_t last_use;
} attachment;

typedef struct {
    int64_t apid; /* -1: none */
    attachment kept[STRETTO_NODE_ATTACHMENTS];
} peer_state;

stretto_xpmem_library stretto_xpmem;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static peer_state *peers;
static int npeers;
static uint64_t uses;
static int64_t own_segid = -1;
/* a file that what was touched is written to */
static stretto_descriptor sink = STRETTO_NO_DESCRIPTOR;

static bool load_library(void) {
    static const struct {
        const char *name;
        size_t at;
    } functions[] = {{"xpmem_version", offsetof(stretto_xpmem_library, version)},
                     {"xpmem_make", offsetof(stretto_xpmem_library, make)},
                     {"xpmem_remove", offsetof(stretto_xpmem_library, remove)},
                     {"xpmem_get", offsetof(stretto_xpmem_library, get)},
                     {"xpmem_release", offsetof(stretto_xpmem_library, release)},
                     {"xpmem_attach", offsetof(stretto_xpmem_library, attach)},
                     {"xpmem_detach", offsetof(stretto_xpmem_library, detach)}};
    if (stretto_xpmem.version)
        return true;
    void *library = dlopen("libxpmem.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libxpmem.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        dlerror(); /* is no error of the application's */
        return false;
    }
    stretto_xpmem_library found;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) {
            dlclose(library);
            dlerror();
            return false;
        }
        memcpy((char *)&found + functions[i].at, &function, sizeof function);
    }
    stretto_xpmem = found;
    return true;
}

int64_t stretto_xpmem_offer(void) {
    if (!load_library())
        return -1;
    int version = stretto_xpmem.version(); /* -1: no kernel module, or no right to use it */
    if (version < first_version || version > last_version)
        return -1;
    if (sink.fd < 0)
        sink = stretto_descriptor_of(memfd_create("stretto-xpmem", MFD_CLOEXEC));
    if (own_segid < 0 && sink.fd >= 0) /* all addresses: the size that means so */
        own_segid = stretto_xpmem.make(NULL, SIZE_MAX, PERMIT_MODE, (void *)(uintptr_t)OWNER_ONLY);
    return own_segid > 0 ? own_segid : -1;
}

bool stretto_xpmem_join(int n, const int64_t *offers) {
    peers = calloc((size_t)n, sizeof *peers);
    if (!peers)
        return false;
    npeers = n;
    bool all = true;
    for (int i = 0; i < n; i++) {
        peers[i].apid = -1;
        if (offers[i] > 0 && all)
            peers[i].apid = stretto_xpmem.get(offers[i], READ_WRITE, PERMIT_MODE, NULL);
        all &= peers[i].apid > 0;
    }
    return all;
}

bool stretto_xpmem_sees(int peer, uint64_t address, uint64_t expected) {
    stretto_mapping mapping;
    uint64_t word;
    if (!stretto_xpmem_map(peer, address, sizeof word, NULL, NULL, &mapping))
        return false;
    memcpy(&word, mapping.at, sizeof word);
    stretto_xpmem_unmap(&mapping);
    return word == expected;
}

static void drop(attachment *a) {
    (void)stretto_xpmem.detach(a->at);
    memset(a, 0, sizeof *a);
}

void stretto_xpmem_leave(void) {
    for (int i = 0; i < npeers; i++) {
        for (int k = 0; k < STRETTO_NODE_ATTACHMENTS; k++)
            if (peers[i].kept[k].at)
                drop(&peers[i].kept[k]);
        if (peers[i].apid > 0)
            (void)stretto_xpmem.release(peers[i].apid);
    }
    free(peers);
    peers = NULL;
    npeers = 0;
    if (own_segid > 0)
        (void)stretto_xpmem.remove(own_segid);
    own_segid = -1;
    stretto_descriptor_close(&sink);
}

/* Has the kernel read a byte of each page: a page that cannot be had is an error here, and SIGBUS
 * for whoever reads it himself. It also fills the page table in one go. */
static bool touch(const unsigned char *from, const unsigned char *to, void (*progress)(void *),
                  void *arg) {
    struct iovec bytes[TOUCHES];
    int n = 0;
    while (from < to) {
        bytes[n].iov_base = (void *)(uintptr_t)from;
        bytes[n++].iov_len = 1;
        from = (const unsigned char *)(((uintptr_t)from | (PAGE - 1)) + 1);
        if (n == TOUCHES || from >= to) {
            if (!stretto_descriptor_is_ours(&sink) || pwritev(sink.fd, bytes, n, 0) != n)
                return false;
            n = 0;
            if (progress)
                progress(arg);
        }
    }
    return true;
}

/* Attaches whole grains, so that neighbouring buffers share an attachment; at the edge of the
 * address space (a stack) as little as possible. */
static bool attach(attachment *fresh, int64_t apid, uint64_t address, uint64_t end) {
    static const uint64_t grains[] = {2 << 20, 64 << 10}; /* multiples of all page sizes */
    for (int i = 0; i < 2; i++) {
        uint64_t from = address & ~(grains[i] - 1), to = (end + grains[i] - 1) & ~(grains[i] - 1);
        stretto_xpmem_address start = {apid, (int64_t)from};
        void *at = stretto_xpmem.attach(start, (size_t)(to - from), NULL);
        if (at && at != (void *)-1) {
            *fresh = (attachment){.from = from, .to = to, .at = at};
            return true;
        }
    }
    return false;
}

/* One that covers the range, or the place of the one that was used least recently. With the lock.
 */
static attachment *find(peer_state *peer, uint64_t address, uint64_t end) {
    attachment *oldest = NULL;
    for (int k = 0; k < STRETTO_NODE_ATTACHMENTS; k++) {
        attachment *a = &peer->kept[k];
        if (a->at && a->from <= address && end <= a->to)
            return a;
        if (!a->users && (!oldest || a->last_use < oldest->last_use))
            oldest = a;
    }
    return oldest;
}

/* Counts this user out; after a failure nobody is to find the attachment again. */
static void let_go(attachment *a, bool failed) {
    attachment old = {.at = NULL};
    pthread_mutex_lock(&lock);
    if (--a->users == 0 && failed) {
        old = *a;
        memset(a, 0, sizeof *a);
    }
    pthread_mutex_unlock(&lock);
    if (old.at)
        drop(&old);
}

/* An attachment that covers the range, this user counted in; NULL when it cannot be had. The system
 * calls are made without the lock: the place is taken by counting its user. */
static attachment *hold(peer_state *peer, uint64_t address, uint64_t end) {
    attachment old = {.at = NULL}, fresh;
    pthread_mutex_lock(&lock);
    attachment *a = find(peer, address, end);
    bool there = a && a->at && a->from <= address && end <= a->to;
    if (a && !there) {
        old = *a;
        memset(a, 0, sizeof *a);
    }
    if (a) {
        a->users++;
        a->last_use = ++uses;
    }
    pthread_mutex_unlock(&lock);
    if (old.at)
        drop(&old);
    if (!a || there)
        return a;
    bool made = attach(&fresh, peer->apid, address, end);
    if (!made) {
        let_go(a, true);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    fresh.users = a->users;
    fresh.last_use = a->last_use;
    *a = fresh;
    pthread_mutex_unlock(&lock);
    return a;
}

static bool pages_are_there(attachment *a, uint64_t address, uint64_t end, void (*progress)(void *),
                            void *arg) {
    pthread_mutex_lock(&lock);
    bool known = a->known_from <= address && end <= a->known_to;
    pthread_mutex_unlock(&lock);
    if (known)
        return true;
    if (!touch(a->at + (address - a->from), a->at + (end - a->from), progress, arg))
        return false;
    pthread_mutex_lock(&lock);
    bool apart = end < a->known_from || address > a->known_to;
    a->known_from = apart || address < a->known_from ? address : a->known_from;
    a->known_to = apart || end > a->known_to ? end : a->known_to;
    pthread_mutex_unlock(&lock);
    return true;
}

bool stretto_xpmem_map(int peer, uint64_t address, size_t bytes, void (*progress)(void *arg),
                       void *arg, stretto_mapping *mapping) {
    if (peer < 0 || peer >= npeers || peers[peer].apid <= 0)
        return false;
    attachment *a = hold(&peers[peer], address, address + bytes);
    if (!a)
        return false;
    if (!pages_are_there(a, address, address + bytes, progress, arg)) {
        let_go(a, true);
        return false;
    }
    *mapping = (stretto_mapping){a->at + (address - a->from), a};
    return true;
}

void stretto_xpmem_unmap(stretto_mapping *mapping) {
    let_go(mapping->attachment, false);
}
