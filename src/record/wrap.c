/* The MPI_* symbols that the recorder exports: one for each row of calls.h that the MPI family has.
 * All are made from functions.def (prototypes) and calls.h (meaning) by the macros below. */
#include "record/blocks.h"
#include "record/calls.h"
#include "record/measure.h"
#include "record/packs.h"
#include "record/request.h"
#include "record/zeros.h"

/* ---- a row's words; of a function without a row NONE ---------------------------------------- */
#define SECOND_(a, b, ...) b
#define SECOND(...) SECOND_(__VA_ARGS__)
#define THIRD_(a, b, c, ...) c
#define THIRD(...) THIRD_(__VA_ARGS__)
#define FOURTH_(a, b, c, d, ...) d
#define FOURTH(...) FOURTH_(__VA_ARGS__)
#define ACTION(name) SECOND(REC_##name, NONE, NONE, NONE, ~)
#define MEASURE(name) THIRD(REC_##name, NONE, NONE, NONE, ~)
#define BASE(name) FOURTH(REC_##name, NONE, NONE, NONE, ~)

/* What came, not what there was room for. */
static void received(stretto_measure *m, const MPI_Status *status) {
    int bytes = -1;
    MPI_Count more = -1;
    if (PMPI_Get_count(status, MPI_BYTE, &bytes) != MPI_SUCCESS)
        return;
    if (bytes >= 0)
        m->bytes = (uint64_t)bytes;
    else if (STRETTO_HOST_HAS(Get_elements_x) && /* MPI_UNDEFINED: more than an int holds */
             PMPI_Get_elements_x(status, MPI_BYTE, &more) == MPI_SUCCESS && more >= 0)
        m->bytes = (uint64_t)more;
}

/* ---- what is done for an action: before the call (PRE_) and after it (DO_) ------------------ */
/* In scope: start, end, FN, the function's parameters. `of` is the row's last word. */
#define MEASURED(communicator, of)                                                                 \
    stretto_comm *in = (communicator);                                                             \
    stretto_measure m = {0};                                                                       \
    OF_##of
#define KEY(extra) stretto_key(FN, in, m.op, m.type, m.size, extra)
#define BOOK(detail) stretto_count(KEY(detail), 1, m.bytes, end - start);

#define PRE_COLLECTIVE
#define DO_COLLECTIVE(of)                                                                          \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    stretto_collective(in, KEY(m.detail), m.bytes, start, end, m.root);                            \
    if (m.blocks)                                                                                  \
        stretto_blocks(KEY(m.detail), &m);                                                         \
    if (m.sent)                                                                                    \
        stretto_zeros(KEY(m.detail), &m);
#define PRE_NEIGHBORHOOD
#define DO_NEIGHBORHOOD(of)                                                                        \
    DO_COLLECTIVE(of)                                                                              \
    stretto_graph_seen(KEY(m.detail), in, comm);

#define PRE_NONBLOCKING
#define DO_NONBLOCKING(of)                                                                         \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(m.detail)                                                                                 \
    stretto_track_collective(*request, FN, in, KEY(0), m.root, start);
#define PRE_INEIGHBORHOOD
#define DO_INEIGHBORHOOD(of) DO_NONBLOCKING(of)
#define TRACK_PERSISTENT(to, ...)                                                                  \
    stretto_track(*request, &(stretto_tracked){.function = FN,                                     \
                                               .key = KEY(0),                                      \
                                               .bytes = m.bytes,                                   \
                                               .peer1 = (to),                                      \
                                               .persistent = true,                                 \
                                               __VA_ARGS__});
#define PRE_PERSISTENT
#define DO_PERSISTENT(of)                                                                          \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    m.detail = 0;                                                                                  \
    BOOK(STRETTO_DETAIL_SETUP)                                                                     \
    uint64_t sequence = in ? ++in->sequence | (m.root ? STRETTO_EVENT_ROOT : 0) : 0;               \
    TRACK_PERSISTENT(0, .comm = in && in->size > 1 ? in->id : 0, .sequence = sequence)

/* A message sent whose type the MPI may have to pack. Buffers of receives are not read: some are
 * not complete. */
