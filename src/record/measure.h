/* What a call is about: its size as `stretto bench` counts it, its datatype, its operation. The OF_
 * macros are the last word of a row of calls.h; they run after the call, when its arguments have
 * been found good, and touch only arguments that are significant on this rank.
 *
 * Bytes: the vector for bcast, reduce, allreduce and scan; the block for one pair of ranks for
 * gather, scatter, allgather, alltoall, reduce_scatter and neighbourhoods: this rank's where blocks
 * differ by rank, the mean of this rank's where they differ by pair (alltoallv, alltoallw); the
 * buffer for messages, RMA and files.
 * The size class is that of the bytes; but where every rank knows all blocks (allgatherv,
 * reduce_scatter) that of the mean block, which tables are keyed by.
 */
#ifndef STRETTO_RECORD_MEASURE_H
#define STRETTO_RECORD_MEASURE_H

#include "record/core.h"

typedef struct {
    uint64_t bytes, size; /* size: for the class */
    int type, op;
    unsigned detail;
    bool root;
    /* blocks of this rank, where they differ by pair: int or MPI_Count; width: bytes an element */
    const void *blocks;
    int nblocks;
    bool wide;
    int64_t width;
    /* what this rank contributes to MPI_Reduce of a predefined datatype, if it is not the root */
    const void *sent;
    int64_t count;
    MPI_Datatype datatype;
} stretto_measure;

/* Which calls of a key are looked at closely: the first 16, and call n with probability 16 / n. In
 * no regular order, since a program may repeat every few calls. */
static inline bool stretto_sampled(uint64_t call) {
    const uint64_t any = (uint32_t)call * 2654435769u; /* 2^32 / golden ratio */
    return __builtin_expect(any * call < 16ULL << 32, 0);
}

static inline void stretto_sized(stretto_measure *m, int64_t count, MPI_Datatype datatype) {
    stretto_type_info type = stretto_type_of(datatype);
    m->type = type.name;
    m->bytes = m->size = count > 0 ? (uint64_t)(count * type.bytes) : 0;
}

/* In these, `in` is the communicator (NULL when unknown), `m` the measure. */
#define IS_ROOT (m.root = root == MPI_ROOT || (in && !in->inter && in->rank == root))
/* Of an intercommunicator's idle ranks nothing is known. */
#define ATTENDS (root != MPI_PROC_NULL)
#define OF_NOTHING
#define OF_COUNT stretto_sized(&m, count, datatype);
#define OF_PARTITIONS stretto_sized(&m, count *partitions, datatype);
#define OF_SENDTYPE stretto_sized(&m, sendcount, sendtype);
#define OF_SENT OF_SENDTYPE
#define OF_BARRIER                                                                                 \
    m.detail = stretto_since_barrier;                                                              \
    stretto_since_barrier &= STRETTO_DETAIL_SHARED_MEMORY;
#define OF_ROOTED                                                                                  \
    if (ATTENDS)                                                                                   \
        stretto_sized(&m, count, datatype);                                                        \
    IS_ROOT;
#define OF_ROOTED_REDUCTION                                                                        \
    if (ATTENDS) {                                                                                 \
        stretto_sized(&m, count, datatype);                                                        \
        m.op = stretto_op_name(op);                                                                \
    }                                                                                              \
    IS_ROOT;                                                                                       \
    if (in && !m.root && m.bytes && m.type != STRETTO_TYPE_DERIVED) {                              \
        m.sent = sendbuf;                                                                          \
        m.count = count;                                                                           \
        m.datatype = datatype;                                                                     \
    }
#define OF_REDUCTION                                                                               \
    stretto_sized(&m, count, datatype);                                                            \
    m.op = stretto_op_name(op);
#define OF_GATHER                                                                                  \
    IS_ROOT;                                                                                       \
    if (root == MPI_ROOT || (m.root && sendbuf == MPI_IN_PLACE))                                   \
        stretto_sized(&m, recvcount, recvtype);                                                    \
    else if (ATTENDS)                                                                              \
        stretto_sized(&m, sendcount, sendtype);
#define OF_GATHERV                                                                                 \
    IS_ROOT;                                                                                       \
    if (m.root && in && !in->inter && sendbuf == MPI_IN_PLACE)                                     \
        stretto_sized(&m, recvcounts[in->rank], recvtype);                                         \
    else if (ATTENDS && root != MPI_ROOT)                                                          \
        stretto_sized(&m, sendcount, sendtype);
#define OF_SCATTER                                                                                 \
    IS_ROOT;                                                                                       \
    if (root == MPI_ROOT || (m.root && recvbuf == MPI_IN_PLACE))                                   \
        stretto_sized(&m, sendcount, sendtype);                                                    \
    else if (ATTENDS)                                                                              \
        stretto_sized(&m, recvcount, recvtype);
#define OF_SCATTERV                                                                                \
    IS_ROOT;                                                                                       \
    if (m.root && in && !in->inter && recvbuf == MPI_IN_PLACE)                                     \
        stretto_sized(&m, sendcounts[in->rank], sendtype);                                         \
    else if (ATTENDS && root != MPI_ROOT)                                                          \
        stretto_sized(&m, recvcount, recvtype);
