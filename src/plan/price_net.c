/* Messages: from the sender's overhead through flow, interface, fabric and interface to the
 * receiver, and who waits for whom. docs/explanation/model.md has the equations.
 *
 * Whatever several ranks share (interfaces, uplinks, memory) is given out in the order in which it
 * is asked for; therefore messages that touch it go through the event queue. A long message asks
 * for an interface turn by turn, so that several share it evenly. */
#include "plan/price_state.h"

enum { TURNS_MOST = 16 }; /* several packets a turn where a message has more: for speed */

int price_level(const price_rank *a, const price_rank *b) {
    if (a->node != b->node)
        return a->rail == b->rail ? STRETTO_LEVEL_RAIL : STRETTO_LEVEL_NETWORK;
    if (a->cache == b->cache)
        return STRETTO_LEVEL_CACHE;
    return a->numa == b->numa ? STRETTO_LEVEL_NUMA : STRETTO_LEVEL_NODE;
}

double price_memory(price_state *s, const price_rank *r, double at, double bytes) {
    double *free_at = &s->nodes[r->node].memory[r->numa];
    if (*free_at < at)
        *free_at = at;
    return *free_at += bytes * s->platform->memory_byte;
}

/* ---- the way of a message ---------------------------------------------------------------------
 */

static bool stripes(const price_state *s, const price_message *m) {
    const stretto_platform *p = s->platform;
    return (stretto_rail_use)p->rail_use == STRETTO_RAILS_STRIPED &&
           m->level >= STRETTO_LEVEL_RAIL && (double)m->bytes >= p->stripe_bytes;
}

/* Intra-node messages that miss the caches share the memory. */
static bool uses_memory(const price_state *s, const price_message *m) {
    return m->bytes > 0 && s->platform->memory_byte > 0 &&
           (double)m->bytes >= s->platform->cache_bytes;
}

static bool is_network(const price_message *m) {
    return m->level >= STRETTO_LEVEL_RAIL;
}

static void known(price_state *s, int rank, int ordinal, price_slot *slot) {
    price_rank *r = &s->ranks[rank];
    slot->known = true;
    if (r->waits > 0 && (r->wait_for < 0 || r->wait_for == ordinal) && --r->waits == 0)
        price_wake(s, rank);
}

static price_slot *slot_of(const price_state *s, int rank, int ordinal) {
    const price_rank *r = &s->ranks[rank];
    return &r->slots[ordinal % s->programs.programs[r->program].window];
}

/* The receive is posted and the last byte is there. */
static void deliver(price_state *s, price_message *m) {
    const stretto_link *link = &s->platform->level[m->level];
    price_slot *slot = slot_of(s, m->target, m->target_slot);
    slot->at = m->path;
    slot->work = link->recv_overhead + (m->eager ? (double)m->bytes * link->recv_byte : 0);
    slot->copy = 0;
    if (m->eager && m->path.t < m->ready.t)
        slot->copy = link->unexpected + (double)m->bytes * link->unexpected_byte;
    slot->peer = m->source;
    slot->level = m->level;
    slot->bytes = m->bytes;
    known(s, m->target, m->target_slot, slot);
    m->next = s->free_messages;
    s->free_messages = m;
}

/* The last byte is there, m->path says when. */
static void arrive(price_state *s, price_message *m, price_channel *c) {
    price_hold(&m->path, c->arrived, STRETTO_PART_QUEUE); /* messages of a pair do not overtake */
    c->arrived = m->path.t;
    c->live--;
    if (m->traced)
        price_span(s, STRETTO_SPAN_MESSAGE, m->source, m->target, m->round, m->level, 0,
                   (double)m->bytes, m->began, m->path.t);
    m->arrived = true;
    if (m->posted)
        deliver(s, m);
}

/* Time for each byte where the message is not alone: the slowest on its way. */
static double per_byte(const price_state *s, const price_message *m) {
    const stretto_link *link = &s->platform->level[m->level];
    double g = link->gap_byte, nic = is_network(m) ? s->platform->nic_gap_byte : 0;
    if (stripes(s, m))
        g /= s->platform->rails, nic /= s->platform->rails;
    g = nic > g ? nic : g;
    if (!m->eager) { /* the cores move the bytes while they travel */
        g = link->send_byte > g ? link->send_byte : g;
        g = link->recv_byte > g ? link->recv_byte : g;
    }
    return g;
}

/* `at` holds until *free_at; the resource is then taken for `time`. */
static void occupy(price_moment *at, double *free_at, double time) {
    price_hold(at, *free_at, STRETTO_PART_QUEUE);
    *free_at = at->t + time;
}

/* Bytes of one turn. */
static double turn_of(const price_message *m) {
    return m->turns > 1 ? (double)m->bytes / m->turns : (double)m->bytes;
}

static int turns_of(const price_state *s, const price_message *m) {
    const double packets = (double)m->bytes / s->platform->packet_bytes;
    if (!is_network(m) || packets <= 1 || s->platform->nic_gap_byte <= 0)
        return 1;
    return packets < TURNS_MOST ? (int)packets + ((double)(int)packets < packets) : TURNS_MOST;
}

