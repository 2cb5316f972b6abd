/* XPMEM (a stand-in that maps all to itself): while a long range is attached and touched for the
 * first time, the MPI's progress runs, and no lock keeps others from theirs; a range that cannot be
 * touched is given back; the least recently used range goes first. */
#include "../check.h"
#include "node/tuning.h"
#include "node/xpmem.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int attached, detached;
static bool hole;

static int version(void) {
    return 0x00026005;
}

static int64_t make(void *address, size_t bytes, int permit_type, void *permit) {
    return !address && bytes == SIZE_MAX && permit_type == 1 && permit ? 7 : -1;
}

static int64_t get(int64_t segid, int flags, int permit_type, void *permit) {
    (void)flags, (void)permit_type, (void)permit;
    return segid == 7 ? 9 : -1;
}

static int done(int64_t id) {
    (void)id;
    return 0;
}

static void *attach(stretto_xpmem_address from, size_t bytes, void *at) {
    (void)at;
    attached++;
    if (hole)
        return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return (void *)(uintptr_t)from.offset;
}

static int detach(void *at) {
    detached++;
    return at ? 0 : -1;
}

static unsigned char *memory, *small;
static long calls;

/* What an MPI's progress may come to: another thread's collective on another range. */
static void progress(void *arg) {
    stretto_mapping mapping;
    CHECK(arg == &calls);
    CHECK(stretto_xpmem_map(0, (uintptr_t)small, 4096, NULL, NULL, &mapping));
    CHECK(mapping.at == small);
    stretto_xpmem_unmap(&mapping);
    calls++;
}

int main(void) {
    const size_t bytes = 64u << 20;
    const int64_t offers[] = {7};
    stretto_mapping mapping, again;
    alarm(600); /* a lock that is held would wait for ever */
    stretto_xpmem = (stretto_xpmem_library){version, make, done, get, done, attach, detach};
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    small = mmap(NULL, 4u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && small != MAP_FAILED);
    small += 2u << 20;
    CHECK(stretto_xpmem_offer() == 7 && stretto_xpmem_join(1, offers));

    CHECK(stretto_xpmem_map(0, (uintptr_t)memory, bytes, progress, &calls, &mapping));
    CHECK(mapping.at == memory);
    CHECK_MSG(calls >= (long)(bytes / STRETTO_NODE_ATTACH_TOUCH), "%ld calls of progress", calls);
    /* known by now: no more to touch, nothing attached anew */
    const long before = calls;
    const int attachments = attached;
    CHECK(stretto_xpmem_map(0, (uintptr_t)memory + 4096, bytes - 8192, progress, &calls, &again));
    CHECK(calls == before && attached == attachments && again.at == memory + 4096);
    stretto_xpmem_unmap(&again);
    stretto_xpmem_unmap(&mapping);

    hole = true;
    unsigned char *other = (unsigned char *)((uintptr_t)1 << 40);
    const int dropped = detached;
    CHECK(!stretto_xpmem_map(0, (uintptr_t)other, 4096, NULL, NULL, &mapping));
    CHECK(detached == dropped + 1);
    hole = false;

    const size_t room = (size_t)(STRETTO_NODE_ATTACHMENTS + 1) << 22;
    unsigned char *apart = mmap(NULL, room, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(apart != MAP_FAILED);
    /* more ranges than are kept: `memory` has not been used for the longest time */
    for (uintptr_t i = 0; i < STRETTO_NODE_ATTACHMENTS; i++) {
        CHECK(stretto_xpmem_map(0, (uintptr_t)small, 4096, NULL, NULL, &mapping));
        stretto_xpmem_unmap(&mapping);
        CHECK(stretto_xpmem_map(0, (uintptr_t)apart + (i << 22), 4096, NULL, NULL, &mapping));
        stretto_xpmem_unmap(&mapping);
    }
    const int so_far = attached;
    CHECK(stretto_xpmem_map(0, (uintptr_t)small, 4096, NULL, NULL, &mapping) && attached == so_far);
    stretto_xpmem_unmap(&mapping);
    CHECK(stretto_xpmem_map(0, (uintptr_t)memory, 4096, NULL, NULL, &mapping));
    CHECK(attached == so_far + 1);
    stretto_xpmem_unmap(&mapping);
    stretto_xpmem_leave();
    CHECK_MSG(attached == detached, "%d attached, %d detached", attached, detached);
    return check_report("attachments");
}
