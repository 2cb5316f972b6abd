/* The beginning and the end of the MPI, and of communicators. */
#include "abi/everywhere.h"
#include "abi/fortran.h"
#include "abi/front.h"
#include "interpose/guard.h"
#include "engine/engine.h"
#include "engine/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void begin(void) {
    const int error = errno; /* the application's */
    stretto_everywhere();
    stretto_engine_init();
    stretto_evidence_begin();
    errno = error;
}

/* With STRETTO_NONBLOCKING the helper thread needs an MPI that several threads may call. */
static int init_with_threads(int *argc, char ***argv, int asked) {
    int provided = MPI_THREAD_SINGLE;
    stretto_threads_asked = asked;
    stretto_threads_raised = true;
    return PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
}

int MPI_Init(int *argc, char ***argv) {
    int rc = stretto_config_wants_threads() ? init_with_threads(argc, argv, MPI_THREAD_SINGLE)
                                            : PMPI_Init(argc, argv);
    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}

int MPI_Query_thread(int *provided);

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int rc;
    stretto_threads_asked = required;
    if (required < MPI_THREAD_MULTIPLE && stretto_config_wants_threads()) {
        rc = init_with_threads(argc, argv, required);
        if (rc == MPI_SUCCESS)
            rc = MPI_Query_thread(provided);
    } else {
        rc = PMPI_Init_thread(argc, argv, required, provided);
    }
    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}

/* A tool in front has taken MPI_Init, and with it the beginning of everything here. Says so, once a
 * job. */
static bool tool_begins(void) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    const char *rank = NULL;
    for (size_t i = 0; !rank && i < sizeof ranks / sizeof *ranks; i++)
        rank = getenv(ranks[i]);
    char tool[256];
    if ((!rank || !strcmp(rank, "0")) && stretto_front(tool, sizeof tool))
        stretto_say("%s intercepts MPI_Init before Stretto: every call goes to the MPI", tool);
    return false;
}
STRETTO_ENTRY_OR(tool_begins(), int, Init, (int *argc, char ***argv), (argc, argv))
STRETTO_ENTRY_OR(tool_begins(), int, Init_thread,
                 (int *argc, char ***argv, int required, int *provided),
                 (argc, argv, required, provided))

/* The application is told no more than it asked for: it must not use what is ours. */
int MPI_Query_thread(int *provided) {
    int rc = PMPI_Query_thread(provided);
    if (rc == MPI_SUCCESS && stretto_threads_raised && *provided > stretto_threads_asked)
        *provided = stretto_threads_asked;
    return rc;
}

int MPI_Finalize(void) {
    stretto_outstanding_drain_all();
    stretto_evidence_end();
    stretto_learned_end();
    stretto_engine_finalize();
    return PMPI_Finalize();
}

static int release(MPI_Comm *comm, int (*close)(MPI_Comm *)) {
    if (!comm || *comm == MPI_COMM_NULL) /* an error, whose handler may never return */
        return close(comm);
    if (stretto_the_world.active)
        stretto_comm_release(*comm);
    const uint64_t before = stretto_comm_closing(*comm);
    int rc = STRETTO_NATIVE(close(comm));
    stretto_comm_closed(before);
    return rc;
}

int MPI_Comm_free(MPI_Comm *comm) {
    return release(comm, PMPI_Comm_free);
}

int MPI_Comm_disconnect(MPI_Comm *comm) {
    return release(comm, PMPI_Comm_disconnect);
}
