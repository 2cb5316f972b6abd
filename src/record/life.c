/* MPI_Init, MPI_Init_thread, MPI_Finalize, MPI_Abort and MPI_Pcontrol. */
#include "record/core.h"

#include <stdarg.h>

int MPI_Init(int *argc, char ***argv) {
    int code = PMPI_Init(argc, argv), level = MPI_THREAD_SINGLE;
    if (code == MPI_SUCCESS) {
        PMPI_Query_thread(&level); /* an environment variable may have raised it */
        stretto_record_begin(level);
    }
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        stretto_record_begin(*provided);
    return code;
}

int MPI_Finalize(void) {
    stretto_record_finalize();
    return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm comm, int errorcode) {
    stretto_record_end(STRETTO_RAW_ABORTED, errorcode);
    return PMPI_Abort(comm, errorcode);
}

/* 0: the program does not want what follows to be recorded; 1 and more: it does again. */
int MPI_Pcontrol(const int level, ...) {
    uint64_t start;
    bool entered = stretto_enter(&start);
    stretto_pause(level == 0);
    if (entered)
        stretto_leave(stretto_ticks());
    if (!STRETTO_HOST_HAS(Pcontrol))
        return MPI_SUCCESS;
    return PMPI_Pcontrol(level);
}