#define DATA_OF_COUNT buf, count, datatype
#define DATA_OF_SENDTYPE sendbuf, sendcount, sendtype
#define PACKED(of)                                                                                 \
    if (__builtin_expect(m.type == STRETTO_TYPE_DERIVED, 0))                                       \
        stretto_packs(KEY(0), DATA_OF_##of, m.size);

#define PRE_SEND
#define DO_SEND(of)                                                                                \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(0)                                                                                        \
    stretto_message(stretto_peer1(in, dest), m.bytes);                                             \
    if (dest >= 0) {                                                                               \
        PACKED(of)                                                                                 \
    }
/* Its buffer may be one that is still received into. */
#define PRE_REPLACE
#define DO_REPLACE(of)                                                                             \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(0)                                                                                        \
    stretto_message(stretto_peer1(in, dest), m.bytes);
#define PRE_SEND_INIT
#define DO_SEND_INIT(of)                                                                           \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(STRETTO_DETAIL_SETUP)                                                                     \
    TRACK_PERSISTENT(stretto_peer1(in, dest), )
#define PRE_RECV_INIT
#define DO_RECV_INIT(of)                                                                           \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(STRETTO_DETAIL_SETUP)                                                                     \
    TRACK_PERSISTENT(0, )
/* What came is told by the status; where the program wants none, by one of ours. */
#define PRE_RECV                                                                                   \
    MPI_Status own_status;                                                                         \
    if (status == MPI_STATUS_IGNORE)                                                               \
        status = &own_status;
#define RECEIVED received(&m, status);
#define DO_RECV(of)                                                                                \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    RECEIVED                                                                                       \
    BOOK(0)
#define PRE_MRECV PRE_RECV
#define DO_MRECV(of)                                                                               \
    MEASURED(NULL, of)                                                                             \
    RECEIVED                                                                                       \
    BOOK(0)
#define PRE_IRECV
#define DO_IRECV(of)                                                                               \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(0)
#define PRE_IMRECV
#define DO_IMRECV(of)                                                                              \
    MEASURED(NULL, of)                                                                             \
    BOOK(0)
#define PRE_PROBE
#define DO_PROBE(of)                                                                               \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(0)
#define PRE_PLAIN_P2P
#define DO_PLAIN_P2P(of)                                                                           \
    MEASURED(NULL, of)                                                                             \
    BOOK(0)

#define STARTED(which, ticks)                                                                      \
    stretto_tracked what;                                                                          \
    if (stretto_tracked_start(which, start, &what)) {                                              \
        stretto_count(what.key, 1, what.bytes, ticks);                                             \
        stretto_message(what.peer1, what.bytes);                                                   \
    } else                                                                                         \
        stretto_count(stretto_key(FN, NULL, 0, 0, 0, 0), 1, 0, ticks);
#define PRE_START
#define DO_START(of) STARTED(*request, end - start)
#define PRE_STARTALL
#define DO_STARTALL(of)                                                                            \
    for (int i = 0; i < count; i++) {                                                              \
        STARTED(array_of_requests[i], (end - start) / (uint64_t)count)                             \
    }
#define PRE_REQUEST_FREE                                                                           \
    stretto_tracked freed;                                                                         \
    const bool tracked = stretto_tracked_find(*request, &freed);
#define DO_REQUEST_FREE(of)                                                                        \
    MEASURED(NULL, of)                                                                             \
    BOOK(0)                                                                                        \
    if (tracked)                                                                                   \
        stretto_untrack(&freed);

#define PRE_WAIT_OF(n, requests)                                                                   \
    stretto_hits hits;                                                                             \
    stretto_hits_find(&hits, (n), (requests));
#define DO_WAIT_OF(requests)                                                                       \
    stretto_count(stretto_hits_done(&hits, (requests), FN, start, end), 1, 0, end - start);
#define PRE_WAIT_ONE PRE_WAIT_OF(1, request)
#define DO_WAIT_ONE(of) DO_WAIT_OF(request)
#define PRE_WAIT_ALL PRE_WAIT_OF(count, array_of_requests)
#define DO_WAIT_ALL(of) DO_WAIT_OF(array_of_requests)
#define PRE_WAIT_SOME PRE_WAIT_OF(incount, array_of_requests)
#define DO_WAIT_SOME(of) DO_WAIT_OF(array_of_requests)

#define SINCE(what) __atomic_fetch_or(&stretto_since_barrier, (what), __ATOMIC_RELAXED);
#define PRE_RMA
#define DO_RMA(of)                                                                                 \
    MEASURED(NULL, of)                                                                             \
    BOOK(0)                                                                                        \
    SINCE(STRETTO_DETAIL_AFTER_RMA)
#define PRE_RMA_SHARED
#define DO_RMA_SHARED(of)                                                                          \
    DO_RMA(of)                                                                                     \
    SINCE(STRETTO_DETAIL_SHARED_MEMORY)
#define PRE_RMA_REQUEST
#define DO_RMA_REQUEST(of)                                                                         \
    DO_RMA(of)                                                                                     \
    stretto_track(*request, &(stretto_tracked){.function = FN});
#define PRE_IO stretto_self.mpi_io = true;
#define DO_IO(of)                                                                                  \
    MEASURED(NULL, of)                                                                             \
    BOOK(0)                                                                                        \
    SINCE(STRETTO_DETAIL_AFTER_IO)
#define PRE_IO_REQUEST PRE_IO
#define DO_IO_REQUEST(of)                                                                          \
    DO_IO(of)                                                                                      \
    stretto_track(*request, &(stretto_tracked){.function = FN});

#define OF_MADE(parent, made, origin)                                                              \
    stretto_comm_made(*made, parent, STRETTO_ORIGIN_##origin);                                     \
    in = stretto_comm_of(parent);
#define OF_MADE_FROM_NONE(parent, made, origin)                                                    \
    stretto_comm_made(*made, MPI_COMM_NULL, STRETTO_ORIGIN_##origin);                              \
    in = stretto_comm_of(parent);
#define PRE_MAKE
#define DO_MAKE(of)                                                                                \
    MEASURED(NULL, of)                                                                             \
    BOOK(0)
#define PRE_COPY
#define DO_COPY(of)                                                                                \
    stretto_comm_copied(*newcomm, comm);                                                           \
    stretto_track(*request, &(stretto_tracked){.function = FN});                                   \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(0)
#define PRE_NAME
#define DO_NAME(of)                                                                                \
    stretto_comm_named(comm, comm_name);                                                           \
    MEASURED(stretto_comm_of(comm), of)                                                            \
    BOOK(0)

/* ---- the wrapper ---------------------------------------------------------------------------- */
#define WRAPPER(name, parameters, arguments, base, before, after, failed)                          \
    int MPI_##name parameters {                                                                    \
        enum { FN = STRETTO_FN_##base };                                                           \
        uint64_t start;                                                                            \
        if (!stretto_enter(&start))                                                                \
            return PMPI_##name arguments;                                                          \
        before int code = PMPI_##name arguments;                                                   \
        uint64_t end = stretto_ticks();                                                            \
        if (__builtin_expect(code == MPI_SUCCESS, 1)) {                                            \
            after                                                                                  \
        } else {                                                                                   \
            stretto_count(stretto_key(FN, NULL, 0, 0, 0, 0), 1, 0, end - start);                   \
            failed                                                                                 \
        }                                                                                          \
        stretto_leave(end);                                                                        \
        return code;                                                                               \
    }
#define WRAP_IF_NONE(...)
#define WRAP_IF_HAND(...)
#define WRAP__(action, ...) WRAP_IF_##action(__VA_ARGS__)
#define WRAP_(action, of, base, name, parameters, arguments)                                       \
    WRAP__(action, of, base, name, parameters, arguments)
#define WRAP(name, parameters, arguments)                                                          \
    WRAP_(ACTION(name), MEASURE(name), BASE(name), name, parameters, arguments)
#define F(kind, name, parameters, arguments) WRAP(name, parameters, arguments)
#ifdef STRETTO_ABI_OPENMPI /* 4 and 5 have no large-count forms */
#define L(kind, name, parameters, arguments)
#else
#define L(kind, name, parameters, arguments)                                                       \
    WRAP_(ACTION(name), MEASURE(name), BASE(name), name##_c, parameters, arguments)
#endif
#define WRAP_OF(action, of, base, name, parameters, arguments)                                     \
    WRAPPER(name, parameters, arguments, base, PRE_##action, DO_##action(of), )
/* Of those that are counted in a communicator's sequence. Not stretto_comm_of(): the handle may be
 * what was wrong, and to ask the MPI about it may end the job. */
#define WRAP_ORDERED(action, of, base, name, parameters, arguments)                                \
    WRAPPER(name, parameters, arguments, base, PRE_##action, DO_##action(of),                      \
            stretto_comm_failed(stretto_comm_lookup(STRETTO_HANDLE(comm)), code);)
#define WRAP_IF_COLLECTIVE(...) WRAP_ORDERED(COLLECTIVE, __VA_ARGS__)
#define WRAP_IF_NONBLOCKING(...) WRAP_ORDERED(NONBLOCKING, __VA_ARGS__)
#define WRAP_IF_NEIGHBORHOOD(...) WRAP_ORDERED(NEIGHBORHOOD, __VA_ARGS__)
#define WRAP_IF_INEIGHBORHOOD(...) WRAP_ORDERED(INEIGHBORHOOD, __VA_ARGS__)
#define WRAP_IF_PERSISTENT(...) WRAP_ORDERED(PERSISTENT, __VA_ARGS__)
#define WRAP_IF_SEND(...) WRAP_OF(SEND, __VA_ARGS__)
#define WRAP_IF_SEND_INIT(...) WRAP_OF(SEND_INIT, __VA_ARGS__)
#define WRAP_IF_RECV(...) WRAP_OF(RECV, __VA_ARGS__)
#define WRAP_IF_MRECV(...) WRAP_OF(MRECV, __VA_ARGS__)
#define WRAP_IF_IRECV(...) WRAP_OF(IRECV, __VA_ARGS__)
#define WRAP_IF_IMRECV(...) WRAP_OF(IMRECV, __VA_ARGS__)
#define WRAP_IF_RECV_INIT(...) WRAP_OF(RECV_INIT, __VA_ARGS__)
#define WRAP_IF_REPLACE(...) WRAP_OF(REPLACE, __VA_ARGS__)
#define WRAP_IF_PROBE(...) WRAP_OF(PROBE, __VA_ARGS__)
#define WRAP_IF_START(...) WRAP_OF(START, __VA_ARGS__)
#define WRAP_IF_STARTALL(...) WRAP_OF(STARTALL, __VA_ARGS__)
#define WRAP_IF_REQUEST_FREE(...) WRAP_OF(REQUEST_FREE, __VA_ARGS__)
#define WRAP_IF_PLAIN_P2P(...) WRAP_OF(PLAIN_P2P, __VA_ARGS__)
#define WRAP_WAIT(action, requests, of, base, name, parameters, arguments)                         \
    WRAPPER(name, parameters, arguments, base, PRE_##action, DO_##action(of),                      \
            stretto_hits_failed(&hits, requests);)
#define WRAP_IF_WAIT_ONE(...) WRAP_WAIT(WAIT_ONE, request, __VA_ARGS__)
#define WRAP_IF_WAIT_ALL(...) WRAP_WAIT(WAIT_ALL, array_of_requests, __VA_ARGS__)
#define WRAP_IF_WAIT_SOME(...) WRAP_WAIT(WAIT_SOME, array_of_requests, __VA_ARGS__)
#define WRAP_IF_RMA(...) WRAP_OF(RMA, __VA_ARGS__)
#define WRAP_IF_RMA_REQUEST(...) WRAP_OF(RMA_REQUEST, __VA_ARGS__)
#define WRAP_IF_RMA_SHARED(...) WRAP_OF(RMA_SHARED, __VA_ARGS__)
#define WRAP_IF_IO(...) WRAP_OF(IO, __VA_ARGS__)
#define WRAP_IF_IO_REQUEST(...) WRAP_OF(IO_REQUEST, __VA_ARGS__)
#define WRAP_IF_MAKE(...) WRAP_OF(MAKE, __VA_ARGS__)
#define WRAP_IF_COPY(...) WRAP_OF(COPY, __VA_ARGS__)
#define WRAP_IF_NAME(...) WRAP_OF(NAME, __VA_ARGS__)
#include "abi/functions.def"

/* ---- kinds ---------------------------------------------------------------------------------- */
#define KIND_OF_COLLECTIVE STRETTO_KIND_COLLECTIVE
#define KIND_OF_NONBLOCKING STRETTO_KIND_NONBLOCKING
#define KIND_OF_NEIGHBORHOOD STRETTO_KIND_NEIGHBORHOOD
#define KIND_OF_INEIGHBORHOOD STRETTO_KIND_NEIGHBORHOOD
#define KIND_OF_PERSISTENT STRETTO_KIND_PERSISTENT
#define KIND_OF_SEND STRETTO_KIND_P2P
#define KIND_OF_SEND_INIT STRETTO_KIND_P2P
#define KIND_OF_RECV STRETTO_KIND_P2P
#define KIND_OF_MRECV STRETTO_KIND_P2P
#define KIND_OF_IRECV STRETTO_KIND_P2P
#define KIND_OF_IMRECV STRETTO_KIND_P2P
#define KIND_OF_RECV_INIT STRETTO_KIND_P2P
#define KIND_OF_REPLACE STRETTO_KIND_P2P
#define KIND_OF_PROBE STRETTO_KIND_WAIT
#define KIND_OF_START STRETTO_KIND_P2P
#define KIND_OF_STARTALL STRETTO_KIND_P2P
#define KIND_OF_REQUEST_FREE STRETTO_KIND_OTHER
#define KIND_OF_PLAIN_P2P STRETTO_KIND_P2P
#define KIND_OF_WAIT_ONE STRETTO_KIND_WAIT
#define KIND_OF_WAIT_ALL STRETTO_KIND_WAIT
#define KIND_OF_WAIT_SOME STRETTO_KIND_WAIT
#define KIND_OF_RMA STRETTO_KIND_RMA
#define KIND_OF_RMA_REQUEST STRETTO_KIND_RMA
#define KIND_OF_RMA_SHARED STRETTO_KIND_RMA
#define KIND_OF_IO STRETTO_KIND_IO
#define KIND_OF_IO_REQUEST STRETTO_KIND_IO
#define KIND_OF_MAKE STRETTO_KIND_COMM
#define KIND_OF_COPY STRETTO_KIND_COMM
#define KIND_OF_NAME STRETTO_KIND_COMM
#define KIND_OF_HAND STRETTO_KIND_COMM
#define KIND_OF_NONE STRETTO_KIND_OTHER
#define KIND__(action) KIND_OF_##action
#define KIND_(action) KIND__(action)

stretto_kind stretto_kind_of(int function) {
    static const unsigned char kinds[STRETTO_FUNCTIONS] = {
#define F(kind, name, parameters, arguments) [STRETTO_FN_##name] = KIND_(ACTION(name)),
#define L(kind, name, parameters, arguments)
#include "abi/functions.def"
    };
    return kinds[function];
}

/* ---- freeing communicators ------------------------------------------------------------------ */

/* The handle is free for reuse as soon as the call is through, by another thread even: forgotten
 * before it, and restored when it failed. */
static void settle(stretto_comm *forgotten, int code) {
    if (code == MPI_SUCCESS)
        stretto_comm_destroy(forgotten);
    else
        stretto_comm_restore(forgotten);
}

static int free_comm(int function, int (*call)(MPI_Comm *), MPI_Comm *comm, uint64_t start) {
    stretto_comm *in = stretto_comm_forget(*comm);
    int code = call(comm);
    uint64_t end = stretto_ticks();
    stretto_count(stretto_key(function, in, 0, 0, 0, 0), 1, 0, end - start);
    settle(in, code);
    stretto_leave(end);
    return code;
}

/* Inside another call, by a delete callback of the program say, or of a thread that found no room:
 * not counted, but the handle goes all the same, and may come again as another communicator's. */
static int free_uncounted(int (*call)(MPI_Comm *), MPI_Comm *comm) {
    if (!stretto_recording)
        return call(comm);
    stretto_comm *in = stretto_comm_forget(*comm);
    int code = call(comm);
    settle(in, code);
    return code;
}

int MPI_Comm_free(MPI_Comm *comm) {
    uint64_t start;
    if (!stretto_enter(&start))
        return free_uncounted(PMPI_Comm_free, comm);
    return free_comm(STRETTO_FN_Comm_free, PMPI_Comm_free, comm, start);
}

int MPI_Comm_disconnect(MPI_Comm *comm) {
    uint64_t start;
    if (!stretto_enter(&start))
        return free_uncounted(PMPI_Comm_disconnect, comm);
    return free_comm(STRETTO_FN_Comm_disconnect, PMPI_Comm_disconnect, comm, start);
}
