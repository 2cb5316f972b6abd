/* Symbolic contents of blocks: hash-consed expression trees over contributions.
 *
 * A value is a small number: 0 for nothing, a leaf "block b of rank r", or an operation on two
 * values. Equal trees have equal numbers, so that comparing results is comparing numbers. When the
 * operation is commutative, trees that differ only in the order of operands are equal. */
#ifndef STRETTO_EXPR_H
#define STRETTO_EXPR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int left, right;
    bool fixed;    /* made by a node phase: its own tree, known to be in order */
    int block;     /* of all its leaves */
    int low, high; /* lowest and highest rank among its leaves */
} stretto_expr;

typedef struct {
    int nranks, nblocks; /* leaves: nranks * nblocks */
    bool commutative;
    bool failed; /* out of memory */
    int words;   /* 64-bit words in a set of ranks */
    int n, capacity;
    stretto_expr *nodes;    /* operations; value = 1 + leaves + index */
    uint64_t *sets;         /* [n * words] ranks that contribute */
    int *table, table_size; /* hash table of operations: index + 1 */
} stretto_exprs;

/* What can be wrong with an operation. */
enum {
    STRETTO_EXPR_BLOCKS = -1,  /* operands belong to different blocks */
    STRETTO_EXPR_DOUBLED = -2, /* a rank contributes to both operands */
    STRETTO_EXPR_ORDER = -3    /* not commutative, and the operands are not neighbours in order */
};

void stretto_exprs_init(stretto_exprs *e, int nranks, int nblocks, bool commutative);
void stretto_exprs_free(stretto_exprs *e);
/* The contribution of a rank to a block. */
int stretto_expr_leaf(const stretto_exprs *e, int rank, int block);
/* left op right; `fixed` as in stretto_expr. A value, or one of the faults above. */
int stretto_expr_op(stretto_exprs *e, int left, int right, bool fixed);
/* Rank of a leaf; of an operation the lowest. */
int stretto_expr_rank(const stretto_exprs *e, int value);
int stretto_expr_block(const stretto_exprs *e, int value);
/* The highest rank that contributes. */
int stretto_expr_highest(const stretto_exprs *e, int value);
/* The first of ranks 0..last that does not contribute to the value, or -1 when all do. */
int stretto_expr_missing(const stretto_exprs *e, int value, int last);
/* "(0 op 1) op 2" in ranks, cut off to fit; returns text. */
char *stretto_expr_text(const stretto_exprs *e, int value, char *text, int size);

#endif
