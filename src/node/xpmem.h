/* XPMEM: the memory of the other processes of a node mapped into this one, where the kernel module
 * and its library are there. The library is opened at run time; nothing links to it.
 *
 * Process-wide: each process offers its whole address space once and is given that of the others;
 * pieces of it are attached as messages need them, and stay attached (a bounded number for each
 * peer) because an attachment costs a system call and a page fault for each page.
 *
 * WHAT A KEPT ATTACHMENT RELIES ON. It stands for a range of addresses of the peer, not for the
 * pages that were there. When the peer unmaps, remaps or moves pages, the module's MMU notifier
 * takes them out of the attachment, and the next access finds what lies at the address now. That
 * holds from version 2.2 on, so older ones, and other major versions, are not used. What has no
 * page to give (device memory, an attachment of the peer's own, a hole) raises SIGBUS in the
 * reader; therefore each range is first touched page by page by the kernel on our behalf, where it
 * is an error code instead, and the group goes on without. Not covered: a peer that replaces
 * ordinary memory which has been used in a collective by such memory at the same address, and uses
 * it in a collective again; STRETTO_XPMEM=0 is for that program.
 */
#ifndef STRETTO_NODE_XPMEM_H
#define STRETTO_NODE_XPMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the library and offers this process's memory to the processes of the same user; the
 * segment's number to be told to them, or -1 where there is no (usable) XPMEM. Local. */
int64_t stretto_xpmem_offer(void);
/* Gets access to the offers of n processes, henceforth peers 0..n-1. Local. The caller exchanges
 * the offers, looks at a word of every peer, and combines the answers by a logical and. */
bool stretto_xpmem_join(int n, const int64_t *offers);
/* Whether the word at `address` of the peer is the one expected. */
bool stretto_xpmem_sees(int peer, uint64_t address, uint64_t expected);
/* Gives everything back. Nothing may be mapped. Local. */
void stretto_xpmem_leave(void);

/* Memory of a peer, readable and writable at `at` until unmapped. */
typedef struct {
    unsigned char *at;
    void *attachment;
} stretto_mapping;
/* False when it cannot be had. Any thread; progress(arg) is called now and then, with no lock held:
 * a new range's pages can be many. progress may be NULL. */
bool stretto_xpmem_map(int peer, uint64_t address, size_t bytes, void (*progress)(void *arg),
                       void *arg, stretto_mapping *mapping);
void stretto_xpmem_unmap(stretto_mapping *mapping);

/* The library's functions (our own declarations of its interface), replaced in tests. */
typedef struct {
    int64_t apid, offset;
} stretto_xpmem_address;
typedef struct {
    int (*version)(void);
    int64_t (*make)(void *address, size_t bytes, int permit_type, void *permit);
    int (*remove)(int64_t segid);
    int64_t (*get)(int64_t segid, int flags, int permit_type, void *permit);
    int (*release)(int64_t apid);
    void *(*attach)(stretto_xpmem_address from, size_t bytes, void *at);
    int (*detach)(void *at);
} stretto_xpmem_library;
extern stretto_xpmem_library stretto_xpmem;

#endif
