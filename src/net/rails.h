/* Bytes that each network interface and each RDMA port of this host has sent and received. */
#ifndef STRETTO_NET_RAILS_H
#define STRETTO_NET_RAILS_H
#include <stdbool.h>
#include <stdio.h>

enum { STRETTO_RAILS_MOST = 64 };

typedef struct {
    char name[64]; /* eth0; mlx5_0:1 */
    bool rdma, up;
    long speed_mbits; /* 0: unknown */
    unsigned long long sent, received;
} stretto_rail;

/* Returns how many there are. Left out: loopback, interfaces made of others (bonds, bridges, VLANs:
 * their bytes are counted below), ports without counters.
 * `root`: "", or the folder of a recorded machine. */
int stretto_rails_read(const char *root, stretto_rail *rails, int most);
void stretto_rails_write(FILE *out, const stretto_rail *rails, int count); /* a list of JSON */

#endif
