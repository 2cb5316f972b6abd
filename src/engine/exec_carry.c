/* Plans that carry the blocks of other ranks (alltoallv), and the exchanges that repeat.
 *
 * A rank knows the sizes of its own blocks. Those that pass through it are told by carrying the
 * plan out on the sizes, a number a block: what lies in TMP then is the size of each of its blocks.
 * The last few exchanges are kept, and an exchange that came again as expected is from then on
 * carried out on the sizes it had, without asking. That is right on all ranks or found out by all:
 *
 * - What is kept, and which exchange is expected, follows from what all ranks know alike: every
 * rank hears from every other in each run, of the sizes with a bit for each exchange that they
 * match.
 * - A rank whose sizes are not those of the expected exchange sends messages without length, as
 * does every rank from the moment it has received one. Other messages have a length (an empty one
 * is made one byte). Every rank has something from every other by a chain of messages, each sent
 *   after the one before was waited for, or the plan would not have been proven: so either all
 * ranks have heard that something changed, or nobody has and nothing did. If so, all begin anew.
 * - Meanwhile nobody writes more than it has room for: a rank with other sizes receives into
 * scratch.
 */
#include "engine/exec.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 4, SIZE_BITS = 56 };

typedef struct {
    bool used, odd; /* odd: the program's counts did not fit together here; never to come again */
    int next;       /* what came after it last time, or -1 */
    size_t *in_n, *out_n; /* [nranks] */
    size_t *tmp_at;       /* [tmp_blocks + 1] */
} exchange;

struct stretto_exchanges {
    stretto_choice choice;
    bool in_place; /* with the choice: what the plan depends on, on all ranks alike */
    int nranks, tmp_blocks;
    exchange kept[KEPT];
    int last, oldest;  /* the one carried out last, or -1; the next to be replaced */
    bool repeats;      /* what was expected last time came */
    bool known;        /* the last one was carried out without telling sizes */
    bool told, cut;    /* of a planned exchange, whose sizes are told once */
    uint64_t *numbers; /* [2 * nranks] sizes that are sent and received */
    size_t *tmp_at;    /* [tmp_blocks + 1] of an exchange that is not kept */
    size_t *place;     /* [2 * nranks] offsets and sizes of scratch that stands for OUT */
    char *nothing;     /* [actions] */
};

static void *room(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        stretto_no_memory();
    return memory;
}

void stretto_exchanges_forget(stretto_comm *c) {
    stretto_exchanges *x = c->exchanges;
    if (!x)
        return;
    for (int i = 0; i < KEPT; i++)
        free(x->kept[i].in_n);
    free(x->numbers);
    free(x->tmp_at);
    free(x->place);
    free(x->nothing);
    free(x);
    c->exchanges = NULL;
}

bool stretto_exchange_was_known(const stretto_comm *c) {
    return c->exchanges && c->exchanges->known;
}

static stretto_exchanges *exchanges_of(stretto_comm *c, const stretto_cached_plan *cached) {
    stretto_exchanges *x = c->exchanges;
    if (x && x->choice.algorithm == cached->choice.algorithm &&
        x->choice.param == cached->choice.param && x->in_place == cached->plan.shape.in_place)
        return x;
    stretto_exchanges_forget(c);
    const size_t p = (size_t)c->nranks;
    x = c->exchanges = room(sizeof *x);
    *x = (stretto_exchanges){.choice = cached->choice,
                             .in_place = cached->plan.shape.in_place,
                             .nranks = c->nranks,
                             .tmp_blocks = cached->plan.tmp_blocks,
                             .last = -1,
                             .numbers = room(2 * p * sizeof *x->numbers),
                             .tmp_at =
                                 room(((size_t)cached->plan.tmp_blocks + 1) * sizeof *x->tmp_at),
                             .place = room(2 * p * sizeof *x->place),
                             .nothing = room((size_t)cached->plan.nactions)};
    return x;
}

static bool matches(const stretto_exchanges *x, int i, const stretto_buffers *b) {
    const exchange *e = &x->kept[i];
    const size_t bytes = (size_t)x->nranks * sizeof *e->in_n;
    return e->used && !e->odd && memcmp(e->in_n, b->in_n, bytes) == 0 &&
           memcmp(e->out_n, b->out_n, bytes) == 0;
}

