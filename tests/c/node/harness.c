#include "tests/c/node/harness.h"
#include "node/xpmem.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    harness *h;
    int rank;
    void (*run)(harness *, int);
} thread_arguments;

static void progress(void *arg) {
    atomic_fetch_add_explicit((_Atomic uint64_t *)arg, 1, memory_order_relaxed);
}

/* Both sizes of the buffers are tried, by seed. */
static size_t harness_area(const harness *h) {
    return stretto_node_area(h->ranks, h->seed % 2 ? 0 : stretto_node_ring(0));
}

stretto_node *harness_attach(harness *h, int rank) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    stretto_wait wait = {.spins = h->spins >= 0      ? h->spins
                                  : h->ranks > cores ? 10
                                                     : 1000,
                         .yield = h->ranks > cores,
                         .progress = progress,
                         .progress_arg = &h->progress[rank],
                         .cma = strcmp(h->direct, "off") != 0 && !faults_attach()};
    faults_begin(rank, h->ranks, h->seed);
    h->pids[rank] = (int)getpid();
    atomic_fetch_add(&h->ready, 1);
    while (atomic_load(&h->ready) < h->ranks)
        sched_yield();
    stretto_node *node =
        stretto_node_attach(h->memory, h->ranks, rank, harness_area(h), h->pids, &wait);
    if (!node) {
        fprintf(stderr, "node_test: no handle\n");
        abort();
    }
    int peers[HARNESS_RANKS];
    for (int r = 0; r < h->ranks; r++)
        peers[r] = r;
    if (h->buffers && !stretto_node_use_xpmem(node, peers))
        abort();
    if (h->ndomains && !stretto_node_use_domains(node, h->domain_of, h->commutes, true))
        abort();
    return node;
}

unsigned char *harness_buffer(harness *h, int rank, int which) {
    void *buffer;
    if (h->buffers)
        return h->buffers + (size_t)(rank * HARNESS_BUFFERS + which) * h->buffer_room;
    if (posix_memalign(&buffer, 64, h->buffer_room))
        abort();
    return buffer;
}

void harness_give_back(harness *h, unsigned char *buffer) {
    if (!h->buffers)
        free(buffer);
}

/* All ranks' buffers in memory that all ranks have at the same address: attaching is then nothing
 * but to name it. */
static void share_buffers(harness *h) {
    size_t bytes = (size_t)h->ranks * HARNESS_BUFFERS * h->buffer_room;
    h->buffers = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int64_t offers[HARNESS_RANKS];
    for (int r = 0; r < h->ranks; r++)
        offers[r] = stretto_xpmem_offer();
    if (h->buffers == MAP_FAILED || !stretto_xpmem_join(h->ranks, offers)) {
        fprintf(stderr, "node_test: no stand-in for XPMEM\n");
        exit(1);
    }
}

void harness_detach(harness *h, int rank, stretto_node *node) {
    (void)h;
    (void)rank;
    stretto_node_detach(node);
}

/* "3+2+1": so many consecutive ranks in each; "/2": rank r in domain r mod 2; "0120..": as said.
 * The numbers themselves mean nothing, so they are made neither small nor ascending. */
static bool parse_domains(harness *h, const char *text) {
    int r = 0;
    if (*text == '/') {
        for (h->ndomains = atoi(text + 1); h->ndomains > 0 && r < h->ranks; r++)
            h->domain_of[r] = 1000 - r % h->ndomains;
    } else if (strchr(text, '+')) {
        for (char *end = NULL; *text && end != text; text = end + (*end == '+')) {
            long k = strtol(text, &end, 10);
            for (h->ndomains++; k-- > 0 && r < h->ranks; r++)
                h->domain_of[r] = 1000 - h->ndomains;
        }
    } else {
        for (h->ndomains = 1; text[r] && r < h->ranks; r++)
            h->domain_of[r] = text[r];
    }
    return r == h->ranks && h->ndomains > 0;
}

