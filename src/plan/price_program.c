/* Plans made compact: sizes in bytes, runs of equal local work as one, and one copy of what ranks
 * have in common. A million ranks of a logarithmic algorithm then need one program, or a few. */
#include "plan/price_state.h"

#include <stdio.h>
#include <stdlib.h>

/* Sizes of the blocks of one rank's plan. */
typedef struct {
    const stretto_price_call *call;
    const stretto_plan *plan;
    uint64_t *tmp; /* [tmp_blocks + 1] prefix sums */
    uint64_t largest;
    bool telling; /* the first run of a plan that carries blocks: a number a block */
} sizes;

/* Folded, a rank's blocks must be those of its like on other nodes: where they would not be,
 * every span has the size of the longest one of so many blocks. */
static bool evens_out(const sizes *z) {
    const stretto_layout *layout = z->call->layout;
    const uint64_t count = z->call->bytes / z->call->element;
    return z->call->fold && z->plan->vector_blocks > 1 && layout &&
           count % (uint64_t)layout->nnodes != 0;
}

static uint64_t vector_until(const sizes *z, int block) {
    uint64_t count = z->call->bytes / z->call->element;
    int n = z->plan->vector_blocks;
    return n ? (uint64_t)block * count / (uint64_t)n * z->call->element : 0;
}

static uint64_t vector_span(const sizes *z, int first, int count) {
    if (!evens_out(z))
        return vector_until(z, first + count) - vector_until(z, first);
    const uint64_t n = (uint64_t)z->plan->vector_blocks, of = z->call->bytes / z->call->element;
    return ((uint64_t)count * of + n - 1) / n * z->call->element;
}

/* Bytes of block b of the call, seen from this rank's buffer. */
static uint64_t one_block(const sizes *z, stretto_buffer buffer, int b) {
    const stretto_price_call *call = z->call;
    const stretto_shape *shape = &z->plan->shape;
    if (!call->sizes)
        return call->bytes;
    if (shape->collective == STRETTO_ALLTOALLV) {
        size_t p = (size_t)call->nranks, me = (size_t)shape->rank, other = (size_t)b;
        return call->sizes[buffer == STRETTO_IN ? me * p + other : other * p + me];
    }
    return call->sizes[b];
}

static uint64_t named(const sizes *z, int block) {
    const int p = z->plan->shape.nranks;
    if (block == STRETTO_SHAPE_LARGEST)
        return z->largest;
    if (z->plan->carries && block >= p) /* of any pair */
        return z->call->sizes ? z->call->sizes[block - p] : z->call->bytes;
    if (stretto_collective_vector(z->plan->shape.collective))
        return vector_span(z, block, 1);
    return one_block(z, STRETTO_OUT, block);
}

static uint64_t span_bytes(const sizes *z, stretto_span span) {
    if (span.count == 0)
        return 0;
    if (z->telling)
        return sizeof(uint64_t) * (uint64_t)span.count;
    if (span.buffer == STRETTO_TMP)
        return z->tmp[span.first + span.count] - z->tmp[span.first];
    if (stretto_collective_vector(z->plan->shape.collective))
        return vector_span(z, span.first, span.count);
    if (!z->call->sizes)
        return (uint64_t)span.count * z->call->bytes;
    /* a buffer of one block holds this rank's own */
    if (stretto_plan_blocks_of(z->plan, span.buffer) == 1)
        return one_block(z, span.buffer, z->plan->shape.rank);
    uint64_t sum = 0;
    for (int b = span.first; b < span.first + span.count; b++)
        sum += one_block(z, span.buffer, b);
    return sum;
}

static bool prepare(sizes *z) {
    const stretto_plan *plan = z->plan;
    int n = stretto_plan_call_blocks(plan);
    if (stretto_collective_vector(plan->shape.collective)) {
        uint64_t count = z->call->bytes / z->call->element;
        z->largest = n ? (count + (uint64_t)n - 1) / (uint64_t)n * z->call->element : 0;
    } else {
        for (int b = 0; b < n; b++) {
            uint64_t size = z->call->sizes ? one_block(z, STRETTO_OUT, b) : z->call->bytes;
            if (size > z->largest)
                z->largest = size;
            if (!z->call->sizes)
                break;
        }
    }
    z->tmp = malloc(((size_t)plan->tmp_blocks + 1) * sizeof *z->tmp);
    if (!z->tmp)
        return false;
    z->tmp[0] = 0;
    for (int j = 0; j < plan->tmp_blocks; j++)
        z->tmp[j + 1] = z->tmp[j] + named(z, plan->tmp_shape[j]);
    return true;
}

