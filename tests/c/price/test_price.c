/* Prices worked out by hand: every number on the right of a comparison is arithmetic on paper. */
#include "../check.h"
#include "pricing.h"

#include <math.h>

/* The result is freed with the pricing, or by the fourth one after it. */
static stretto_price_result price(pricing *p) {
    char error[500] = "";
    stretto_price_result *result = &p->kept[p->nresults % 4];
    if (p->nresults++ >= 4)
        stretto_price_free(result);
    int status = stretto_price(&p->call, pricing_source, p, result, error, sizeof error);
    CHECK_MSG(status == 0, "refused: %s", error);
    return *result;
}

static void near_to(const char *what, double found, double by_hand) {
    CHECK_MSG(fabs(found - by_hand) <= 1e-12 * (1e-6 + by_hand) + 1e-18, "%s: %.15g, by hand %.15g",
              what, found, by_hand);
}

/* Times in the tests: microseconds. */
static const double us = 1e-6;

static void set_network(pricing *p) {
    stretto_platform_init(&p->platform);
    for (int l = STRETTO_LEVEL_RAIL; l < STRETTO_LEVELS; l++)
        p->platform.level[l] = (stretto_link){.latency = 10 * us,
                                              .send_overhead = 1 * us,
                                              .recv_overhead = 2 * us,
                                              .gap_byte = 0.001 * us,
                                              .eager_bytes = 1000,
                                              .rendezvous = 0.5 * us};
}

/* Plans written by hand, on that network. */
static void pricing_of(pricing *p, int nodes, int ppn, size_t bytes, stretto_collective collective,
                       void (*write)(stretto_plan *plan, int rank)) {
    pricing_init(p, nodes, ppn, bytes);
    p->collective = collective;
    p->write = write;
    set_network(p);
}

static const stretto_span vector = {STRETTO_OUT, 0, 1};

static void one_message(stretto_plan *plan, int rank) {
    if (rank == 0)
        stretto_plan_send(plan, 1, vector);
    else
        stretto_plan_recv(plan, 0, vector);
}

static void two_ranks(void) {
    pricing p;
    pricing_of(&p, 2, 1, 1000, STRETTO_BCAST, one_message);
    stretto_price_result r = price(&p);
    near_to("eager, sender", r.finish[0], 1 * us);
    near_to("eager, receiver", r.finish[1], (1 + 10 + 1 + 2) * us);
    near_to("eager, overhead", r.parts[STRETTO_PART_OVERHEAD], 3 * us);
    near_to("eager, latency", r.parts[STRETTO_PART_LATENCY], 10 * us);
    near_to("eager, transfer", r.parts[STRETTO_PART_TRANSFER], 1 * us);
    CHECK(r.messages[STRETTO_LEVEL_RAIL] == 1 && r.bytes[STRETTO_LEVEL_RAIL] == 1000);

    /* the receive comes late: the copy out of the buffer */
    const double late[] = {0, 50 * us};
    p.call.skew = late;
    p.platform.level[STRETTO_LEVEL_RAIL].unexpected = 3 * us;
    p.platform.level[STRETTO_LEVEL_RAIL].unexpected_byte = 0.002 * us;
    r = price(&p);
    near_to("unexpected", r.finish[1], (50 + 2 + 3 + 2) * us);
    near_to("skew", r.parts[STRETTO_PART_SKEW], 50 * us);
    p.call.skew = NULL;

    p.call.bytes = 2000; /* longer than eager */
    r = price(&p);
    /* request 1 + 10, permission 0.5 + 10, bytes 10 + 2 */
    near_to("rendezvous, receiver", r.finish[1], (1 + 10 + 0.5 + 10 + 10 + 2 + 2) * us);
    near_to("rendezvous, sender", r.finish[0], (1 + 10 + 0.5 + 10 + 2) * us);
    near_to("rendezvous, asking", r.parts[STRETTO_PART_RENDEZVOUS], 20.5 * us);
    p.call.skew = late; /* the request waits for the receive, the rest follows */
    r = price(&p);
    near_to("rendezvous, late", r.finish[1], (50 + 0.5 + 10 + 10 + 2 + 2) * us);
    pricing_free(&p);
}

/* Local rank i of node 0 sends to local rank i of node 1. */
static void pairs(stretto_plan *plan, int rank) {
    const int half = plan->shape.nranks / 2;
    if (rank < half)
        stretto_plan_send(plan, rank + half, vector);
    else
        stretto_plan_recv(plan, rank - half, vector);
}

