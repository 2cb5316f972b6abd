#include "record/packs.h"
#include "record/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Below, the clock is what is measured; above, the room is not worth it. At most one in SHARE of
 * the time since the first message is spent. */
enum { LEAST = 256, MOST = 4 << 20, SHARE = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t spent; /* ticks */

static stretto_keyed section = {STRETTO_RAW_PACKS, sizeof(stretto_raw_pack), NULL, false};

static bool may_measure(uint64_t now) {
    static uint64_t first;
    pthread_mutex_lock(&lock);
    if (!first)
        first = now;
    bool may = spent <= (now - first) / SHARE;
    pthread_mutex_unlock(&lock);
    return may;
}

static void keep(uint64_t key, uint64_t bytes, uint64_t packing, uint64_t copying, uint64_t begun) {
    pthread_mutex_lock(&lock);
    stretto_raw_pack *row = stretto_store_row(&section, key);
    if (row) {
        row->calls++;
        row->bytes += bytes;
        row->pack_ticks += packing;
        row->copy_ticks += copying;
        row->key = key; /* last, as in blocks.c */
    }
    spent += stretto_ticks() - begun;
    pthread_mutex_unlock(&lock);
}

void stretto_packs_add(uint64_t key, const void *data, int64_t count, MPI_Datatype datatype,
                       uint64_t bytes) {
    const uint64_t begun = stretto_ticks();
    int room = 0;
    /* MPI_COMM_SELF: a communicator only says in which format the data goes */
    if (bytes < LEAST || bytes > MOST || !may_measure(begun) ||
        PMPI_Pack_size((int)count, datatype, MPI_COMM_SELF, &room) != MPI_SUCCESS || room < 1)
        return;
    char *packed = malloc(2 * (size_t)room);
    if (!packed)
        return;
    /* twice: the first time meets pages and caches that are not there yet, and a rank may lose its
     * core once */
    uint64_t packing = UINT64_MAX, copying = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        int position = 0;
        uint64_t begin = stretto_ticks();
        if (PMPI_Pack(data, (int)count, datatype, packed, room, &position, MPI_COMM_SELF) !=
            MPI_SUCCESS) {
            free(packed);
            return;
        }
        uint64_t middle = stretto_ticks();
        memcpy(packed + room, packed, (size_t)position);
        __asm__ volatile("" ::: "memory"); /* or the compiler leaves the copy out */
        uint64_t end = stretto_ticks();
        packing = middle - begin < packing ? middle - begin : packing;
        copying = end - middle < copying ? end - middle : copying;
    }
    free(packed);
    keep(key, bytes, packing, copying, begun);
}
