/* node_model: the sources of src/node under the model checker.
 *
 *   random --executions N [--seed S]     programs and schedules at random
 *   one --seed S                         one of them, every access printed
 *   exhaustive [--calls N] [--words W] [--kinds K] [--short]
 *                                        all executions of all programs of N calls of W words, 2
 *                                        ranks, made of the first K kinds in a list; in a short
 *                                        piece
 *   litmus                               the checker itself
 *   mutants --executions N [--seed S]    spoils every site in turn (a program made by mutate.py)
 */
#include "tests/c/node_model/litmus.h"
#include "tests/c/node_model/program.h"
#include "node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NODE_MODEL_MUTANTS
static const struct {
    const char *name;
    bool waits, early, pretends;
} sites[] = {
#include "sites.h"
};
/* Mutants that nothing shows, each with the reason: they are equivalent to the sources. */
static const struct {
    const char *name, *reason;
} equivalent[] = {
#include "tests/c/node_model/equivalent.def"
    {NULL, NULL},
};
#endif

static void print_failure(const program *p, const char *how) {
    printf("WRONG: %s\n", model_what());
    program_print(p);
    printf("seen by: node_model %s\n", how);
}

static int random_executions(uint64_t seed, uint64_t executions) {
    program p;
    char how[80];
    for (uint64_t i = 0; i < executions; i++) {
        model_execution e = {.seed = seed + i, .mutant = {MODEL_SOUND, 0}};
        program_random(&p, e.seed, -1);
        if (!program_run(&p, &e)) {
            snprintf(how, sizeof how, "one --seed %llu", (unsigned long long)e.seed);
            print_failure(&p, how);
            return 1;
        }
    }
    printf("%llu executions, %llu loads: nothing wrong\n", (unsigned long long)executions,
           (unsigned long long)model_steps());
    return 0;
}

static int one_execution(uint64_t seed) {
    program p;
    model_execution e = {.seed = seed, .trace = true, .mutant = {MODEL_SOUND, 0}};
    program_random(&p, seed, -1);
    program_print(&p);
    const bool right = program_run(&p, &e);
    printf("%s\n", right ? "nothing wrong" : model_what());
    return !right;
}

static int exhaustive_executions(int calls, unsigned words, unsigned kinds, bool in_short) {
    static const call variants[] = {
        {.kind = BCAST},
        {.kind = BCAST, .root = 1},
        {.kind = SCATTER},
        {.kind = REDUCE, .root = 1},
        {.kind = ALLREDUCE},
        {.kind = SCAN},
        {.kind = GATHER},
        {.kind = REDUCE},
        {.kind = EXSCAN},
        {.kind = GATHER, .root = 1},
        {.kind = SCATTER, .root = 1},
        {.kind = ALLGATHER},
        {.kind = ALLTOALL},
        {.kind = REDUCE_SCATTER, .seed = 3},
        {.kind = ALLTOALLV, .seed = 1},
        {.kind = BARRIER},
    };
    const unsigned all = sizeof variants / sizeof *variants, n = kinds && kinds < all ? kinds : all;
    uint64_t executions = 0, programs = 1;
    for (int i = 0; i < calls; i++)
        programs *= n;
    program p = {.ranks = 2,
                 .area = in_short ? STRETTO_NODE_SHORT : 512,
                 .past = 7,
                 .ncalls = calls,
                 .tuning = {8, 3, 1024, 0}};
    for (uint64_t which = 0; which < programs; which++) {
        uint64_t rest = which;
        for (int i = 0; i < calls; i++, rest /= n) {
            p.calls[i] = variants[rest % n];
            p.calls[i].element = 1;
            p.calls[i].words = words;
        }
        model_first();
        do {
            model_execution e = {.exhaustive = true, .mutant = {MODEL_SOUND, 0}};
            executions++;
            if (!program_run(&p, &e)) {
                print_failure(&p, "exhaustive");
                return 1;
            }
        } while (model_next());
    }
    printf("%llu programs, %llu executions, %llu loads: nothing wrong\n",
           (unsigned long long)programs, (unsigned long long)executions,
           (unsigned long long)model_steps());
    return 0;
}

#ifdef NODE_MODEL_MUTANTS
static const char *reason_of(const char *name) {
    for (size_t i = 0; equivalent[i].name; i++)
        if (strcmp(equivalent[i].name, name) == 0)
            return equivalent[i].reason;
    return NULL;
}