static void shared_interface(void) {
    pricing p;
    pricing_of(&p, 2, 4, 800, STRETTO_BCAST, pairs);
    p.platform.cores = p.platform.cores_cache = p.platform.cores_numa = 4;
    p.platform.nic_gap_byte = 0.01 * us; /* 8 us a message */
    stretto_price_result r = price(&p);
    for (int i = 0; i < 4; i++)
        near_to("one interface, four messages", r.finish[4 + i], (1 + 10 + 8 * (i + 1) + 2) * us);
    near_to("queue", r.parts[STRETTO_PART_QUEUE], 24 * us);

    p.platform.nic_gap_message = 20 * us; /* the message rate is the tighter limit */
    r = price(&p);
    near_to("message rate", r.finish[7], (1 + 3 * 20 + 10 + 8 + 2) * us);
    p.platform.nic_gap_message = 0;

    p.platform.rails = 2; /* ranks 0, 1 on the one, 2, 3 on the other */
    r = price(&p);
    near_to("two rails", r.finish[5], (1 + 10 + 16 + 2) * us);
    near_to("two rails", r.last, (1 + 10 + 16 + 2) * us);

    p.platform.stripe_bytes = 800; /* of no account where each rank has one rail */
    r = price(&p);
    near_to("not striped", r.finish[4], (1 + 10 + 8 + 2) * us);
    near_to("not striped", r.last, (1 + 10 + 16 + 2) * us);

    p.platform.rail_use = STRETTO_RAILS_BY_LOCAL_RANK; /* 0, 2 on the one, 1, 3 on the other */
    r = price(&p);
    near_to("in turn", r.finish[5], (1 + 10 + 8 + 2) * us);
    near_to("in turn", r.finish[6], (1 + 10 + 16 + 2) * us);

    p.platform.rail_use = STRETTO_RAILS_STRIPED; /* every message over both: 4 us each */
    r = price(&p);
    near_to("striped", r.finish[4], (1 + 10 + 4 + 2) * us);
    near_to("striped", r.last, (1 + 10 + 16 + 2) * us);
    p.platform.stripe_bytes = 0;
    p.platform.rail_use = STRETTO_RAILS_BY_CORE;
    p.platform.rails = 1;

    /* a flow slower than the interface: others go on meanwhile */
    p.platform.level[STRETTO_LEVEL_RAIL].gap_byte = 0.02 * us;
    r = price(&p);
    near_to("flows", r.finish[7], (1 + 24 + 10 + 16 + 2) * us);
    pricing_free(&p);
}

/* Two messages of rank 0, and local work between. */
static void work(stretto_plan *plan, int rank) {
    if (rank == 0) {
        int first = stretto_plan_send(plan, 1, vector);
        stretto_plan_send(plan, 1, vector);
        stretto_plan_wait(plan, first);
    } else {
        stretto_plan_tmp(plan, 0);
        int first = stretto_plan_recv(plan, 0, stretto_span_of(STRETTO_TMP, 0, 1));
        int second = stretto_plan_recv(plan, 0, vector);
        stretto_plan_wait(plan, first);
        stretto_plan_copy(plan, stretto_span_of(STRETTO_TMP, 0, 1),
                          stretto_span_of(STRETTO_IN, 0, 1));
        stretto_plan_wait(plan, second);
        stretto_plan_reduce(plan, stretto_span_of(STRETTO_TMP, 0, 1), vector, STRETTO_SRC_LEFT);
    }
}

/* Long messages take an interface packet by packet; those of one pair one after another. */
static void turns(void) {
    pricing p;
    pricing_of(&p, 2, 4, 800, STRETTO_BCAST, pairs);
    p.platform.cores = p.platform.cores_cache = p.platform.cores_numa = 4;
    p.platform.nic_gap_byte = 0.01 * us;
    p.platform.packet_bytes = 100; /* 1 us each */
    stretto_price_result r = price(&p);
    for (int i = 0; i < 4; i++)
        near_to("eight turns of four messages", r.finish[4 + i], (1 + 10 + 7 * 4 + i + 1 + 2) * us);
    pricing_free(&p);

    double whole = 0;
    for (int packets = 0; packets < 2; packets++) {
        pricing_of(&p, 2, 1, 800, STRETTO_REDUCE, work);
        p.platform.nic_gap_byte = 0.01 * us;
        p.platform.packet_bytes = packets ? 100 : 1e15;
        r = price(&p);
        if (packets)
            near_to("a pair's messages", r.last, whole);
        whole = r.last;
        pricing_free(&p);
    }
}