static void *thread_main(void *arg) {
    thread_arguments *a = arg;
    a->run(a->h, a->rank);
    return NULL;
}

static int run_threads(harness *h, void (*run)(harness *, int)) {
    pthread_t threads[HARNESS_RANKS];
    thread_arguments arguments[HARNESS_RANKS];
    for (int r = 0; r < h->ranks; r++) {
        arguments[r] = (thread_arguments){h, r, run};
        if (pthread_create(&threads[r], NULL, thread_main, &arguments[r])) {
            perror("node_test: pthread_create");
            return 1;
        }
    }
    for (int r = 0; r < h->ranks; r++)
        pthread_join(threads[r], NULL);
    return 0;
}

static int run_processes(harness *h, void (*run)(harness *, int)) {
    pid_t children[HARNESS_RANKS];
    int status, failed = 0;
    for (int r = 0; r < h->ranks; r++) {
        children[r] = fork();
        if (children[r] < 0) {
            perror("node_test: fork");
            exit(1);
        }
        if (children[r] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run(h, r);
            exit(0); /* not _exit: sanitizers report at exit */
        }
    }
    for (int left = h->ranks; left > 0; left--) {
        pid_t child = wait(&status);
        for (int r = 0; r < h->ranks; r++)
            if (children[r] == child)
                children[r] = 0;
        if (failed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            continue;
        failed = 1;
        for (int r = 0; r < h->ranks; r++)
            if (children[r])
                kill(children[r], SIGKILL);
    }
    return failed;
}

int harness_main(int argc, char **argv, void (*run)(harness *, int)) {
    harness *h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (h == MAP_FAILED) {
        perror("node_test: mmap");
        return 1;
    }
    h->ranks = 2;
    h->calls = 300;
    h->seed = 1;
    h->largest = 3u << 20;
    h->direct = "off";
    h->spins = -1;
    const char *domains = NULL;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--threads")) {
            h->threads = true;
            continue;
        }
        if (!strcmp(name, "--commutes")) {
            h->commutes = true;
            continue;
        }
        i++;
        if (value && !strcmp(name, "--ranks"))
            h->ranks = atoi(value);
        else if (value && !strcmp(name, "--calls"))
            h->calls = atol(value);
        else if (value && !strcmp(name, "--small"))
            h->small = atol(value);
        else if (value && !strcmp(name, "--seed"))
            h->seed = strtoull(value, NULL, 10);
        else if (value && !strcmp(name, "--largest"))
            h->largest = strtoull(value, NULL, 10);
        else if (value && !strcmp(name, "--pause"))
            h->pause = atoi(value);
        else if (value && !strcmp(name, "--spins"))
            h->spins = atoi(value);
        else if (value && !strcmp(name, "--direct"))
            h->direct = value;
        else if (value && !strcmp(name, "--domains"))
            domains = value;
        else {
            fprintf(stderr, "node_test: unknown option, or no value: %s\n", name);
            return 2;
        }
    }
    if (h->ranks < 1 || h->ranks > HARNESS_RANKS) {
        fprintf(stderr, "node_test: --ranks 1..%d\n", HARNESS_RANKS);
        return 2;
    }
    if (domains && !parse_domains(h, domains)) {
        fprintf(stderr, "node_test: --domains %s does not place %d ranks\n", domains, h->ranks);
        return 2;
    }
    faults_install(h->direct);
    size_t bytes = stretto_node_bytes(h->ranks, harness_area(h));
    h->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (h->memory == MAP_FAILED) {
        perror("node_test: mmap");
        return 1;
    }
    h->buffer_room =
        ((h->largest + 100000) * 2 + h->largest / 4 * (size_t)h->ranks + 4096) / 64 * 64;
    if (faults_attach())
        share_buffers(h);
    int failed = h->threads ? run_threads(h, run) : run_processes(h, run);
    printf("%s: %d %s, seed %llu\n", failed ? "FAILED" : "ok", h->ranks,
           h->threads ? "threads" : "processes", (unsigned long long)h->seed);
    return failed;
}
