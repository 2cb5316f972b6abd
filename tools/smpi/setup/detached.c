/* SimGrid's account of the messages that nobody waits for, found by name instead of by search.
 *
 * An eager message's sender does not wait for it, so that SimGrid 3.32 keeps it in a list of all
 * such messages under way, from which CommImpl::finish removes it: a walk through the whole list,
 * twice or more a message. That is most of an alltoall among 1024 ranks: a million messages,
 * thousands under way. (Later versions of SimGrid have a set.) Here the list stays empty: what was
 * put into it waits in a table until the message's first finish, and its reference is given back
 * then, as before. Nothing else reads that list unless hosts fail. No time is touched.
 *
 * Preloaded (tools/smpi/smpi.py). C++ names, compiled from C; list and node are libstdc++'s. */
#include "setup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUCKETS = 1 << 14 };

typedef struct node node;
struct node {
    node *next, *prev;
    void *message; /* an intrusive_ptr */
};

typedef struct {
    node *first, *last;
    size_t size;
} list; /* the nodes form a ring with it */

static node *kept[BUCKETS]; /* by the message's address, chained by `next` */
static bool detaching;
static node *put; /* into a list while `detaching` */
static list *where;

#define DETACH "_ZN7simgrid6kernel8activity8CommImpl6detachEv"
#define FINISH "_ZN7simgrid6kernel8activity8CommImpl6finishEv"
#define RELEASE "_ZN7simgrid6kernel8activity21intrusive_ptr_releaseEPNS1_12ActivityImplE"
#define HOOK "_ZNSt8__detail15_List_node_base7_M_hookEPS0_"
#define DELETE "_ZdlPv"

void *detach(void *message) __asm__(DETACH);
void finish(void *message) __asm__(FINISH);
void release(void *message) __asm__(RELEASE);
void hook(node *one, void *before) __asm__(HOOK);

static node **chain_of(const void *message) {
    return &kept[((uintptr_t)message >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 50];
}

void hook(node *one, void *before) {
    static void (*theirs)(node *, void *);
    if (!theirs)
        *(void **)&theirs = setup_next_of(HOOK);
    theirs(one, before);
    if (detaching) {
        put = one;
        where = before; /* its end, being a ring */
    }
}

void *detach(void *message) {
    static void *(*theirs)(void *);
    if (!theirs)
        *(void **)&theirs = setup_next_of(DETACH);
    put = NULL;
    detaching = true;
    void *result = theirs(message);
    detaching = false;
    if (!put || put->message != message || where->last != put)
        setup_die("SimGrid keeps detached messages in another way than it did in 3.32");
    put->prev->next = put->next;
    put->next->prev = put->prev;
    where->size--;
    node **chain = chain_of(message);
    put->next = *chain;
    *chain = put;
    return result;
}

static node *take(const void *message) {
    for (node **link = chain_of(message); *link; link = &(*link)->next)
        if ((*link)->message == message) {
            node *found = *link;
            *link = found->next;
            return found;
        }
    return NULL;
}

void finish(void *message) {
    static void (*theirs)(void *), (*delete)(void *);
    if (!theirs) {
        *(void **)&theirs = setup_next_of(FINISH);
        *(void **)&delete = setup_next_of(DELETE);
    }
    node *mine = take(message); /* only the first time: the message may be gone afterwards */
    theirs(message);
    if (!mine)
        return;
    release(message);
    delete (mine);
}