static void interfaces(price_state *s, price_message *m, price_moment *at, double *free_at, int own,
                       double gap) {
    const stretto_platform *p = s->platform;
    const bool all = stripes(s, m);
    const int first = all ? 0 : own, last = all ? (int)p->rails - 1 : own;
    const double bytes = turn_of(m) * p->nic_gap_byte / (all ? p->rails : 1);
    gap /= m->turns;
    for (int i = first; i <= last; i++)
        price_hold(at, free_at[i], STRETTO_PART_QUEUE);
    for (int i = first; i <= last; i++)
        free_at[i] = at->t + (bytes > gap ? bytes : gap);
}

static int group_of(const price_state *s, int rank) {
    return s->ranks[rank].node / s->group_nodes;
}

/* Out of the source's leaf switch and into the target's. Returns the uplink's time for a byte. */
static double uplinks(price_state *s, price_message *m, price_moment *at) {
    const stretto_platform *p = s->platform;
    const int from = group_of(s, m->source), to = group_of(s, m->target);
    if (from == to || s->uplink_byte == 0)
        return 0;
    if (s->nuplinks == 1) {
        double share = p->multipath > 0 ? s->uplink_byte / p->uplinks : s->uplink_byte;
        occupy(at, &s->up[from], turn_of(m) * share);
        occupy(at, &s->down[to], turn_of(m) * share);
        return share;
    }
    uint64_t flow = price_mix(s->call->seed, (uint64_t)m->source, (uint64_t)m->target, 3);
    int link = (int)(flow % (uint64_t)s->nuplinks);
    occupy(at, &s->up[from * s->nuplinks + link], turn_of(m) * s->uplink_byte);
    occupy(at, &s->down[to * s->nuplinks + link], turn_of(m) * s->uplink_byte);
    return s->uplink_byte;
}

/* Latency that this message has, once noise and late packets are counted. */
static void draw_latency(price_state *s, price_message *m) {
    const stretto_platform *p = s->platform;
    price_rank *r = &s->ranks[m->source];
    m->latency = p->level[m->level].latency;
    uint64_t number = r->sent++;
    if (p->latency_sigma > 0)
        m->latency *= price_lognormal(p->latency_sigma,
                                      price_uniform(s->call->seed, (uint64_t)m->source, number, 4),
                                      price_uniform(s->call->seed, (uint64_t)m->source, number, 5));
    if (is_network(m) && p->multipath > 0 && p->reorder > 0 && m->bytes > 0) {
        double packets = (double)((m->bytes - 1) / (uint64_t)p->packet_bytes + 1);
        m->latency += p->reorder * (packets / (packets + 1) - 0.5);
    }
}

static void gone(price_state *s, price_message *m, double end) {
    if (m->eager)
        return; /* the sender was done when it had handed the message over */
    price_slot *slot = slot_of(s, m->source, m->source_slot);
    slot->at = m->path;
    price_hold(&slot->at, end, STRETTO_PART_TRANSFER);
    slot->peer = m->target;
    slot->level = m->level;
    known(s, m->source, m->source_slot, slot);
}

static void put(price_state *s, price_message *m, double t, price_event_kind kind, int rank) {
    if (!price_queue_put(&s->queue, t, kind, rank, m))
        s->failed = true;
}

/* Is it its turn? Else it waits until the pair's earlier message has taken all of its own. */
static bool takes_turn(price_state *s, price_message *m, price_channel *c) {
    if (m->turns == 0) {
        m->turns = m->to_send = m->to_come = turns_of(s, m);
        m->began = m->path.t;
        m->after = NULL;
        if (c->sending) {
            c->last_sending->after = m;
            c->last_sending = m;
            return false;
        }
        if (m->turns > 1)
            c->sending = c->last_sending = m;
    }
    return true;
}

static void end_turns(price_state *s, price_channel *c) {
    price_message *next = c->sending->after;
    c->sending = next;
    if (next)
        put(s, next, next->path.t > c->flow_free ? next->path.t : c->flow_free, PRICE_INJECT,
            next->source);
}

