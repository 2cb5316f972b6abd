#include "record/blocks.h"

#include <pthread.h>

enum { ROWS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The section is made by the first call that has something for it: few programs have. */
static stretto_raw_blocks *row_of(uint64_t key) {
    static stretto_raw_blocks *rows;
    static bool tried;
    if (!tried)
        rows = stretto_store_section(STRETTO_RAW_BLOCKS, sizeof *rows, ROWS);
    tried = true;
    for (int i = 0; rows && i < ROWS; i++)
        if (rows[i].key == key || !rows[i].key)
            return &rows[i];
    return NULL; /* more kinds of calls than there is room for: of the others nothing is known */
}

void stretto_blocks_add(uint64_t key, const stretto_measure *m) {
    pthread_mutex_lock(&lock);
    stretto_raw_blocks *row = row_of(key);
    for (int i = 0; row && i < m->nblocks; i++) {
        int64_t n = m->wide ? ((const int64_t *)m->blocks)[i] : ((const int *)m->blocks)[i];
        uint64_t bytes = n > 0 ? (uint64_t)(n * m->width) : 0;
        uint64_t class = stretto_size_class(bytes);
        class = class < STRETTO_BLOCK_CLASSES ? class : STRETTO_BLOCK_CLASSES - 1;
        row->blocks[class]++;
        row->bytes[class] += bytes;
    }
    if (row) {
        row->calls++;
        row->key = key; /* last: whoever reads after a kill sees no row without its blocks */
    }
    pthread_mutex_unlock(&lock);
}
