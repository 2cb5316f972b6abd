/* Gatherv and scatterv by plans in which blocks of other ranks pass through (knomial, shm+X).
 *
 * Only the root knows all sizes, and each rank its own. The others are told by carrying the plan
 * out on the sizes, a number a block: what lies in TMP then is the size of each of its blocks, and
 * what lies in OUT is what will come, for which there may be too little room. That is found out
 * before any data moves, by the rank that has the room, and is its affair alone: it receives into
 * scratch, keeps what it has room for, and reports it; all others go on as if nothing were wrong.
 *
 * The sizes are told in every call. Alltoallv leaves them out where they repeat (exec_carry.c),
 * since there every rank hears from every other; here a leaf hears nothing (a root): it could not
 * learn that another rank's size has changed.
 */
#include "engine/exec.h"

#include <string.h>

/* The caller's side of a tree, in bytes: the root's blocks `many`, and `one`, mine. */
typedef struct {
    bool gathers, root, in_place;
    int n; /* of many: ranks on the root, elsewhere 0 */
    uint64_t *many, *one;
    size_t *at, *fits; /* [n] scratch that stands for OUT of a root that gathers */
} told;

static told sides(stretto_comm *c, const stretto_plan *plan) {
    const bool root = plan->shape.rank == plan->shape.root;
    const size_t n = root ? (size_t)plan->shape.nranks : 0;
    uint64_t *numbers = stretto_comm_scratch(c, STRETTO_SCRATCH_NUMBERS,
                                             (n + 1) * sizeof *numbers + 2 * n * sizeof(size_t));
    size_t *places = (size_t *)(void *)(numbers + n + 1);
    return (told){.gathers = plan->shape.collective == STRETTO_GATHERV,
                  .root = root,
                  .in_place = plan->shape.in_place,
                  .n = (int)n,
                  .many = numbers,
                  .one = numbers + n,
                  .at = places,
                  .fits = places + n};
}

static int run(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *e,
               const stretto_buffers *b, const char **tmp) {
    stretto_running r = {.c = c,
                         .cached = cached,
                         .e = e,
                         .b = b,
                         .in = (char *)(uintptr_t)b->in,
                         .out = b->out,
                         .tmp_at = cached->tmp_offset,
                         .truncated = MPI_SUCCESS};
    const int rc = stretto_run_plan(&r);
    *tmp = r.tmp;
    return rc;
}

/* The plan on the sizes: fills t's numbers with what will come, and the offsets of TMP. */
static int tell_sizes(stretto_comm *c, stretto_cached_plan *cached, const stretto_buffers *b,
                      const told *t) {
    size_t *offset = cached->tmp_offset;
    const int blocks = cached->plan.tmp_blocks;
    for (int r = 0; r < t->n; r++)
        t->many[r] = t->gathers ? 0 : b->in_n[r];
    if (t->gathers && t->in_place)
        t->many[c->rank] = b->out_n[c->rank];
    *t->one = t->gathers && !t->in_place ? (uint64_t)b->count : 0;
    for (int j = 0; j <= blocks; j++)
        offset[j] = (size_t)j;
    const stretto_elements number = {MPI_BYTE, sizeof *t->one, sizeof *t->one, NULL, MPI_OP_NULL};
    const stretto_buffers numbers = {
        .in = t->gathers ? t->one : t->many, .out = t->gathers ? t->many : t->one, .count = 1};
    const char *tmp;
    const int rc = run(c, cached, &number, &numbers, &tmp);
    for (int j = 0; j < blocks && rc == MPI_SUCCESS; j++) {
        uint64_t size;
        memcpy(&size, tmp + (size_t)j * sizeof size, sizeof size);
        offset[j + 1] = offset[j] + (size_t)size;
    }
    return rc;
}

/* Is there less room on this rank than comes? */
static bool is_cut(const told *t, const stretto_buffers *b) {
    if (!t->gathers)
        return !t->in_place && *t->one > (uint64_t)b->count;
    for (int r = 0; r < t->n; r++)
        if (t->many[r] > b->out_n[r])
            return true;
    return false;
}

/* Through scratch in which there is room for everything. */
static int run_cut(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *e,
                   const stretto_buffers *b, const told *t) {
    stretto_buffers other = *b;
    size_t total = t->gathers ? 0 : (size_t)*t->one;
    for (int r = 0; t->gathers && r < t->n; r++) {
        t->at[r] = total;
        t->fits[r] = (size_t)t->many[r];
        total += t->fits[r];
    }
    char *scratch = stretto_comm_scratch(c, STRETTO_SCRATCH_OUT, total ? total : 1), *out = b->out;
    const char *tmp;
    other.out = scratch;
    if (t->gathers) {
        other.out_at = t->at;
        other.out_n = t->fits;
        if (t->in_place) /* it is handed on from there */
            memcpy(scratch + t->at[c->rank], out + b->out_at[c->rank], t->fits[c->rank]);
    } else {
        other.count = (long long)total;
    }
    const int rc = run(c, cached, e, &other, &tmp);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!t->gathers && b->count)
        memcpy(out, scratch, (size_t)b->count);
    for (int r = 0; t->gathers && r < t->n; r++) {
        const size_t kept = t->fits[r] < b->out_n[r] ? t->fits[r] : b->out_n[r];
        if (kept)
            memcpy(out + b->out_at[r], scratch + t->at[r], kept);
    }
    return MPI_ERR_TRUNCATE;
}

int stretto_execute_told(stretto_comm *c, stretto_cached_plan *cached, const stretto_elements *e,
                         const stretto_buffers *b) {
    const told t = sides(c, &cached->plan);
    const char *tmp;
    int rc = tell_sizes(c, cached, b, &t);
    if (rc != MPI_SUCCESS)
        return rc;
    return is_cut(&t, b) ? run_cut(c, cached, e, b, &t) : run(c, cached, e, b, &tmp);
}
