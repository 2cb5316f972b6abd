/* The beginning and the end of the MPI, and of communicators. */
#include "abi/everywhere.h"
#include "interpose/guard.h"
#include "engine/engine.h"
#include "engine/operation.h"

static void begin(void) {
    stretto_everywhere();
    stretto_engine_init();
    stretto_evidence_begin();
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
    stretto_engine_finalize();
    return PMPI_Finalize();
}

int MPI_Comm_free(MPI_Comm *comm) {
    if (stretto_the_world.active && comm)
        stretto_comm_release(*comm);
    stretto_comms_closing(true);
    int rc = STRETTO_NATIVE(PMPI_Comm_free(comm));
    stretto_comms_closing(false);
    return rc;
}

int MPI_Comm_disconnect(MPI_Comm *comm) {
    if (stretto_the_world.active && comm)
        stretto_comm_release(*comm);
    stretto_comms_closing(true);
    int rc = STRETTO_NATIVE(PMPI_Comm_disconnect(comm));
    stretto_comms_closing(false);
    return rc;
}
