/* Hash-consed expression trees: see expr.h. */
#include "plan/expr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int leaves(const stretto_exprs *e) {
    return e->nranks * e->nblocks;
}

static bool is_leaf(const stretto_exprs *e, int value) {
    return value <= leaves(e);
}

static const stretto_expr *node(const stretto_exprs *e, int value) {
    return &e->nodes[value - 1 - leaves(e)];
}

void stretto_exprs_init(stretto_exprs *e, int nranks, int nblocks, bool commutative) {
    memset(e, 0, sizeof *e);
    e->nranks = nranks;
    e->nblocks = nblocks;
    e->commutative = commutative;
    e->words = (nranks + 63) / 64;
}

void stretto_exprs_free(stretto_exprs *e) {
    free(e->nodes);
    free(e->sets);
    free(e->table);
    memset(e, 0, sizeof *e);
}

int stretto_expr_leaf(const stretto_exprs *e, int rank, int block) {
    return 1 + rank * e->nblocks + block;
}

int stretto_expr_rank(const stretto_exprs *e, int value) {
    return is_leaf(e, value) ? (value - 1) / e->nblocks : node(e, value)->low;
}

int stretto_expr_block(const stretto_exprs *e, int value) {
    return is_leaf(e, value) ? (value - 1) % e->nblocks : node(e, value)->block;
}

int stretto_expr_highest(const stretto_exprs *e, int value) {
    return is_leaf(e, value) ? stretto_expr_rank(e, value) : node(e, value)->high;
}

/* Word w of the set of ranks that contribute. */
static uint64_t set_word(const stretto_exprs *e, int value, int w) {
    if (!is_leaf(e, value))
        return e->sets[(size_t)(value - 1 - leaves(e)) * (size_t)e->words + (size_t)w];
    int rank = stretto_expr_rank(e, value);
    return rank / 64 == w ? (uint64_t)1 << rank % 64 : 0;
}

int stretto_expr_missing(const stretto_exprs *e, int value, int last) {
    for (int rank = 0; rank <= last; rank++)
        if (value == 0 || !(set_word(e, value, rank / 64) >> rank % 64 & 1))
            return rank;
    return -1;
}

static unsigned hash(int left, int right, bool fixed) {
    uint64_t x = ((uint64_t)(unsigned)left << 32 | (unsigned)right) ^ (fixed ? 0x9e3779b9u : 0);
    x *= 0xff51afd7ed558ccdULL;
    return (unsigned)(x >> 33);
}

/* Room for one more operation, the table at most half full. */
static bool grow(stretto_exprs *e) {
    if (e->n < e->capacity)
        return true;
    int capacity = e->capacity ? 2 * e->capacity : 256;
    stretto_expr *nodes = realloc(e->nodes, (size_t)capacity * sizeof *nodes);
    if (nodes)
        e->nodes = nodes;
    uint64_t *sets = realloc(e->sets, (size_t)capacity * (size_t)e->words * sizeof *sets);
    if (sets)
        e->sets = sets;
    int *table = calloc(2 * (size_t)capacity, sizeof *table);
    if (!nodes || !sets || !table) {
        free(table);
        e->failed = true;
        return false;
    }
    free(e->table);
    e->table = table;
    e->table_size = 2 * capacity;
    e->capacity = capacity;
    for (int i = 0; i < e->n; i++) {
        unsigned at = hash(e->nodes[i].left, e->nodes[i].right, e->nodes[i].fixed);
        while (table[at &= (unsigned)e->table_size - 1])
            at++;
        table[at] = i + 1;
    }
    return true;
}

static int fault(const stretto_exprs *e, int left, int right) {
    if (stretto_expr_block(e, left) != stretto_expr_block(e, right))
        return STRETTO_EXPR_BLOCKS;
    for (int w = 0; w < e->words; w++)
        if (set_word(e, left, w) & set_word(e, right, w))
            return STRETTO_EXPR_DOUBLED;
    /* Operands that are in order themselves cover runs of ranks: by induction only these exist. */
    if (!e->commutative && stretto_expr_highest(e, left) + 1 != stretto_expr_rank(e, right))
        return STRETTO_EXPR_ORDER;
    return 0;
}

int stretto_expr_op(stretto_exprs *e, int left, int right, bool fixed) {
    int low = stretto_expr_rank(e, left), other = stretto_expr_rank(e, right);
    int high = stretto_expr_highest(e, left), other_high = stretto_expr_highest(e, right);
    if (e->commutative && !fixed && left > right) {
        int swap = left;
        left = right;
        right = swap;
    }
    if (!grow(e))
        return 0;
    unsigned at = hash(left, right, fixed);
    while (e->table[at &= (unsigned)e->table_size - 1]) {
        int i = e->table[at++] - 1;
        if (e->nodes[i].left == left && e->nodes[i].right == right && e->nodes[i].fixed == fixed)
            return 1 + leaves(e) + i;
    }
    int wrong = fault(e, left, right);
    if (wrong)
        return wrong;
    e->nodes[e->n] = (stretto_expr){.left = left,
                                    .right = right,
                                    .fixed = fixed,
                                    .block = stretto_expr_block(e, left),
                                    .low = low < other ? low : other,
                                    .high = high > other_high ? high : other_high};
    for (int w = 0; w < e->words; w++)
        e->sets[(size_t)e->n * (size_t)e->words + (size_t)w] =
            set_word(e, left, w) | set_word(e, right, w);
    e->table[at] = ++e->n;
    return leaves(e) + e->n;
}

/* Appends at *used; stops when the text is full. */
static void append_text(const stretto_exprs *e, int value, char *text, int size, int *used,
                        bool brackets) {
    if (*used >= size - 1)
        return;
    if (value == 0 || is_leaf(e, value)) {
        *used += value == 0 ? snprintf(text + *used, (size_t)(size - *used), "nothing")
                            : snprintf(text + *used, (size_t)(size - *used), "%d",
                                       stretto_expr_rank(e, value));
        return;
    }
    if (brackets)
        *used += snprintf(text + *used, (size_t)(size - *used), "(");
    append_text(e, node(e, value)->left, text, size, used, true);
    if (*used < size - 1)
        *used += snprintf(text + *used, (size_t)(size - *used), " op ");
    append_text(e, node(e, value)->right, text, size, used, true);
    if (brackets && *used < size - 1)
        *used += snprintf(text + *used, (size_t)(size - *used), ")");
}

char *stretto_expr_text(const stretto_exprs *e, int value, char *text, int size) {
    int used = 0;
    *text = '\0';
    append_text(e, value, text, size, &used, false);
    return text;
}
