/* Evidence of what this process did with Stretto, for `stretto tune`: a run counts as tuned only if
 * its ranks report it. Each rank writes a small file into $STRETTO_EVIDENCE: at Init that it has
 * Stretto, at Finalize how many calls of each collective Stretto and the MPI executed (counted from
 * the set-up of a communicator on). The files are output only and affect no decision, so each rank
 * may read its local environment. */
#include "files/regular.h"
#include "node/descriptor.h"
#include "engine/engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static stretto_descriptor file = STRETTO_NO_DESCRIPTOR;
static unsigned long long ours[STRETTO_COLLECTIVES], native[STRETTO_COLLECTIVES];
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

/* One write, so that a kill leaves whole lines. A full disk shows as a missing `end`. */
static void put_line(const char *line, int length) {
    if (!stretto_descriptor_is_ours(&file))
        file.fd = -1;
    else if (length > 0 && write(file.fd, line, (size_t)length) != length)
        stretto_descriptor_close(&file);
}

STRETTO_COLD void stretto_evidence_begin(void) {
    const char *directory = getenv("STRETTO_EVIDENCE");
    int rank = 0, nranks = 0;
    if (!directory || !*directory || file.fd >= 0 ||
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        PMPI_Comm_size(MPI_COMM_WORLD, &nranks) != MPI_SUCCESS)
        return;
    char host[65] = "", path[4096], line[128];
    gethostname(host, sizeof host - 1);
    int length =
        snprintf(path, sizeof path, "%s/rank%d.%s.%ld", directory, rank, host, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof path)
        return;
    const char *why;
    file = stretto_descriptor_of(stretto_open_regular(path, O_WRONLY | O_CREAT | O_APPEND, &why));
    if (file.fd < 0)
        return; /* a directory that this node does not see */
    put_line(line, snprintf(line, sizeof line, "stretto-evidence 1 rank %d of %d %s\n", rank,
                            nranks, stretto_the_world.active ? "active" : "inactive"));
}

void stretto_evidence_add(const stretto_comm *c) {
    if (file.fd < 0 || !c->coll)
        return;
    pthread_mutex_lock(&adding);
    for (int i = 0; i < STRETTO_COLLECTIVES; i++) {
        ours[i] += c->coll[i].ours;
        native[i] += c->coll[i].native;
    }
    pthread_mutex_unlock(&adding);
}

STRETTO_COLD void stretto_evidence_end(void) {
    if (file.fd < 0)
        return;
    stretto_comms_each(stretto_evidence_add);
    char text[4096];
    int used = 0;
    for (int i = 0; i < STRETTO_COLLECTIVES; i++)
        if ((ours[i] || native[i]) && used < (int)sizeof text - 128)
            used += snprintf(text + used, 128, "%s %llu %llu\n",
                             stretto_collective_name((stretto_collective)i), ours[i], native[i]);
    used += snprintf(text + used, sizeof text - (size_t)used, "end\n");
    put_line(text, used);
    stretto_descriptor_close(&file);
}
