/* Events in the order of their times: a heap with four children a node. */
#include "plan/price_state.h"

#include <stdlib.h>

static inline bool before(const price_event *a, const price_event *b) {
    return a->t < b->t || (a->t == b->t && a->order < b->order);
}

bool price_queue_put(price_queue *q, double t, price_event_kind kind, int rank,
                     price_message *message) {
    if (q->n == q->capacity) {
        size_t larger = q->capacity ? 2 * q->capacity : 256;
        price_event *heap = realloc(q->heap, larger * sizeof *heap);
        if (!heap)
            return false;
        q->heap = heap;
        q->capacity = larger;
    }
    price_event event = {t, q->put++, kind, rank, message};
    size_t i = q->n++;
    while (i > 0 && before(&event, &q->heap[(i - 1) / 4])) {
        q->heap[i] = q->heap[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    q->heap[i] = event;
    return true;
}

bool price_queue_take(price_queue *q, price_event *event) {
    if (q->n == 0)
        return false;
    *event = q->heap[0];
    price_event last = q->heap[--q->n];
    size_t i = 0;
    for (;;) {
        size_t least = 4 * i + 1, end = least + 4 < q->n ? least + 4 : q->n;
        if (least >= q->n)
            break;
        for (size_t child = least + 1; child < end; child++)
            if (before(&q->heap[child], &q->heap[least]))
                least = child;
        if (!before(&q->heap[least], &last))
            break;
        q->heap[i] = q->heap[least];
        i = least;
    }
    q->heap[i] = last;
    return true;
}
