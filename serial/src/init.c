/* Beginning, end, time, and what else concerns the process. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool initialized, finalized;
static int thread_level = MPI_THREAD_SINGLE;

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    (void)argc, (void)argv;
    if (initialized)
        return serial_error(0, MPI_ERR_OTHER, "MPI_Init", "called twice");
    initialized = true;
    thread_level = required < MPI_THREAD_SERIALIZED ? required : MPI_THREAD_SERIALIZED;
    *provided = thread_level;
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv) {
    int provided;
    return MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int MPI_Initialized(int *flag) {
    *flag = initialized;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag) {
    *flag = finalized;
    return MPI_SUCCESS;
}

int MPI_Finalize(void) {
    if (!initialized || finalized)
        return serial_error(0, MPI_ERR_OTHER, "MPI_Finalize",
                            initialized ? "called twice" : "called before MPI_Init");
    /* what hangs on MPI_COMM_SELF goes first (MPI-3.1 section 8.7.1) */
    int rc = serial_attributes_delete(MPI_COMM_SELF, &serial_comm_at(MPI_COMM_SELF)->attributes);
    if (rc == MPI_SUCCESS)
        rc = serial_attributes_delete(MPI_COMM_WORLD, &serial_comm_at(MPI_COMM_WORLD)->attributes);
    finalized = true;
    return rc;
}

int MPI_Abort(MPI_Comm comm, int code) {
    (void)comm;
    fflush(stdout);
    fprintf(stderr, "stretto-serial: MPI_Abort with code %d\n", code);
    exit(code & 0xff ? code & 0xff : code ? 1 : 0);
}

int MPI_Query_thread(int *provided) {
    *provided = thread_level;
    return MPI_SUCCESS;
}

int MPI_Is_thread_main(int *flag) {
    *flag = syscall(SYS_gettid) == getpid();
    return MPI_SUCCESS;
}

int MPI_Get_version(int *version, int *subversion) {
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *text, int *length) {
    *length =
        snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "Stretto serial: MPI-3.1 for one process");
    return MPI_SUCCESS;
}

int MPI_Get_processor_name(char *name, int *length) {
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0)
        snprintf(name, MPI_MAX_PROCESSOR_NAME, "localhost");
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}

double MPI_Wtime(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double MPI_Wtick(void) {
    struct timespec resolution;
    clock_getres(CLOCK_MONOTONIC, &resolution);
    return (double)resolution.tv_sec + 1e-9 * (double)resolution.tv_nsec;
}

int MPI_Pcontrol(const int level, ...) {
    (void)level;
    return MPI_SUCCESS;
}

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *memory) {
    (void)info;
    *(void **)memory = serial_memory((size_t)size);
    return MPI_SUCCESS;
}

int MPI_Free_mem(void *memory) {
    free(memory);
    return MPI_SUCCESS;
}

int MPI_Get_address(const void *location, MPI_Aint *address) {
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

int MPI_Address(void *location, MPI_Aint *address) {
    return MPI_Get_address(location, address);
}

MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displacement) {
    return base + displacement;
}

MPI_Aint MPI_Aint_diff(MPI_Aint a, MPI_Aint b) {
    return a - b;
}
