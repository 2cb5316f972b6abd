/* Pairs of ranks that have messages under way: which receive is for which message, and what the
 * messages of a pair share. Pairs with nothing under way are forgotten, so that a million ranks
 * need no room for all that ever spoke to one another. */
#include "plan/price_state.h"

#include <stdlib.h>

void *price_alloc(price_state *s, size_t size) {
    enum { BLOCK = 1 << 18 };
    typedef struct block {
        struct block *next;
        size_t used;
        _Alignas(16) unsigned char data[];
    } block;
    block *b = s->blocks;
    size = (size + 15) & ~(size_t)15;
    if (!b || b->used + size > BLOCK) {
        size_t room = size > BLOCK ? size : BLOCK;
        block *fresh = malloc(sizeof *fresh + room);
        if (!fresh) {
            s->failed = true;
            return NULL;
        }
        *fresh = (block){b, 0};
        s->blocks = b = fresh;
    }
    b->used += size;
    return b->data + b->used - size;
}

static size_t bucket_of(const price_state *s, int source, int target) {
    uint64_t x = (uint64_t)(unsigned)source * 0x9e3779b97f4a7c15u ^ (unsigned)target;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return (size_t)(x ^ (x >> 29)) & (s->nbuckets - 1);
}

/* Forgets the pairs that have nothing under way, and makes room for more if that was no help. */
static void sweep(price_state *s) {
    price_channel *kept = NULL;
    size_t n = 0;
    for (size_t b = 0; b < s->nbuckets; b++) {
        for (price_channel *c = s->buckets[b], *next; c; c = next) {
            next = c->next;
            bool over = !c->live && !c->first && c->flow_free <= s->now && c->arrived <= s->now;
            price_channel **to = over ? &s->free_channels : &kept;
            c->next = *to;
            *to = c;
            n += !over;
        }
        s->buckets[b] = NULL;
    }
    if (2 * n > s->nbuckets) {
        price_channel **larger = calloc(4 * s->nbuckets, sizeof *larger);
        if (larger) {
            free(s->buckets);
            s->buckets = larger;
            s->nbuckets *= 4;
        } /* else: slower, not wrong */
    }
    s->nchannels = n;
    for (price_channel *next; kept; kept = next) {
        next = kept->next;
        size_t b = bucket_of(s, kept->source, kept->target);
        kept->next = s->buckets[b];
        s->buckets[b] = kept;
    }
}

price_channel *price_channel_of(price_state *s, int source, int target) {
    size_t b = bucket_of(s, source, target);
    for (price_channel *c = s->buckets[b]; c; c = c->next)
        if (c->source == source && c->target == target)
            return c;
    if (s->nchannels >= s->nbuckets) {
        sweep(s);
        b = bucket_of(s, source, target);
    }
    price_channel *c = s->free_channels;
    if (c)
        s->free_channels = c->next;
    else if (!(c = price_alloc(s, sizeof *c)))
        return NULL;
    *c = (price_channel){.next = s->buckets[b], .source = source, .target = target};
    s->buckets[b] = c;
    s->nchannels++;
    return c;
}

/* The message that the other side began, or a new one. */
price_message *price_meet(price_state *s, price_channel *c, int source, int target,
                          bool i_am_sender) {
    price_message *m = c->first;
    if (m && (i_am_sender ? !m->sent : !m->posted)) {
        c->first = m->next;
        if (!c->first)
            c->last = NULL;
        return m;
    }
    if (s->free_messages) {
        m = s->free_messages;
        s->free_messages = m->next;
    } else if (!(m = price_alloc(s, sizeof *m))) {
        return NULL;
    }
    m->next = NULL;
    m->source = source, m->target = target;
    m->sent = m->posted = m->arrived = m->traced = false;
    m->turns = 0;
    if (c->last)
        c->last->next = m;
    else
        c->first = m;
    c->last = m;
    c->live++;
    return m;
}