static price_op translate(const sizes *z, const stretto_action *a) {
    price_op op = {.kind = (uint32_t)a->kind, .round = (uint32_t)a->round & 0x7ffffff};
    uint64_t src = span_bytes(z, a->src), dst = span_bytes(z, a->dst);
    switch (a->kind) {
    case STRETTO_SEND: op.peer = a->peer, op.bytes = src; break;
    case STRETTO_RECV: op.peer = a->peer; break;
    case STRETTO_COPY:
    case STRETTO_REDUCE_LOCAL:
        op.peer = 1;
        op.bytes = src < dst ? src : dst; /* LARGEST against a named block */
        break;
    case STRETTO_WAIT: op.peer = a->peer; break;
    case STRETTO_FENCE: break;
    case STRETTO_NODE_BCAST: op.peer = a->peer, op.bytes = dst; break;
    case STRETTO_NODE_REDUCE: op.peer = a->peer, op.bytes = src > dst ? src : dst; break;
    case STRETTO_NODE_ALLREDUCE: op.bytes = src > dst ? src : dst; break;
    case STRETTO_NODE_ALLGATHER: op.bytes = src; break;
    case STRETTO_NODE_GATHER: op.peer = a->peer, op.bytes = src; break;
    case STRETTO_NODE_SCATTER: op.peer = a->peer, op.bytes = dst; break;
    default: op.peer = a->peer, op.bytes = src > dst ? src : dst; break;
    }
    return op;
}

/* Ops of the plan, peers as they are; how many, or -1. */
static int ops_of(const sizes *z, price_op *ops, int *window, char *error, size_t error_size) {
    const stretto_plan *plan = z->plan;
    int *ordinal = malloc(((size_t)plan->nactions + 1) * sizeof *ordinal);
    bool *over = calloc((size_t)plan->nactions + 1, 1);
    int n = 0, messages = 0, oldest = 0, status = ordinal && over ? 0 : -1;
    if (status)
        snprintf(error, error_size, "out of memory while pricing");
    *window = 1;
    for (int i = 0; status == 0 && i < plan->nactions; i++) {
        const stretto_action *a = &plan->actions[i];
        const bool message = a->kind == STRETTO_SEND || a->kind == STRETTO_RECV;
        if ((message && (a->peer < 0 || a->peer >= z->call->nranks)) ||
            (a->kind == STRETTO_WAIT && (a->peer < 0 || a->peer >= i))) {
            snprintf(error, error_size,
                     "the plan of rank %d is faulty at action %d; stretto plan verify says why",
                     plan->shape.rank, i);
            status = -1;
            break;
        }
        price_op op = translate(z, a);
        if (message)
            ordinal[i] = messages++;
        if (a->kind == STRETTO_WAIT) {
            over[ordinal[a->peer]] = true;
            op.peer = messages - ordinal[a->peer];
        } else if (a->kind == STRETTO_FENCE) {
            for (; oldest < messages; oldest++)
                over[oldest] = true;
        }
        while (oldest < messages && over[oldest])
            oldest++;
        if (messages - oldest > *window)
            *window = messages - oldest;
        price_op *last = n ? &ops[n - 1] : NULL;
        const bool local = a->kind == STRETTO_COPY || a->kind == STRETTO_REDUCE_LOCAL;
        if (local && last && last->kind == op.kind && last->bytes == op.bytes)
            last->peer++;
        else
            ops[n++] = op;
    }
    free(ordinal);
    free(over);
    return status ? -1 : n;
}

static void code(price_op *to, const price_op *from, int n, price_coding coding, int rank,
                 int nranks) {
    for (int i = 0; i < n; i++) {
        to[i] = from[i];
        if (from[i].kind == STRETTO_SEND || from[i].kind == STRETTO_RECV)
            to[i].peer = coding == PRICE_MASK ? from[i].peer ^ rank
                                              : (from[i].peer - rank + nranks) % nranks;
    }
}

int price_peer(const price_program *program, int coded, int rank, int nranks) {
    if (program->coding == PRICE_MASK)
        return coded ^ rank;
    return rank + coded < nranks ? rank + coded : rank + coded - nranks;
}

static uint64_t hash_of(const price_op *ops, int n, price_coding coding) {
    uint64_t h = 1469598103934665603u ^ (uint64_t)coding;
    for (int i = 0; i < n; i++) {
        h = (h ^ ((uint64_t)ops[i].kind << 32 | ops[i].round)) * 1099511628211u;
        h = (h ^ (uint32_t)ops[i].peer) * 1099511628211u;
        h = (h ^ ops[i].bytes) * 1099511628211u;
        h ^= h >> 29;
    }
    return h;
}

