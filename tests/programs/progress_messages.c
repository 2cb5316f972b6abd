/* Cases in which the victim blocks in messages, probes, waits and tests (progress_cases.h). */
#include "progress_cases.h"

#include <pthread.h>

static MPI_Comm const W = MPI_COMM_WORLD;
static MPI_Status status;
static int value;

static void send_small(void) {
    value = 42;
    MPI_Send(&value, 1, MPI_INT, victim, TAG, W);
}
static void send_large(void) {
    data[0] = 17;
    MPI_Send(data, LARGE, MPI_CHAR, victim, TAG, W);
}
static void receive_large(void) {
    int n;
    data[0] = 0;
    MPI_Recv(data, LARGE, MPI_CHAR, victim, TAG, W, &status);
    MPI_Get_count(&status, MPI_CHAR, &n);
    check(data[0] == 23 && n == LARGE && status.MPI_SOURCE == victim, "message");
}
static void fill(void) {
    data[0] = 23;
}

static void in_recv(void) {
    int n, got = 0;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    check(got == 42 && n == 1 && status.MPI_SOURCE == partner && status.MPI_TAG == TAG, "message");
}
static void in_recv_large(void) {
    data[0] = 0;
    MPI_Recv(data, LARGE, MPI_CHAR, partner, TAG, W, MPI_STATUS_IGNORE);
    check(data[0] == 17, "message");
}
static void in_send(void) {
    fill();
    MPI_Send(data, LARGE, MPI_CHAR, partner, TAG, W);
}
static void in_ssend(void) {
    fill();
    MPI_Ssend(data, LARGE, MPI_CHAR, partner, TAG, W);
}
static void in_bsend(void) {
    static char room[LARGE + MPI_BSEND_OVERHEAD];
    void *back;
    int n;
    fill();
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(data, LARGE, MPI_CHAR, partner, TAG, W);
    MPI_Buffer_detach(&back, &n); /* waits until the message is away */
    check(back == room, "buffer");
}

static void recv(void) {
    one_blocks(in_recv, send_small);
}
static void recv_large(void) {
    one_blocks(in_recv_large, send_large);
}
static void send(void) {
    one_blocks(in_send, receive_large);
}
static void ssend(void) {
    one_blocks(in_ssend, receive_large);
}
static void bsend(void) {
    one_blocks(in_bsend, receive_large);
}

static void rsend(void) { /* the partner's receive is there before */
    static pending p;
    for (victim = 0; victim < 2; victim++) {
        MPI_Request request = MPI_REQUEST_NULL;
        partner = (victim + 1) % size;
        if (rank == partner)
            MPI_Irecv(data, LARGE, MPI_CHAR, victim, TAG, W, &request);
        MPI_Barrier(W);
        begin(&p, W);
        if (rank == victim) {
            fill();
            MPI_Rsend(data, LARGE, MPI_CHAR, partner, TAG, W);
        }
        end(&p, W);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == partner)
            check(data[0] == 23, "message");
    }
}

static void exchange(int other, int large) {
    int n = large ? LARGE : 8;
    data[0] = (char)(rank + 1);
    MPI_Sendrecv(data, n, MPI_CHAR, other, TAG, data + LARGE, LARGE, MPI_CHAR, other, TAG, W,
                 &status);
    MPI_Get_count(&status, MPI_CHAR, &n);
    check(data[LARGE] == other + 1 && status.MPI_SOURCE == other && n == (large ? LARGE : 8),
          "exchange");
}
static void exchange_both(int other) {
    exchange(other, 0);
    exchange(other, 1);
    data[0] = (char)(rank + 1);
    MPI_Sendrecv_replace(data, LARGE, MPI_CHAR, other, TAG, other, TAG, W, &status);
    check(data[0] == other + 1 && status.MPI_SOURCE == other, "exchange in place");
}
static void in_sendrecv(void) {
    exchange_both(partner);
}
static void its_sendrecv(void) {
    exchange_both(victim);
}
static void sendrecv(void) {
    one_blocks(in_sendrecv, its_sendrecv);
}