void price_inject(price_state *s, price_message *m) {
    const stretto_platform *p = s->platform;
    price_rank *source = &s->ranks[m->source];
    const stretto_link *link = &p->level[m->level];
    price_channel *c = price_channel_of(s, m->source, m->target);
    double g = per_byte(s, m);
    if (!c || !takes_turn(s, m, c))
        return;
    const double bytes = turn_of(m);
    occupy(&m->path, &c->flow_free, 0);
    if (!m->eager && link->send_byte > 0)
        occupy(&m->path, &source->engine_free, bytes * link->send_byte);
    if (is_network(m)) {
        interfaces(s, m, &m->path, s->nodes[source->node].sent, source->rail, p->nic_gap_message);
        double share = uplinks(s, m, &m->path);
        g = share > g ? share : g;
    }
    c->flow_free = m->path.t + bytes * link->gap_byte / (stripes(s, m) ? p->rails : 1);
    double memory = 0, latency = m->latency;
    if (!is_network(m) && uses_memory(s, m))
        memory = price_memory(s, source, m->path.t, bytes);
    if (is_network(m) && group_of(s, m->source) != group_of(s, m->target))
        latency += p->group_latency;
    const bool queues = is_network(m) && (p->nic_gap_byte > 0 || p->nic_recv_gap_message > 0 ||
                                          (!m->eager && link->recv_byte > 0));
    if (--m->to_send > 0) {
        put(s, m, m->path.t + latency, PRICE_RECEIVE, m->target);
        price_add(&m->path, STRETTO_PART_TRANSFER, bytes * g);
        put(s, m, m->path.t, PRICE_INJECT, m->source);
        return;
    }
    if (c->sending == m)
        end_turns(s, c);
    gone(s, m, m->path.t + bytes * g);
    price_add(&m->path, STRETTO_PART_LATENCY, latency);
    if (queues) {
        put(s, m, m->path.t, PRICE_RECEIVE, m->target);
        return;
    }
    price_add(&m->path, STRETTO_PART_TRANSFER, bytes * g);
    price_hold(&m->path, memory, STRETTO_PART_QUEUE);
    arrive(s, m, c);
}

void price_receive(price_state *s, price_message *m) {
    const stretto_platform *p = s->platform;
    price_rank *target = &s->ranks[m->target];
    price_channel *c = price_channel_of(s, m->source, m->target);
    double g = per_byte(s, m);
    if (!c)
        return;
    if (s->uplink_byte > 0 && group_of(s, m->source) != group_of(s, m->target)) {
        double share = s->uplink_byte / (p->multipath > 0 ? p->uplinks : 1);
        g = share > g ? share : g;
    }
    const bool last = --m->to_come == 0;
    price_moment early = {.t = s->now}, *at = last ? &m->path : &early;
    if (!m->eager && p->level[m->level].recv_byte > 0)
        occupy(at, &target->engine_free, turn_of(m) * p->level[m->level].recv_byte);
    interfaces(s, m, at, s->nodes[target->node].received, target->rail, p->nic_recv_gap_message);
    if (!last)
        return;
    price_add(&m->path, STRETTO_PART_TRANSFER, turn_of(m) * g);
    arrive(s, m, c);
}

/* m->path: when the bytes may go. Others' business? Then in the order of the events. */
static void depart(price_state *s, price_message *m) {
    if (is_network(m) || uses_memory(s, m))
        put(s, m, m->path.t, PRICE_INJECT, m->source);
    else
        price_inject(s, m);
}

/* Both sides have come: the receiver, which has read the request, allows the sender to go on. */
static void rendezvous(price_state *s, price_message *m) {
    const stretto_link *link = &s->platform->level[m->level];
    price_later(&m->path, &m->ready);
    price_add(&m->path, STRETTO_PART_RENDEZVOUS, link->rendezvous + link->latency);
    depart(s, m);
}

void price_send(price_state *s, int rank, int peer, int ordinal, const price_op *op) {
    price_rank *r = &s->ranks[rank];
    price_channel *c = price_channel_of(s, rank, peer);
    price_message *m = c ? price_meet(s, c, rank, peer, true) : NULL;
    if (!m)
        return;
    m->level = price_level(r, &s->ranks[peer]);
    m->bytes = op->bytes;
    m->round = (int)op->round;
    m->source_slot = ordinal;
    m->sent = true;
    m->traced = price_traced(s, r);
    const stretto_link *link = &s->platform->level[m->level];
    m->eager = (double)op->bytes <= link->eager_bytes;
    if (r->call == s->call->calls - 1) {
        s->result->messages[m->level]++;
        s->result->bytes[m->level] += (double)op->bytes;
    }
    const double begin = r->clock.t;
    price_hold(&r->clock, r->port_free, STRETTO_PART_OVERHEAD);
    r->port_free = r->clock.t + link->gap_message;
    price_busy(s, r, STRETTO_PART_OVERHEAD,
               link->send_overhead + (m->eager ? (double)op->bytes * link->send_byte : 0));
    if (m->traced && r->clock.t > begin)
        price_span(s, STRETTO_SPAN_SEND, rank, peer, (int)op->round, m->level, 0, (double)op->bytes,
                   begin, r->clock.t);
    draw_latency(s, m);
    m->path = r->clock;
    if (m->eager) {
        price_slot *slot = slot_of(s, rank, ordinal);
        slot->at = r->clock;
        slot->known = true;
        depart(s, m);
    } else {
        price_add(&m->path, STRETTO_PART_RENDEZVOUS, m->latency);
        if (m->posted)
            rendezvous(s, m);
    }
}

void price_recv(price_state *s, int rank, int peer, int ordinal) {
    price_channel *c = price_channel_of(s, peer, rank);
    price_message *m = c ? price_meet(s, c, peer, rank, false) : NULL;
    if (!m)
        return;
    m->ready = s->ranks[rank].clock;
    m->target_slot = ordinal;
    m->posted = true;
    if (!m->sent)
        return;
    if (!m->eager)
        rendezvous(s, m);
    else if (m->arrived)
        deliver(s, m);
}