/* Rank i sends to rank i + half: between groups of two nodes when there are four nodes. */
static void fabric(void) {
    pricing p;
    pricing_of(&p, 4, 1, 800, STRETTO_BCAST, pairs);
    p.platform.nic_gap_byte = 0.01 * us;
    p.platform.group_nodes = 2;
    p.platform.group_latency = 1 * us;
    stretto_price_result r = price(&p);
    near_to("full fabric", r.last, (1 + 10 + 1 + 8 + 2) * us);
    /* two interfaces of a group share half their bandwidth: an uplink moves 800 B in 8 us */
    p.platform.oversubscription = 2;
    r = price(&p);
    near_to("oversubscribed", r.finish[2], (1 + 10 + 1 + 8 + 2) * us);
    near_to("oversubscribed", r.finish[3], (1 + 8 + 10 + 1 + 8 + 2) * us);
    p.platform.multipath = 1; /* 100 packets of 8 B, late by up to 2 us: 2 (100/101 - 1/2) */
    p.platform.packet_bytes = 8;
    p.platform.reorder = 2 * us;
    p.platform.oversubscription = 1;
    r = price(&p);
    near_to("packets out of order", r.last, (1 + 10 + 1 + 2 * (100.0 / 101 - 0.5) + 8 + 2) * us);
    pricing_free(&p);
}

static void local_work(void) {
    pricing p;
    pricing_of(&p, 2, 1, 800, STRETTO_REDUCE, work);
    p.platform.level[STRETTO_LEVEL_RAIL].gap_message = 5 * us;
    p.platform.copy = 0.25 * us;
    p.platform.copy_byte = 0.005 * us;
    p.platform.reduce_byte = 0.001 * us;
    stretto_price_result r = price(&p);
    /* first there at 1 + 10 + 0.8, handled until 13.8, copied until 18.05; second sent from 5 on,
     * there at 16.8, handled when the copy is done */
    near_to("gap, copy, reduce", r.last, (18.05 + 2 + 0.8) * us);
    near_to("copy", r.parts[STRETTO_PART_COPY], 4.25 * us);
    pricing_free(&p);
}

static void node_phase(stretto_plan *plan, int rank) {
    (void)rank;
    stretto_plan_node(plan, STRETTO_NODE_ALLREDUCE, 0, stretto_span_of(STRETTO_IN, 0, 1), vector);
}

static void node_phases(void) {
    pricing p;
    pricing_init(&p, 1, 4, 8);
    p.collective = STRETTO_ALLREDUCE;
    p.write = node_phase;
    p.platform.flag = 0.1 * us;
    p.platform.flag_far = 0.3 * us;
    p.platform.flag_next = 0.01 * us;
    p.platform.reduce_byte = 0.001 * us;
    stretto_price_result r = price(&p);
    /* one hop; two further lines; three reductions of 8 bytes */
    near_to("node allreduce", r.last, (0.1 + 2 * 0.01 + 3 * 0.008) * us);
    near_to("node", r.parts[STRETTO_PART_NODE], r.last);
    p.platform.cores = 4;
    p.platform.cores_numa = 2; /* ranks 0, 1 and 2, 3 */
    r = price(&p);
    near_to("two domains", r.last, (0.3 + 2 * 0.01 + 3 * 0.008) * us);
    p.platform.fan = 2; /* groups of two, the two leaders, and back */
    p.platform.cores_numa = 4;
    r = price(&p);
    near_to("a tree", r.last, (3 * 0.1 + 2 * 0.008) * us);
    pricing_free(&p);
}

static void same(const char *what, const stretto_price_result *a, const stretto_price_result *b) {
    CHECK_MSG(memcmp(a->finish, b->finish, (size_t)a->nranks * sizeof(double)) == 0 &&
                  memcmp(a->parts, b->parts, sizeof a->parts) == 0 && a->median == b->median,
              "%s differ", what);
}

static void noise(void) {
    pricing p;
    pricing_init(&p, 8, 4, 64);
    set_network(&p);
    p.platform.latency_sigma = 0.3;
    p.platform.detour_rate = 1e4;
    p.platform.detour = 5 * us;
    p.call.calls = 20;
    CHECK(pricing_choose(&p, STRETTO_ALLREDUCE, "recursive_doubling") == 0);
    stretto_price_result a = price(&p), b = price(&p);
    same("two runs with one seed", &a, &b);
    p.call.seed = 2;
    b = price(&p);
    CHECK(a.last != b.last);
    CHECK(a.parts[STRETTO_PART_NOISE] >= 0);
    pricing_free(&p);
}

