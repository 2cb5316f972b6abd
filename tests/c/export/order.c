/* Does a reduction keep the order of its operands? Products of 2 x 2 matrices, which do not
 * commute, on the first ranks of MPI_COMM_WORLD, and a line for each call: right or wrong.
 *
 *     order RANKS,RANKS,... COUNT,COUNT,...
 *
 * What rank r adds is known to all, so that each works out what it must get. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

typedef struct {
    uint32_t at[4];
} matrix; /* modulo 2^32 */

typedef struct {
    MPI_Comm comm;
    int rank, size;
    MPI_Datatype type;
    MPI_Op product;
} place;

static matrix times(matrix a, matrix b) {
    return (matrix){{a.at[0] * b.at[0] + a.at[1] * b.at[2], a.at[0] * b.at[1] + a.at[1] * b.at[3],
                     a.at[2] * b.at[0] + a.at[3] * b.at[2], a.at[2] * b.at[1] + a.at[3] * b.at[3]}};
}

static void multiply(void *left, void *right, int *length, MPI_Datatype *type) {
    (void)type;
    const matrix *a = left;
    matrix *b = right;
    for (int i = 0; i < *length; i++)
        b[i] = times(a[i], b[i]);
}

/* Element i of rank r. */
static matrix of(int r, int i) {
    uint32_t x = (uint32_t)(r * 7919 + i * 104729 + 1);
    return (matrix){{1 + 2 * (x % 97), x % 89, x % 83, 1 + 2 * (x % 79)}};
}

/* Of the ranks first to last (not included). */
static matrix product_of(int first, int last, int i) {
    matrix out = of(first, i);
    for (int r = first + 1; r < last; r++)
        out = times(out, of(r, i));
    return out;
}

/* So many elements from `from` on are the products of ranks 0 to last (not included). */
static int right(const matrix *got, int from, int count, int last) {
    for (int i = 0; i < count; i++) {
        matrix want = product_of(0, last, from + i);
        if (memcmp(&got[i], &want, sizeof want) != 0)
            return 0;
    }
    return 1;
}

static int one_call(const place *p, const char *name, int count, int variant) {
    int counts[MOST], from = 0, all = 0, good = 1;
    for (int r = 0; r < p->size;
         r++) { /* of the scattering ones; they differ in the last variant */
        counts[r] = variant == 2 ? count + (r % 3) * (r + 1) : count;
        from += r < p->rank ? counts[r] : 0;
        all += counts[r];
    }
    if (!strstr(name, "scatter"))
        all = count;
    matrix *send = malloc((size_t)(all + 1) * sizeof *send);
    matrix *recv = calloc((size_t)all + 1, sizeof *recv);
    for (int i = 0; i < all; i++)
        send[i] = of(p->rank, i);
    if (strcmp(name, "allreduce") == 0) {
        MPI_Allreduce(send, recv, count, p->type, p->product, p->comm);
        good = right(recv, 0, count, p->size);
    } else if (strcmp(name, "reduce") == 0) {
        int root = variant * (p->size - 1) / 2;
        MPI_Reduce(send, recv, count, p->type, p->product, root, p->comm);
        good = p->rank != root || right(recv, 0, count, p->size);
    } else if (strcmp(name, "reduce_scatter") == 0) {
        MPI_Reduce_scatter(send, recv, counts, p->type, p->product, p->comm);
        good = right(recv, from, counts[p->rank], p->size);
    } else if (strcmp(name, "reduce_scatter_block") == 0) {
        MPI_Reduce_scatter_block(send, recv, count, p->type, p->product, p->comm);
        good = right(recv, p->rank * count, count, p->size);
    } else if (strcmp(name, "scan") == 0) {
        MPI_Scan(send, recv, count, p->type, p->product, p->comm);
        good = right(recv, 0, count, p->rank + 1);
    } else if (strcmp(name, "exscan") == 0) {
        MPI_Exscan(send, recv, count, p->type, p->product, p->comm);
        good = p->rank == 0 || right(recv, 0, count, p->rank);
    } else
        MPI_Abort(MPI_COMM_WORLD, 2);
    free(send);
    free(recv);
    return good;
}

static void calls(const place *p, const char *name, int count) {
    int mine = 1, good[MOST];
    int variants = strcmp(name, "reduce") == 0 || strcmp(name, "reduce_scatter") == 0 ? 3 : 1;
    for (int v = 0; v < variants; v++) /* reduce: roots */
        mine &= one_call(p, name, count, v);
    MPI_Gather(&mine, 1, MPI_INT, good, 1, MPI_INT, 0, p->comm);
    for (int r = 0; p->rank == 0 && r < p->size; r++)
        mine &= good[r];
    if (p->rank == 0)
        printf("%s %d %d %s\n", name, p->size, count, mine ? "right" : "wrong");
    fflush(stdout);
}

static const char *after(const char *list) {
    const char *comma = strchr(list, ',');
    return comma ? comma + 1 : NULL;
}

int main(int argc, char **argv) {
    static const char *const names[] = {
        "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"};
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS || argc != 3)
        return 2;
    place p = {.comm = MPI_COMM_NULL};
    int world;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Type_contiguous(4, MPI_UINT32_T, &p.type);
    MPI_Type_commit(&p.type);
    MPI_Op_create(multiply, 0, &p.product);
    for (const char *ranks = argv[1]; ranks; ranks = after(ranks)) {
        p.size = (int)strtol(ranks, NULL, 10);
        MPI_Comm_split(MPI_COMM_WORLD, world < p.size ? 0 : MPI_UNDEFINED, world, &p.comm);
        if (p.comm == MPI_COMM_NULL)
            continue;
        p.rank = world;
        for (const char *count = argv[2]; count; count = after(count))
            for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                calls(&p, names[i], (int)strtol(count, NULL, 10));
        MPI_Comm_free(&p.comm);
    }
    MPI_Op_free(&p.product);
    MPI_Type_free(&p.type);
    return MPI_Finalize();
}