static stretto_running running(stretto_comm *c, stretto_cached_plan *cached,
                               const stretto_elements *e, const stretto_buffers *b) {
    return (stretto_running){.c = c,
                             .cached = cached,
                             .e = e,
                             .b = b,
                             .in = (char *)(uintptr_t)b->in,
                             .out = b->out,
                             .truncated = MPI_SUCCESS};
}

/* Runs over scratch instead of OUT, with blocks of n[] bytes. */
static char *stand_in(stretto_comm *c, stretto_exchanges *x, const size_t *n, stretto_buffers *b) {
    size_t total = 0;
    for (int r = 0; r < x->nranks; r++) {
        x->place[r] = total;
        total += n[r];
    }
    b->out_at = x->place;
    b->out_n = n;
    return b->out = stretto_comm_scratch(c, STRETTO_SCRATCH_OUT, total ? total : 1);
}

/* On the sizes of an exchange that is kept. *changed, the same on all ranks: it was another. */
static int run_expected(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *e,
                        const stretto_buffers *b, const exchange *expected, bool *changed) {
    stretto_exchanges *x = c->exchanges;
    stretto_guess guess = {*changed, x->nothing};
    stretto_buffers other = *b;
    if (*changed)
        stand_in(c, x, expected->out_n, &other);
    stretto_running r = running(c, cached, e, &other);
    r.tmp_at = expected->tmp_at;
    r.guess = &guess;
    int rc = stretto_run_plan(&r);
    *changed = guess.changed;
    return rc;
}

/* The plan on the sizes: fills x->tmp_at and the sizes in the second half of x->numbers. *match:
 * exchanges kept whose sizes are these on all ranks, a bit each. */
static int tell_sizes(stretto_comm *c, stretto_cached_plan *cached, const stretto_buffers *b,
                      unsigned *match) {
    stretto_exchanges *x = c->exchanges;
    const size_t p = (size_t)c->nranks;
    const uint64_t mask = ((uint64_t)1 << SIZE_BITS) - 1;
    const bool in_place = cached->plan.shape.in_place;
    uint64_t mine = 0, *in = x->numbers, *out = in + p, all = ~(uint64_t)0;
    for (int i = 0; !in_place && i < KEPT; i++)
        mine |= (uint64_t)matches(x, i, b) << (SIZE_BITS + i);
    for (size_t r = 0; r < p; r++) {
        in[r] = mine | (in_place ? 0 : b->in_n[r]);
        out[r] = mine | b->out_n[r]; /* what is sent, in place */
    }
    const stretto_elements number = {MPI_BYTE, sizeof *in, sizeof *in, NULL, MPI_OP_NULL};
    const stretto_buffers numbers = {.in = in, .out = out, .count = 1};
    stretto_running r = running(c, cached, &number, &numbers);
    for (int j = 0; j <= x->tmp_blocks; j++)
        x->tmp_at[j] = (size_t)j;
    r.tmp_at = x->tmp_at;
    int rc = stretto_run_plan(&r);
    if (rc != MPI_SUCCESS)
        return rc;
    const uint64_t *told = (const uint64_t *)(const void *)r.tmp;
    for (int j = 0; j < x->tmp_blocks; j++)
        x->tmp_at[j + 1] = x->tmp_at[j] + (size_t)(told[j] & mask);
    for (size_t s = 0; s < p; s++) {
        all &= out[s];
        out[s] &= mask;
    }
    *match = (unsigned)(all >> SIZE_BITS) & ((1u << KEPT) - 1);
    return MPI_SUCCESS;
}

/* Keeps this exchange in the place of the oldest; returns its number. An odd one may come to be
 * expected, and then receives into scratch of the sizes that the others will send. */