/* The mean of many draws is what platform.def says. */
static void draws(void) {
    pricing p;
    pricing_of(&p, 2, 1, 8, STRETTO_BCAST, one_message);
    p.platform.latency_sigma = 0.5;
    double sum = 0, least = 1, most = 0;
    const int n = 4000;
    for (int seed = 0; seed < n; seed++) {
        p.call.seed = (uint64_t)seed;
        stretto_price_result r = price(&p);
        double latency = r.finish[1] - (1 + 0.008 + 2) * us;
        sum += latency;
        least = latency < least ? latency : least;
        most = latency > most ? latency : most;
    }
    CHECK_MSG(fabs(sum / n / (10 * us) - 1) < 0.03, "mean latency %g", sum / n);
    CHECK_MSG(least < 4 * us && most > 30 * us, "latencies %g to %g", least, most);
    pricing_free(&p);
}

static void steady_state(void) {
    pricing p;
    pricing_init(&p, 4, 2, 8);
    set_network(&p);
    CHECK(pricing_choose(&p, STRETTO_ALLREDUCE, "shm+recursive_doubling") == 0);
    stretto_price_result once = price(&p);
    p.call.calls = 10;
    stretto_price_result many = price(&p);
    double sum = 0;
    for (int i = 0; i < 10; i++)
        sum += many.took[i];
    near_to("the calls add up", sum, many.last);
    near_to("the first call is one call", many.took[0], once.last);
    CHECK(many.median <= once.last * (1 + 1e-12));
    pricing_free(&p);
}

/* Nodes are alike: with their ranks' data the same, renaming them changes no time but the place. */
static void permuted_nodes(void) {
    static const int order[] = {2, 0, 3, 1};
    pricing p;
    pricing_init(&p, 4, 2, 4096);
    p.collective = STRETTO_BCAST;
    set_network(&p);
    p.platform.nic_gap_byte = 0.01 * us;
    CHECK(pricing_choose(&p, STRETTO_ALLGATHER, "ring") == 0);
    double skew[8], moved[8];
    for (int r = 0; r < 8; r++)
        skew[r] = r / 2 * 3 * us;
    p.call.skew = skew;
    stretto_price_result a = price(&p);
    /* a ring is the same from each of its ranks on: rotate by one node */
    for (int r = 0; r < 8; r++)
        moved[(r + 2) % 8] = skew[r];
    p.call.skew = moved;
    stretto_price_result b = price(&p);
    for (int r = 0; r < 8; r++)
        CHECK_MSG(fabs(a.finish[r] - b.finish[(r + 2) % 8]) < 1e-15, "rank %d: %g and %g", r,
                  a.finish[r], b.finish[(r + 2) % 8]);
    /* an exchange of all with all, without skew: every node ends like every other */
    p.call.skew = NULL;
    CHECK(pricing_choose(&p, STRETTO_ALLREDUCE, "recursive_doubling") == 0);
    a = price(&p);
    for (int n = 0; n < 4; n++)
        near_to("alike", a.finish[2 * order[n]], a.finish[0]);
    pricing_free(&p);
}

static void never_ends(stretto_plan *plan, int rank) {
    int received = stretto_plan_recv(plan, 1 - rank, vector);
    stretto_plan_wait(plan, received);
    stretto_plan_send(plan, 1 - rank, vector);
}

static void refused(pricing *p, const char *words) {
    char error[500];
    stretto_price_result result;
    CHECK(stretto_price(&p->call, pricing_source, p, &result, error, sizeof error) == -1);
    CHECK_MSG(strstr(error, words), "%s", error);
}

static void refusals(void) {
    pricing p;
    pricing_init(&p, 2, 1, 8);
    p.collective = STRETTO_BCAST;
    p.write = never_ends;
    refused(&p, "wait without end");
    const volatile int stop = 1;
    p.call.stop = &stop;
    refused(&p, "stopped while pricing");
    p.call.stop = NULL;
    p.platform.level[STRETTO_LEVEL_RAIL].latency = -1;
    refused(&p, "rail.latency");
    stretto_platform_init(&p.platform);
    p.platform.rails = 1.5;
    refused(&p, "rails");
    stretto_platform_init(&p.platform);
    p.call.element = 3;
    refused(&p, "");
    pricing_free(&p);
}

int main(void) {
    two_ranks();
    shared_interface();
    turns();
    fabric();
    local_work();
    node_phases();
    noise();
    draws();
    steady_state();
    permuted_nodes();
    refusals();
    return check_report("prices by hand");
}
