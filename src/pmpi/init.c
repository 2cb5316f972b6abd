/* The beginning and the end of the MPI, and of communicators. */
#include "run/engine.h"

static void begin(void) {
    stretto_engine_init();
    stretto_evidence_begin();
}

int MPI_Init(int *argc, char ***argv) {
    int rc = PMPI_Init(argc, argv);
    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int rc = PMPI_Init_thread(argc, argv, required, provided);
    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}

int MPI_Finalize(void) {
    stretto_evidence_end();
    stretto_engine_finalize();
    return PMPI_Finalize();
}

int MPI_Comm_free(MPI_Comm *comm) {
    if (stretto_the_world.active && comm)
        stretto_comm_release(*comm);
    stretto_comms_closing(true);
    int rc = PMPI_Comm_free(comm);
    stretto_comms_closing(false);
    return rc;
}

int MPI_Comm_disconnect(MPI_Comm *comm) {
    if (stretto_the_world.active && comm)
        stretto_comm_release(*comm);
    stretto_comms_closing(true);
    int rc = PMPI_Comm_disconnect(comm);
    stretto_comms_closing(false);
    return rc;
}
