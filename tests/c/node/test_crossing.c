/* Between two domains a line crosses once: only the rank that acts for a domain touches what ranks
 * of another domain wrote, and only what those wrote that act for theirs. Each rank is a process
 * that has taken the access to all else away from itself; the flat way, tried as well, is killed by
 * that, or the test would prove nothing. */
#include "node/domains.h"
#include "../check.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 6, CALLS = 200, LONG = 700000 };
static const size_t PAGE = 4096;

static void nothing(void *arg) {
    (void)arg;
}

static void sum(const void *left, const void *right, void *out, size_t n) {
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)out)[i] = ((const uint64_t *)left)[i] + ((const uint64_t *)right)[i];
}

static int leader(const int *domain_of, int rank) {
    int r = 0;
    while (domain_of[r] != domain_of[rank])
        r++;
    return r;
}

/* The pages of other ranks' areas that this rank has no business with. The flags at an area's
 * beginning (384 bytes, one page at the most) stay: `done` is everybody's. */
static void forbid(const stretto_node *node, const int *domain_of) {
    for (int r = 0; r < RANKS; r++) {
        if (domain_of[r] == domain_of[node->me] ||
            (leader(domain_of, r) == r && leader(domain_of, node->me) == node->me))
            continue;
        uintptr_t from = (uintptr_t)stretto_area_of(node, r) + offsetof(stretto_area, tiny);
        uintptr_t to = (uintptr_t)stretto_area_of(node, r) + node->stride;
        from = (from + PAGE - 1) / PAGE * PAGE, to = to / PAGE * PAGE;
        CHECK(mprotect((void *)from, to - from, PROT_NONE) == 0);
    }
}

static void rank_main(void *memory, size_t area, int me, const int *domain_of, bool by_domain) {
    stretto_wait wait = {.spins = 10, .yield = true, .progress = nothing};
    stretto_node *node = stretto_node_attach(memory, RANKS, me, area, NULL, &wait);
    CHECK(node);
    CHECK(!by_domain || stretto_node_use_domains(node, domain_of, true, true));
    forbid(node, domain_of);
    static uint64_t in[400], out[400];
    unsigned char *data = malloc(LONG);
    CHECK(data);
    for (uint64_t call = 0; call < CALLS; call++) {
        const size_t n = call % 2 ? 400 : 1;
        stretto_node_barrier(node);
        for (size_t i = 0; i < n; i++)
            in[i] = call * i + (uint64_t)me;
        stretto_node_allreduce(node, in, out, n, 8, sum);
        for (size_t i = 0; i < n; i++)
            CHECK(out[i] == RANKS * call * i + RANKS * (RANKS - 1) / 2);
        memset(out, 0, sizeof out);
        stretto_node_reduce(node, in, out, n, 8, sum, 0);
        CHECK(me || out[n - 1] == RANKS * call * (n - 1) + RANKS * (RANKS - 1) / 2);
        const size_t bytes = call % 8 ? 8 * n : LONG;
        memset(data, me ? 0 : (int)call, bytes);
        stretto_node_bcast(node, data, bytes, 0);
        for (size_t i = 0; i < bytes; i += 997)
            CHECK(data[i] == (unsigned char)call);
    }
    free(data);
    stretto_node_detach(node);
}

/* Whether all ranks came to their end, rather than to a forbidden page. */
static bool comes_through(const int *domain_of, bool by_domain, bool modest) {
    const size_t area = stretto_node_area(RANKS, modest ? 0 : stretto_node_ring(0));
    void *memory = mmap(NULL, stretto_node_bytes(RANKS, area), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    pid_t child[RANKS];
    for (int r = 0; r < RANKS; r++) {
        child[r] = fork();
        CHECK(child[r] >= 0);
        if (child[r] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            signal(SIGSEGV, SIG_DFL); /* not a sanitizer's own handler */
            rank_main(memory, area, r, domain_of, by_domain);
            _exit(check_failed != 0);
        }
    }
    bool well = true;
    for (int left = RANKS, status; left > 0; left--) {
        pid_t gone = wait(&status);
        for (int r = 0; r < RANKS; r++)
            if (child[r] == gone)
                child[r] = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        if (well)
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        well = false;
        for (int r = 0; r < RANKS; r++)
            if (child[r])
                kill(child[r], SIGKILL);
    }
    munmap(memory, stretto_node_bytes(RANKS, area));
    return well;
}

int main(void) {
    static const int runs[RANKS] = {0, 0, 0, 1, 1, 2}, halves[RANKS] = {5, 5, 5, 3, 3, 3},
                     turns[RANKS] = {0, 1, 0, 1, 0, 1};
    const int *const placements[] = {runs, halves, turns};
    for (int i = 0; i < 3; i++) {
        CHECK(comes_through(placements[i], true, i % 2));
        CHECK(!comes_through(placements[i], false, i % 2));
    }
    return check_report("what crosses between domains");
}