#define OF_BLOCK                                                                                   \
    if (sendbuf == MPI_IN_PLACE)                                                                   \
        stretto_sized(&m, recvcount, recvtype);                                                    \
    else                                                                                           \
        stretto_sized(&m, sendcount, sendtype);
/* Every rank knows all n blocks: this rank's is counted, in the class of their mean. */
#define MEAN_CLASS(n, counts, datatype)                                                            \
    int64_t all = 0;                                                                               \
    for (int i = 0; in && i < (n); i++)                                                            \
        all += (counts)[i];                                                                        \
    const uint64_t mean = in && (n) ? (uint64_t)(all * stretto_type_of(datatype).bytes / (n)) : 0;
#define OF_BLOCKV                                                                                  \
    MEAN_CLASS(in->targets, recvcounts, recvtype)                                                  \
    if (sendbuf != MPI_IN_PLACE)                                                                   \
        stretto_sized(&m, sendcount, sendtype);                                                    \
    else if (in)                                                                                   \
        stretto_sized(&m, recvcounts[in->rank], recvtype);                                         \
    if (in)                                                                                        \
        m.size = mean;
#define MEAN(n, counts, datatype)                                                                  \
    {                                                                                              \
        int64_t sum = 0;                                                                           \
        int blocks = (n);                                                                          \
        for (int i = 0; i < blocks; i++)                                                           \
            sum += (counts)[i];                                                                    \
        stretto_sized(&m, sum, datatype);                                                          \
        m.bytes = m.size = blocks ? m.bytes / (uint64_t)blocks : 0;                                \
        m.blocks = (counts);                                                                       \
        m.nblocks = blocks;                                                                        \
        m.wide = sizeof *(counts) == 8;                                                            \
        m.width = stretto_type_of(datatype).bytes;                                                 \
    }
#define MEAN_TYPED(n, counts, types)                                                               \
    {                                                                                              \
        uint64_t sum = 0;                                                                          \
        int blocks = (n);                                                                          \
        for (int i = 0; i < blocks; i++)                                                           \
            if ((counts)[i] > 0) /* the type of an empty block may be anything */                  \
                sum += (uint64_t)((counts)[i] * stretto_type_of((types)[i]).bytes);                \
        m.bytes = m.size = blocks ? sum / (uint64_t)blocks : 0;                                    \
    }
/* Whether a rank that sends nothing receives something. */
#define RECEIVES(n, counts)                                                                        \
    for (int i = 0; i < (n) && !m.bytes && !m.detail; i++)                                         \
        m.detail = (counts)[i] > 0 ? STRETTO_DETAIL_RECEIVES : 0;
#define OF_BLOCKS                                                                                  \
    if (in && sendbuf == MPI_IN_PLACE)                                                             \
        MEAN(in->targets, recvcounts, recvtype)                                                    \
    else if (in) {                                                                                 \
        MEAN(in->targets, sendcounts, sendtype)                                                    \
        RECEIVES(in->targets, recvcounts)                                                          \
    }
#define OF_BLOCKS_TYPED                                                                            \
    if (in && sendbuf == MPI_IN_PLACE)                                                             \
        MEAN_TYPED(in->targets, recvcounts, recvtypes)                                             \
    else if (in) {                                                                                 \
        MEAN_TYPED(in->targets, sendcounts, sendtypes)                                             \
        RECEIVES(in->targets, recvcounts)                                                          \
    }
#define OF_NEIGHBORS                                                                               \
    if (in)                                                                                        \
    MEAN(stretto_comm_out_degree(in, comm), sendcounts, sendtype)
#define OF_NEIGHBORS_TYPED                                                                         \
    if (in)                                                                                        \
    MEAN_TYPED(stretto_comm_out_degree(in, comm), sendcounts, sendtypes)
#define OF_SCATTERED                                                                               \
    MEAN_CLASS(in->size, recvcounts, datatype)                                                     \
    if (in) {                                                                                      \
        stretto_sized(&m, recvcounts[in->rank], datatype);                                         \
        m.size = mean;                                                                             \
    }                                                                                              \
    m.op = stretto_op_name(op);
#define OF_SCATTERED_BLOCK                                                                         \
    stretto_sized(&m, recvcount, datatype);                                                        \
    m.op = stretto_op_name(op);
#define OF_ORIGIN stretto_sized(&m, origin_count, origin_datatype);
/* MPI_NO_OP reads only: the origin is then not significant */
#define OF_ORIGIN_REDUCTION                                                                        \
    m.op = stretto_op_name(op);                                                                    \
    stretto_sized(&m, target_count, target_datatype);
#define OF_ONE_REDUCED                                                                             \
    m.op = stretto_op_name(op);                                                                    \
    stretto_sized(&m, 1, datatype);
#define OF_ONE_ELEMENT stretto_sized(&m, 1, datatype);

#endif