static bool same(const price_op *a, const price_op *b, int n) {
    for (int i = 0; i < n; i++)
        if (a[i].kind != b[i].kind || a[i].round != b[i].round || a[i].peer != b[i].peer ||
            a[i].bytes != b[i].bytes)
            return false;
    return true;
}

static int find(const price_programs *all, const price_op *ops, int n, price_coding coding,
                uint64_t hash) {
    if (!all->table_size)
        return -1;
    size_t mask = (size_t)all->table_size - 1;
    for (size_t i = hash & mask; all->table[i]; i = (i + 1) & mask) {
        const price_program *p = &all->programs[all->table[i] - 1];
        if (p->hash == hash && p->coding == coding && p->nops == n && same(p->ops, ops, n))
            return all->table[i] - 1;
    }
    return -1;
}

static bool grow_table(price_programs *all) {
    int size = all->table_size ? 2 * all->table_size : 256;
    int *table = calloc((size_t)size, sizeof *table);
    if (!table)
        return false;
    for (int p = 0; p < all->n; p++) {
        size_t i = all->programs[p].hash & ((size_t)size - 1);
        while (table[i])
            i = (i + 1) & ((size_t)size - 1);
        table[i] = p + 1;
    }
    free(all->table);
    all->table = table;
    all->table_size = size;
    return true;
}

static int add(price_programs *all, const price_op *ops, int n, price_coding coding, uint64_t hash,
               int window) {
    if (2 * (all->n + 1) > all->table_size && !grow_table(all))
        return -1;
    if (all->n == all->capacity) {
        int larger = all->capacity ? 2 * all->capacity : 64;
        price_program *programs = realloc(all->programs, (size_t)larger * sizeof *programs);
        if (!programs)
            return -1;
        all->programs = programs;
        all->capacity = larger;
    }
    price_op *copy = malloc(((size_t)n + 1) * sizeof *copy);
    if (!copy)
        return -1;
    memcpy(copy, ops, (size_t)n * sizeof *copy);
    all->programs[all->n] = (price_program){coding, n, window, hash, copy};
    size_t mask = (size_t)all->table_size - 1, i = hash & mask;
    while (all->table[i])
        i = (i + 1) & mask;
    all->table[i] = all->n + 1;
    return all->n++;
}

/* Of a plan that carries blocks both runs, as of a call whose sizes are new. */
static int all_ops_of(sizes *z, price_op *ops, int *window, char *error, size_t error_size) {
    int first = 0, wide = 1;
    z->telling = z->plan->carries;
    if (z->telling)
        first = ops_of(z, ops, &wide, error, error_size);
    z->telling = false;
    int n = first < 0 ? -1 : ops_of(z, ops + first, window, error, error_size);
    if (wide > *window)
        *window = wide;
    return n < 0 ? -1 : first + n;
}

int price_compile(price_programs *all, const stretto_price_call *call, const stretto_plan *plan,
                  char *error, size_t error_size) {
    const int rank = plan->shape.rank;
    sizes z = {.call = call, .plan = plan};
    const size_t most = ((size_t)plan->nactions + 1) * (plan->carries ? 2 : 1);
    price_op *ops = malloc(2 * most * sizeof *ops);
    price_op *coded = ops + most;
    int found = -1, n = 0, window = 1;
    snprintf(error, error_size, "out of memory while pricing");
    if (ops && prepare(&z) && (n = all_ops_of(&z, ops, &window, error, error_size)) >= 0) {
        for (int c = PRICE_SHIFT; c <= PRICE_MASK && found < 0; c++) {
            code(coded, ops, n, (price_coding)c, rank, call->nranks);
            found = find(all, coded, n, (price_coding)c, hash_of(coded, n, (price_coding)c));
        }
        /* the first rank of its kind stands in both forms: which one serves the others is not
         * known yet */
        for (int c = found < 0 ? PRICE_MASK : PRICE_SHIFT - 1; c >= PRICE_SHIFT; c--) {
            code(coded, ops, n, (price_coding)c, rank, call->nranks);
            found = add(all, coded, n, (price_coding)c, hash_of(coded, n, (price_coding)c), window);
            if (found < 0)
                break;
        }
    }
    free(z.tmp);
    free(ops);
    return found;
}

void price_programs_free(price_programs *all) {
    for (int p = 0; p < all->n; p++)
        free(all->programs[p].ops);
    free(all->programs);
    free(all->table);
}
