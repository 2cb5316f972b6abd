/* Planned irregular exchanges of the public API. A plan has a decision and an exchange of its own,
 * which take the place of the communicator's while it runs. */
#include "engine/engine.h"
#include "engine/operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stretto.h"

#define API __attribute__((visibility("default")))

typedef struct {
    int *counts, *displs;
    MPI_Datatype type;
    bool own; /* the type is a duplicate of ours */
} side;

struct stretto_alltoallv {
    stretto_comm *c;
    stretto_row row;
    stretto_decision decision;
    stretto_exchanges *exchanges;
    side send, receive;
};

static void drop_side(side *s) {
    free(s->counts);
    if (s->own)
        PMPI_Type_free(&s->type);
}

/* NULL, or what is wrong. A derived type may be freed by the application: one of its own, made
 * without calling the application's attribute callbacks. */
static const char *take_side(side *s, int n, const int counts[], const int displs[],
                             MPI_Datatype type) {
    s->type = type;
    if (!counts || !displs || type == MPI_DATATYPE_NULL)
        return "counts, displacements and datatypes must be given";
    for (int r = 0; r < n; r++)
        if (counts[r] < 0)
            return "a count is negative";
    s->counts = malloc(2 * (size_t)n * sizeof *counts);
    if (!s->counts)
        stretto_no_memory();
    s->displs = s->counts + n;
    memcpy(s->counts, counts, (size_t)n * sizeof *counts);
    memcpy(s->displs, displs, (size_t)n * sizeof *displs);
    if (stretto_is_predefined_type(type))
        return NULL;
    if (PMPI_Type_contiguous(1, type, &s->type) != MPI_SUCCESS)
        return "the MPI does not take a datatype";
    s->own = true;
    return PMPI_Type_commit(&s->type) == MPI_SUCCESS ? NULL : "the MPI does not take a datatype";
}

/* The choice given, or what stands for the collective now. */
static void decide(stretto_alltoallv *p) {
    stretto_comm *c = p->c;
    if (p->row.line < 0) {
        const stretto_decision *d =
            stretto_decide(c, STRETTO_ALLTOALLV, 0, MPI_DATATYPE_NULL, MPI_OP_NULL);
        p->decision = *d;
        if (d->run != STRETTO_RUN_NATIVE && d->row)
            p->row = *d->row;
    } else {
        const stretto_choice_kind kind = p->row.choice.kind;
        p->decision.run = kind == STRETTO_CHOICE_NATIVE               ? STRETTO_RUN_NATIVE
                          : kind == STRETTO_CHOICE_SHM && c->one_node ? STRETTO_RUN_NODE
                                                                      : STRETTO_RUN_PLAN;
    }
    p->decision.collective = STRETTO_ALLTOALLV;
    p->decision.row = &p->row;
}

API int stretto_alltoallv_plan(MPI_Comm comm, const int sendcounts[], const int sdispls[],
                               MPI_Datatype sendtype, const int recvcounts[], const int rdispls[],
                               MPI_Datatype recvtype, const char *choice, stretto_alltoallv **plan,
                               char *error, size_t error_size) {
    char reason[400] = "";
    stretto_row row;
    stretto_alltoallv *p = NULL;
    stretto_comm *c = stretto_comm_for_api(comm, reason, sizeof reason);
    if (c && stretto_choice_agreed(c, "alltoallv", choice, &row, reason, sizeof reason) == 0) {
        p = calloc(1, sizeof *p);
        if (!p)
            stretto_no_memory();
        p->c = c;
        p->row = row;
        decide(p);
        const char *wrong = take_side(&p->send, c->nranks, sendcounts, sdispls, sendtype);
        if (!wrong)
            wrong = take_side(&p->receive, c->nranks, recvcounts, rdispls, recvtype);
        if (wrong) {
            snprintf(reason, sizeof reason, "%s", wrong);
            stretto_alltoallv_free(&p);
        }
    }
    *plan = p;
    if (error && error_size)
        snprintf(error, error_size, "%s", reason);
    return *reason ? -1 : 0;
}

API int stretto_alltoallv_run(stretto_alltoallv *p, const void *sendbuf, void *recvbuf) {
    stretto_comm *c = p->c;
    const side *s = &p->send, *r = &p->receive;
    if (stretto_outstanding_now())
        stretto_outstanding_drain(c); /* they came first, on all ranks */
    if (p->decision.run != STRETTO_RUN_NATIVE && sendbuf != MPI_IN_PLACE) {
        const stretto_ragged send = {s->counts, s->displs, false, s->type, NULL};
        const stretto_ragged receive = {r->counts, r->displs, false, r->type, NULL};
        stretto_exchanges *others = c->exchanges;
        c->exchanges = p->exchanges;
        c->planned = true;
        int rc = stretto_call_alltoallv(c, &p->decision, sendbuf, &send, recvbuf, &receive);
        c->planned = false;
        p->exchanges = c->exchanges;
        c->exchanges = others;
        if (rc != STRETTO_PASS) {
            c->coll[STRETTO_ALLTOALLV].ours++;
            return rc;
        }
    }
    c->coll[STRETTO_ALLTOALLV].native++;
    stretto_outstanding_lend();
    int rc = PMPI_Alltoallv(sendbuf, s->counts, s->displs, s->type, recvbuf, r->counts, r->displs,
                            r->type, c->comm);
    stretto_outstanding_return();
    return rc;
}

API int stretto_alltoallv_choice(const stretto_alltoallv *p, char *text, size_t size) {
    char choice[256] = "native";
    if (p->decision.run != STRETTO_RUN_NATIVE)
        stretto_choice_format(&p->row.choice, choice, sizeof choice);
    snprintf(text, size, "%s", choice);
    return 0;
}

API int stretto_alltoallv_free(stretto_alltoallv **plan) {
    if (!plan || !*plan)
        return 0;
    stretto_alltoallv *p = *plan;
    stretto_exchanges *others = p->c->exchanges;
    p->c->exchanges = p->exchanges;
    stretto_exchanges_forget(p->c);
    p->c->exchanges = others;
    drop_side(&p->send);
    drop_side(&p->receive);
    free(p);
    *plan = NULL;
    return 0;
}
