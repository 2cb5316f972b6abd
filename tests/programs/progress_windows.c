/* Cases in which the victim blocks in one-sided communication (progress_cases.h). */
#include "progress_cases.h"

static MPI_Comm const W = MPI_COMM_WORLD;
static MPI_Win win;
static int *memory;

static void with_window(void (*test)(void (*)(void), void (*)(void)), void (*mine)(void),
                        void (*its)(void)) {
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, W, &memory, &win);
    for (int i = 0; i < 64; i++)
        memory[i] = 1000 * rank + i;
    MPI_Barrier(W);
    test(mine, its);
    MPI_Win_free(&win);
}
static void early(void (*all)(void), void (*none)(void)) {
    (void)none;
    one_is_early(all);
}

static void in_fence(void) {
    int got = 0, next = (rank + 1) % size;
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_INT, next, 3, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    check(got == 1000 * next + 3, "value");
}
static void fence(void) {
    with_window(early, in_fence, NULL);
}

/* The partner has its own window locked until the collectives have ended there. */
static void locked(int exclusive) {
    static pending p;
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, W, &memory, &win);
    for (int round = 0; round < 2; round++) {
        int got = 0, mine = 5 + round;
        victim = round % size;
        partner = (victim + 1) % size;
        if (rank == partner) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, partner, 0, win);
            MPI_Put(&mine, 1, MPI_INT, partner, round, 1, MPI_INT, win);
            MPI_Win_flush(partner, win);
        }
        MPI_Barrier(W); /* it has it */
        if (rank != victim)
            usleep(LATE);
        begin(&p, W);
        if (rank == victim) {
            MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, partner, 0, win);
            MPI_Get(&got, 1, MPI_INT, partner, round, 1, MPI_INT, win);
            MPI_Win_flush(partner, win);
            check(got == mine, "value");
            MPI_Win_unlock(partner, win);
        }
        end(&p, W);
        if (rank == partner)
            MPI_Win_unlock(partner, win);
    }
    MPI_Win_free(&win);
}
static void lock_exclusive(void) {
    locked(1);
}
static void lock_shared(void) {
    locked(0);
}

static void in_flush(void) {
    int one = 1, before = 0, expected = 0, compare = -1, all[64];
    MPI_Request request;
    MPI_Win_lock_all(0, win);
    MPI_Accumulate(&one, 1, MPI_INT, partner, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(partner, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT, partner, 1, MPI_SUM, win);
    MPI_Win_flush_local(partner, win);
    MPI_Win_flush_all(win);
    check(before == 1000 * partner + 2, "value");
    MPI_Compare_and_swap(&one, &compare, &expected, MPI_INT, partner, 2, win);
    MPI_Win_flush_local_all(win);
    MPI_Rget(all, 64, MPI_INT, partner, 0, 64, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(all[1] == 1000 * partner + 3 && all[63] == 1000 * partner + 63, "values");
    MPI_Get_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, partner, 5, 1, MPI_INT, MPI_NO_OP,
                       win);
    MPI_Win_unlock_all(win);
    check(before == 1000 * partner + 5, "value");
}
static void nothing(void) {}
static void flush(void) {
    with_window(one_blocks, in_flush, nothing);
}

/* The victim exposes its window and waits, or starts and waits for the partner's post. */
static void group_of(int r, MPI_Group *group) {
    MPI_Group all;
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, 1, &r, group);
    MPI_Group_free(&all);
}
static void expose(int testing, int to) {
    MPI_Group group;
    group_of(to, &group);
    MPI_Win_post(group, 0, win);
    if (testing)
        for (int flag = 0; !flag;)
            MPI_Win_test(win, &flag);
    else
        MPI_Win_wait(win);
    MPI_Group_free(&group);
}
static void reach(int into) {
    MPI_Group group;
    int seven = 7;
    group_of(into, &group);
    MPI_Win_start(group, 0, win);
    MPI_Put(&seven, 1, MPI_INT, into, 9, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Group_free(&group);
}
static void in_exposed(void) {
    expose(0, partner);
    check(memory[9] == 7, "value");
    expose(1, partner);
}
static void its_reach(void) {
    reach(victim);
    reach(victim);
}
static void in_reach(void) {
    reach(partner);
}
static void its_exposed(void) {
    expose(0, victim);
}
static void post_wait(void) {
    with_window(one_blocks, in_exposed, its_reach);
}
static void start_complete(void) {
    with_window(one_blocks, in_reach, its_exposed);
}

static void in_making(void) {
    static int own[8];
    void *base;
    MPI_Win made;
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, W, &made);
    MPI_Win_free(&made);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, W, &base, &made);
    MPI_Win_free(&made);
    MPI_Win_create_dynamic(MPI_INFO_NULL, W, &made);
    MPI_Win_free(&made);
}
static void making(void) {
    one_is_early(in_making);
}

const progress_case window_cases[] = {
    {"win_fence", fence, 2},
    {"win_lock", lock_exclusive, 2},
    {"win_lock_shared", lock_shared, 2},
    {"win_flush", flush, 2},
    {"win_post_wait", post_wait, 2},
    {"win_start_complete", start_complete, 2},
    {"win_make", making, 2},
    {NULL, NULL, 0},
};
