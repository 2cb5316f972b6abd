/* What the cases of progress_cases.c and its sisters share: collectives that are under way while
 * one rank, the victim, blocks in some other MPI call until its partner answers, which first waits
 * for those collectives. Under the standard's progress rule (MPI-4.1, 2.9 and 3.7.4: a blocking MPI
 * call goes on with everything that is pending) such a program ends; a library whose collectives
 * rest while the application is in another call of the MPI hangs it. */
#ifndef PROGRESS_CASES_H
#define PROGRESS_CASES_H

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    VECTOR = 1 << 17, /* doubles of an allreduce: many steps, so that no rank is done early */
    LARGE = 4 << 20,  /* bytes of a message that needs both sides */
    LATE = 3000,      /* microseconds by which the others come later than the victim */
    TAG = 7
};

typedef struct {
    double in[VECTOR], out[VECTOR];
    int told, token, blocks[64], got[64];
    MPI_Request requests[4];
    int made; /* persistent ones: to be started again */
} pending;

extern int rank, size, victim, partner;
extern char *data;

/* Starts an allreduce, a barrier, a broadcast from the last rank and an alltoall on comm. */
void begin(pending *p, MPI_Comm comm);
/* Waits for them and looks at the results. */
void end(pending *p, MPI_Comm comm);
void check(int good, const char *what);

typedef struct {
    const char *name;
    void (*run)(void);
    int ranks; /* that it needs at least */
} progress_case;

extern const progress_case message_cases[], collective_cases[], window_cases[], file_cases[],
    last_cases[];

/* The usual case: the victim goes straight into `mine`, the partner into `its` after the
 * collectives have ended there; the others only take part in the collectives. Each of the first
 * ranks is the victim in turn. */
void one_blocks(void (*mine)(void), void (*its)(void));
/* The victim goes straight into `all`, everybody else after the collectives. */
void one_is_early(void (*all)(void));

#endif
