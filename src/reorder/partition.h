/* Divides processes among parts of given sizes, so that little is sent between parts. */
#ifndef STRETTO_PARTITION_H
#define STRETTO_PARTITION_H

#include "reorder/reorder.h"

typedef struct stretto_partitioner stretto_partitioner;

/* NULL: no memory. */
stretto_partitioner *stretto_partitioner_make(const stretto_traffic *t);
void stretto_partitioner_free(stretto_partitioner *p);

/* Divides the m processes of `list` (its order changes) among nparts parts: part[v] becomes first
 * to first + nparts - 1, so often as size[] says (m together). */
void stretto_partition(stretto_partitioner *p, int *list, int m, int nparts, const int *size,
                       int first, int *part);
/* Exchanges processes between parts while that reduces what is sent between parts. part[] of all in
 * `list` is given, the sizes stay. */
void stretto_partition_refine(stretto_partitioner *p, const int *list, int m, int nparts, int first,
                              int *part);

#endif
