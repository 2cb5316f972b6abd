/* Finding other processes: ports and names. There are none, which is said in words. */
#include "internal.h"

static int nobody(const char *function) {
    return serial_alone(MPI_COMM_SELF, function, "finding other processes");
}

int MPI_Comm_join(int fd, MPI_Comm *made) {
    (void)fd;
    *made = MPI_COMM_NULL;
    return nobody("MPI_Comm_join");
}

int MPI_Comm_accept(const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made) {
    (void)port, (void)info, (void)root;
    *made = MPI_COMM_NULL;
    return serial_alone(comm, "MPI_Comm_accept", "finding other processes");
}

int MPI_Comm_connect(const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made) {
    (void)port, (void)info, (void)root;
    *made = MPI_COMM_NULL;
    return serial_alone(comm, "MPI_Comm_connect", "finding other processes");
}

int MPI_Open_port(MPI_Info info, char *port) {
    (void)info;
    *port = '\0';
    return nobody("MPI_Open_port");
}

int MPI_Close_port(const char *port) {
    (void)port;
    return nobody("MPI_Close_port");
}

int MPI_Publish_name(const char *service, MPI_Info info, const char *port) {
    (void)service, (void)info, (void)port;
    return nobody("MPI_Publish_name");
}

int MPI_Unpublish_name(const char *service, MPI_Info info, const char *port) {
    (void)service, (void)info, (void)port;
    return nobody("MPI_Unpublish_name");
}

int MPI_Lookup_name(const char *service, MPI_Info info, char *port) {
    (void)service, (void)info;
    *port = '\0';
    return nobody("MPI_Lookup_name");
}