/* The kinds that take a site of this file, by turns every other execution. */
static int focus_on(const char *name, uint64_t i) {
    static const struct {
        const char *file;
        int n, kinds[4];
    } users[] = {
        {"domain_", 3, {BCAST, REDUCE, ALLREDUCE}},
        {"chunk.c", 3, {BCAST, REDUCE, ALLREDUCE}},
        {"small.c", 3, {BCAST, REDUCE, ALLREDUCE}},
        {"pair.c", 4, {ALLGATHER, ALLTOALL, ALLREDUCE, ALLGATHERV}},
        {"allgather.c", 2, {ALLGATHER, ALLGATHERV}},
        {"alltoall.c", 1, {ALLTOALL}},
        {"alltoallv.c", 1, {ALLTOALLV}},
        {"exchange.c", 3, {ALLTOALL, ALLTOALLV, SCATTER}},
        {"gather.c", 2, {GATHER, SCATTER}},
        {"scan.c", 2, {SCAN, EXSCAN}},
        {"reduce_scatter.c", 1, {REDUCE_SCATTER}},
    };
    for (size_t u = 0; u < sizeof users / sizeof *users && i % 2; u++)
        if (strncmp(name, users[u].file, strlen(users[u].file)) == 0)
            return users[u].kinds[i / 2 % (uint64_t)users[u].n];
    return -1;
}

/* Executions until the mutant is found; 0: it is not. */
static uint64_t hunt(model_mutant mutant, uint64_t seed, uint64_t executions) {
    const char *name = sites[mutant.site].name;
    const bool by_domain = strncmp(name, "domain_", 7) == 0, pairs = strncmp(name, "pair.", 5) == 0;
    program p;
    for (uint64_t i = 0; i < executions; i++) {
        model_execution e = {.seed = seed + i, .mutant = mutant};
        program_random(&p, e.seed, focus_on(name, i));
        if ((by_domain && !p.domains) || (pairs && p.ranks != 2))
            continue; /* would not come there */
        if (!program_run(&p, &e))
            return i + 1;
    }
    return 0;
}

static int all_mutants(uint64_t seed, uint64_t executions, bool verbose) {
    static const char *const kinds[] = {"relaxed", "left out", "missing one", "early", "pretends"};
    int tried = 0, found = 0, wrong = 0;
    for (int site = 0; site < (int)(sizeof sites / sizeof *sites); site++) {
        const bool applies[] = {true, sites[site].waits, sites[site].waits, sites[site].early,
                                sites[site].pretends};
        for (int kind = 0; kind < MODEL_KINDS; kind++) {
            if (!applies[kind])
                continue;
            char name[160];
            snprintf(name, sizeof name, "%s %s", sites[site].name, kinds[kind]);
            const uint64_t after = hunt((model_mutant){(model_kind)kind, site}, seed, executions);
            const char *reason = reason_of(name);
            tried++;
            found += after > 0;
            if (verbose && after)
                printf("%6llu  %s: %s\n", (unsigned long long)after, name, model_what());
            if (!after && !reason)
                printf("NOT FOUND: %s\n", name);
            if (after && reason)
                printf("FOUND, though listed as equivalent: %s (%s)\n", name, model_what());
            wrong += !after == !reason;
        }
    }
    printf("%d mutants, %d found, %d equivalent\n", tried, found, tried - found);
    return wrong > 0;
}
#endif

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    uint64_t seed = 1, executions = 1000;
    int calls = 2;
    unsigned words = 1, kinds = 0;
    bool verbose = false, in_short = false;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else if (strcmp(argv[i], "--short") == 0)
            in_short = true;
        else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--executions") == 0)
            executions = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--calls") == 0)
            calls = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--words") == 0)
            words = (unsigned)atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--kinds") == 0)
            kinds = (unsigned)atoi(argv[++i]);
        else
            mode = "";
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "random") == 0)
        return random_executions(seed, executions);
    if (strcmp(mode, "one") == 0)
        return one_execution(seed);
    if (strcmp(mode, "exhaustive") == 0 && calls >= 1 && calls <= PROGRAM_CALLS)
        return exhaustive_executions(calls, words, kinds, in_short);
    if (strcmp(mode, "litmus") == 0)
        return !litmus();
#ifdef NODE_MODEL_MUTANTS
    if (strcmp(mode, "mutants") == 0)
        return all_mutants(seed, executions, verbose);
#endif
    (void)verbose;
    fprintf(stderr,
            "usage: node_model random|one|exhaustive|litmus|mutants [--seed S] [--executions N]"
            " [--calls N] [--words W] [--kinds K] [--short] [--verbose]\n");
    return 2;
}