static void in_probe(void) {
    int n;
    MPI_Probe(MPI_ANY_SOURCE, TAG, W, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    check(status.MPI_SOURCE == partner && n == 1, "probe");
    in_recv();
}
static void probe(void) {
    one_blocks(in_probe, send_small);
}
static void in_mprobe(void) {
    MPI_Message message;
    MPI_Mprobe(partner, MPI_ANY_TAG, W, &message, &status);
    check(status.MPI_TAG == TAG && message != MPI_MESSAGE_NULL, "matched probe");
    data[0] = 0;
    MPI_Mrecv(data, LARGE, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    check(data[0] == 17 && message == MPI_MESSAGE_NULL, "matched message");
}
static void mprobe(void) {
    one_blocks(in_mprobe, send_large);
}
static void in_iprobe(void) {
    for (int flag = 0; !flag;)
        MPI_Iprobe(partner, TAG, W, &flag, MPI_STATUS_IGNORE);
    in_recv();
}
static void iprobe(void) {
    one_blocks(in_iprobe, send_small);
}
static void in_improbe(void) {
    MPI_Message message;
    for (int flag = 0; !flag;)
        MPI_Improbe(partner, TAG, W, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    check(value == 42 && status.MPI_SOURCE == partner, "matched message");
}
static void improbe(void) {
    one_blocks(in_improbe, send_small);
}

/* Nobody is asked: MPI_PROC_NULL answers at once, with the standard's status. */
static void in_nobody(void) {
    MPI_Message message;
    int n = 5, got = 9, flag = 0;
    MPI_Send(&n, 1, MPI_INT, MPI_PROC_NULL, TAG, W);
    MPI_Ssend(&n, 1, MPI_INT, MPI_PROC_NULL, TAG, W);
    MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, TAG, W, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    check(got == 9 && n == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG,
          "status of nobody's message");
    MPI_Probe(MPI_PROC_NULL, TAG, W, &status);
    check(status.MPI_SOURCE == MPI_PROC_NULL, "status of a probe of nobody");
    MPI_Mprobe(MPI_PROC_NULL, TAG, W, &message, &status);
    check(message == MPI_MESSAGE_NO_PROC, "message of nobody");
    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
    check(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && got == 9,
          "matched message of nobody");
    MPI_Iprobe(MPI_PROC_NULL, TAG, W, &flag, &status);
    check(flag, "probe of nobody");
    MPI_Sendrecv(&n, 1, MPI_INT, MPI_PROC_NULL, TAG, &got, 1, MPI_INT, MPI_PROC_NULL, TAG, W,
                 &status);
    check(got == 9 && status.MPI_SOURCE == MPI_PROC_NULL, "exchange with nobody");
    MPI_Sendrecv_replace(&got, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG, W, &status);
    check(got == 9 && status.MPI_SOURCE == MPI_PROC_NULL, "exchange in place with nobody");
}
static void nothing(void) {}
static void nobody(void) {
    one_blocks(in_nobody, nothing);
}

/* Errors come back as the standard's class, and what was half begun leaves nothing behind. */
static int error_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}
static void in_errors(void) {
    int small = 0, out[4] = {1, 2, 3, 4};
    MPI_Message message;
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    check(error_of(MPI_Recv(&small, 1, MPI_INT, size, TAG, W, &status)) == MPI_ERR_RANK, "rank");
    check(error_of(MPI_Send(&small, -1, MPI_INT, partner, TAG, W)) == MPI_ERR_COUNT, "count");
    check(error_of(MPI_Send(&small, 1, MPI_INT, partner, -5, W)) == MPI_ERR_TAG, "tag");
    check(error_of(MPI_Sendrecv(out, 1, MPI_INT, size, TAG, &small, 1, MPI_INT, partner, TAG, W,
                                MPI_STATUS_IGNORE)) == MPI_ERR_RANK,
          "rank of an exchange");
    check(error_of(MPI_Probe(size, TAG, W, &status)) == MPI_ERR_RANK, "rank of a probe");
    check(error_of(MPI_Recv(&small, 1, MPI_INT, partner, TAG, W, &status)) == MPI_ERR_TRUNCATE,
          "length");
    check(error_of(MPI_Sendrecv(out, 1, MPI_INT, partner, TAG, &small, 1, MPI_INT, partner, TAG, W,
                                MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE,
          "length of an exchange");
    MPI_Mprobe(partner, TAG, W, &message, &status);
    check(error_of(MPI_Mrecv(&small, 1, MPI_INT, &message, &status)) == MPI_ERR_TRUNCATE,
          "length of a matched message");
    MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
}
static void its_errors(void) {
    int four[4] = {0}, one;
    for (int i = 0; i < 3; i++)
        MPI_Send(four, 4, MPI_INT, victim, TAG, W);
    MPI_Recv(&one, 1, MPI_INT, victim, TAG, W, MPI_STATUS_IGNORE);
}
static void errors(void) {
    one_blocks(in_errors, its_errors);
}

/* Requests of the application's own, in every way of waiting and testing. */
static MPI_Request own[2];
static int got[2];
static void post(void) {
    got[0] = got[1] = 0;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, partner, TAG + i, W, &own[i]);
}
static void send_both(void) {
    for (int i = 0; i < 2; i++) {
        value = 42 + i;
        MPI_Send(&value, 1, MPI_INT, victim, TAG + i, W);
    }
}
static void both(void) {
    check(got[0] == 42 && got[1] == 43, "messages");
}
static void in_wait(void) {
    post();
    MPI_Wait(&own[1], &status);
    check(status.MPI_TAG == TAG + 1, "status");
    MPI_Wait(&own[0], MPI_STATUS_IGNORE);
    both();
}
static void in_waitall(void) {
    post();
    MPI_Waitall(2, own, MPI_STATUSES_IGNORE);
    both();
}
static void in_waitany(void) {
    int i, j;
    post();
    MPI_Waitany(2, own, &i, &status);
    MPI_Waitany(2, own, &j, &status);
    check(i + j == 1, "indices");
    both();
}
static void in_waitsome(void) {
    int n = 0, some, at[2];
    MPI_Status statuses[2];
    post();
    while (n < 2) {
        MPI_Waitsome(2, own, &some, at, statuses);
        n += some;
    }
    both();
}
static void in_test(void) {
    post();
    for (int flag = 0; !flag;)
        MPI_Test(&own[1], &flag, MPI_STATUS_IGNORE);
    for (int flag = 0; !flag;)
        MPI_Testall(2, own, &flag, MPI_STATUSES_IGNORE);
    both();
}
static void in_testany(void) {
    int n = 0, flag, at, some, indices[2];
    post();
    while (!n) {
        MPI_Testany(2, own, &at, &flag, MPI_STATUS_IGNORE);
        n += flag;
    }
    while (n < 2) {
        MPI_Testsome(2, own, &some, indices, MPI_STATUSES_IGNORE);
        n += some;
    }
    both();
}
static void in_get_status(void) {
    post();
    for (int flag = 0; !flag;)
        MPI_Request_get_status(own[1], &flag, &status);
    MPI_Waitall(2, own, MPI_STATUSES_IGNORE);
    both();
}
static void wait(void) {
    one_blocks(in_wait, send_both);
}
static void waitall(void) {
    one_blocks(in_waitall, send_both);
}
static void waitany(void) {
    one_blocks(in_waitany, send_both);
}
static void waitsome(void) {
    one_blocks(in_waitsome, send_both);
}
static void test(void) {
    one_blocks(in_test, send_both);
}
static void testany(void) {
    one_blocks(in_testany, send_both);
}
static void get_status(void) {
    one_blocks(in_get_status, send_both);
}

/* A persistent receive, and a send that is waited for. */
static void in_persistent(void) {
    MPI_Recv_init(got, 1, MPI_INT, partner, TAG, W, &own[0]);
    MPI_Start(&own[0]);
    MPI_Wait(&own[0], &status);
    check(got[0] == 42 && status.MPI_SOURCE == partner, "persistent message");
    MPI_Request_free(&own[0]);
    MPI_Issend(got, 1, MPI_INT, partner, TAG, W, &own[0]);
    MPI_Wait(&own[0], MPI_STATUS_IGNORE);
}
static void its_persistent(void) {
    send_small();
    MPI_Recv(&value, 1, MPI_INT, victim, TAG, W, MPI_STATUS_IGNORE);
}
static void persistent_message(void) {
    one_blocks(in_persistent, its_persistent);
}

/* One thread starts the collectives, the other one blocks; never both in the MPI at a time. */
static void *in_thread(void *arg) {
    (void)arg;
    in_recv();
    return NULL;
}
static void in_another_thread(void) {
    pthread_t other;
    pthread_create(&other, NULL, in_thread, NULL);
    pthread_join(other, NULL);
}
static void threads(void) {
    int provided;
    MPI_Query_thread(&provided);
    if (provided >= MPI_THREAD_SERIALIZED)
        one_blocks(in_another_thread, send_small);
}

const progress_case message_cases[] = {
    {"recv", recv, 2},
    {"recv_large", recv_large, 2},
    {"send", send, 2},
    {"ssend", ssend, 2},
    {"bsend", bsend, 2},
    {"rsend", rsend, 2},
    {"sendrecv", sendrecv, 2},
    {"probe", probe, 2},
    {"mprobe", mprobe, 2},
    {"iprobe", iprobe, 2},
    {"improbe", improbe, 2},
    {"nobody", nobody, 2},
    {"errors", errors, 2},
    {"wait", wait, 2},
    {"waitall", waitall, 2},
    {"waitany", waitany, 2},
    {"waitsome", waitsome, 2},
    {"test", test, 2},
    {"testany", testany, 2},
    {"get_status", get_status, 2},
    {"persistent_message", persistent_message, 2},
    {"threads", threads, 2},
    {NULL, NULL, 0},
};