static int keep(stretto_exchanges *x, const stretto_buffers *b, bool odd) {
    const size_t p = (size_t)x->nranks, offsets = (size_t)x->tmp_blocks + 1;
    const int i = x->oldest;
    exchange *e = &x->kept[i];
    x->oldest = (i + 1) % KEPT;
    for (int other = 0; other < KEPT; other++)
        if (x->kept[other].next == i)
            x->kept[other].next = -1;
    if (!e->in_n)
        e->in_n = room((2 * p + offsets) * sizeof *e->in_n);
    *e = (exchange){true, odd, -1, e->in_n, e->in_n + p, e->in_n + 2 * p};
    memcpy(e->in_n, b->in_n, p * sizeof *e->in_n);
    for (size_t r = 0; r < p; r++) /* what comes, also where there is no room for it */
        e->out_n[r] = (size_t)x->numbers[p + r];
    memcpy(e->tmp_at, x->tmp_at, offsets * sizeof *e->tmp_at);
    return i;
}

/* Exchange i, or i = -1 for none, is the one that should come now. */
static int expected_now(const stretto_exchanges *x) {
    if (x->last < 0)
        return -1;
    const int next = x->kept[x->last].next;
    return next >= 0 ? next : x->last;
}

static void came(stretto_exchanges *x, int i) {
    if (x->last >= 0 && x->kept[x->last].used)
        x->kept[x->last].next = i;
    x->last = i;
}

/* Runs the plan on the exchanged sizes. If more data arrives than the receive buffer holds, it goes
 * through scratch memory. */
static int run_told(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *e,
                    const stretto_buffers *b, bool cut) {
    stretto_exchanges *x = c->exchanges;
    stretto_buffers other = *b;
    size_t *n = x->place + x->nranks;
    if (cut) {
        for (int r = 0; r < x->nranks; r++) {
            const size_t comes = (size_t)x->numbers[x->nranks + r];
            n[r] = comes > b->out_n[r] ? comes : b->out_n[r];
        }
        char *out = stand_in(c, x, n, &other);
        for (int r = 0; r < x->nranks; r++) /* in place it is sent from there */
            if (b->out_n[r])
                memcpy(out + x->place[r], (char *)b->out + b->out_at[r], b->out_n[r]);
    }
    stretto_running run = running(c, cached, e, &other);
    run.tmp_at = x->tmp_at;
    int rc = stretto_run_plan(&run);
    if (rc != MPI_SUCCESS || !cut)
        return rc;
    for (int r = 0; r < x->nranks; r++)
        if (b->out_n[r])
            memcpy((char *)b->out + b->out_at[r], run.out + x->place[r], b->out_n[r]);
    return MPI_ERR_TRUNCATE;
}

int stretto_execute_carrying(stretto_comm *c, stretto_cached_plan *cached,
                             const stretto_elements *e, const stretto_buffers *b) {
    stretto_exchanges *x = exchanges_of(c, cached);
    if (c->planned && x->told)
        return run_told(c, cached, e, b, x->cut);
    const bool in_place = cached->plan.shape.in_place;
    const int expected = in_place || c->planned ? -1 : expected_now(x);
    unsigned match = 0;
    if (expected >= 0 && x->repeats) {
        bool changed = !matches(x, expected, b);
        int rc = run_expected(c, cached, e, b, &x->kept[expected], &changed);
        if (rc != MPI_SUCCESS)
            return rc;
        x->known = !changed;
        if (!changed) {
            came(x, expected);
            return MPI_SUCCESS;
        }
    }
    x->known = false;
    int rc = tell_sizes(c, cached, b, &match);
    if (rc != MPI_SUCCESS)
        return rc;
    bool cut = false, odd = false;
    for (int r = 0; r < c->nranks; r++) {
        cut |= x->numbers[c->nranks + r] > b->out_n[r];
        odd |= x->numbers[c->nranks + r] != b->out_n[r];
    }
    x->told = true;
    x->cut = cut;
    if (!in_place &&
        !c->planned) { /* from what is the same on all ranks; what is sent in place is not kept */
        x->repeats = expected >= 0 && (match >> expected & 1);
        int i = x->repeats ? expected : match ? __builtin_ctz(match) : keep(x, b, odd);
        came(x, i);
    }
    return run_told(c, cached, e, b, cut);
}
