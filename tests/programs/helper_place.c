/* Prints on which hardware threads each thread of the process may run: `rank R may run on: 0 /
 * 0-1`, after a nonblocking allreduce that must be right. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, nranks, sum = 0, one = 1;
    char text[1024] = "";
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char name[512], line[256];
        snprintf(name, sizeof name, "/proc/self/task/%s/status", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(name, "r");
        while (file && fgets(line, sizeof line, file))
            if (strncmp(line, "Cpus_allowed_list:\t", 19) == 0) {
                line[strcspn(line, "\n")] = '\0';
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                         *text ? " / " : "", line + 19);
            }
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    printf("rank %d may run on: %s\n", rank, text);
    MPI_Finalize();
    return sum == nranks ? 0 : 1;
}
