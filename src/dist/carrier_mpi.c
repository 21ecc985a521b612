/* carrier_mpi.c - MPI as a carrier; the only file that knows it. A part of programs, never of the library: a program
 * that loads libpada may have an MPI of its own. */
#include "dist/carrier_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(pada_request),
               "an MPI_Request fits into a pada_request");

static MPI_Comm channels[PADA_N_CHANNELS]; /* MPI is one per process */

/* Statuses of MPI become one of ours here and nowhere else. */
static pada_status check(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code == MPI_SUCCESS) return PADA_OK;
    (void)MPI_Error_string(code, text, &length);
    return PADA_FAIL(PADA_EIO, "%s: %s", call, text);
}

static MPI_Request unwrap(const pada_request *request)
{
    MPI_Request r;

    memcpy(&r, request, sizeof r);
    return r;
}

static pada_request wrap(MPI_Request r)
{
    pada_request request = 0;

    memcpy(&request, &r, sizeof r);
    return request;
}

static const char *mpi_describe(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "MPI";
    text[strcspn(text, ",\n")] = '\0';
    return text;
}

static pada_status find_place(pada_place_in_team *out)
{
    MPI_Comm local;

    PADA_TRY(check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
                   "MPI_Comm_set_errhandler"));
    PADA_TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &out->rank), "MPI_Comm_rank"));
    PADA_TRY(check(MPI_Comm_size(MPI_COMM_WORLD, &out->size), "MPI_Comm_size"));
    PADA_TRY(check(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, out->rank, MPI_INFO_NULL, &local),
        "MPI_Comm_split_type"));
    PADA_TRY(check(MPI_Comm_rank(local, &out->local_rank), "MPI_Comm_rank"));
    PADA_TRY(check(MPI_Comm_size(local, &out->local_size), "MPI_Comm_size"));
    return check(MPI_Comm_free(&local), "MPI_Comm_free");
}

static pada_status mpi_open(pada_place_in_team *out)
{
    int provided;

    PADA_TRY(
        check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread"));
    if (provided < MPI_THREAD_SERIALIZED)
        return PADA_FAIL(PADA_EUNSUPPORTED, "%s cannot serve a program with threads",
                         mpi_describe());
    PADA_TRY(find_place(out));
    for (int k = 0; k < PADA_N_CHANNELS; k++)
        PADA_TRY(check(MPI_Comm_dup(MPI_COMM_WORLD, &channels[k]), "MPI_Comm_dup"));
    return PADA_OK;
}

/* Communicators are freed together by all; after a failure some may not get here. */
static void mpi_close(bool orderly)
{
    for (int k = 0; orderly && k < PADA_N_CHANNELS; k++)
        (void)MPI_Comm_free(&channels[k]);
    (void)MPI_Finalize();
}

static pada_status check_bytes(size_t bytes)
{
    if (bytes <= INT_MAX) return PADA_OK;
    return PADA_FAIL(PADA_EUNSUPPORTED, "a message of %zu bytes; MPI takes %d", bytes, INT_MAX);
}

static pada_status mpi_send(pada_channel channel, int to, int tag, const void *data, size_t bytes,
                            pada_request *out)
{
    MPI_Request r = MPI_REQUEST_NULL;

    PADA_TRY(check_bytes(bytes));
    PADA_TRY(
        check(MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, channels[channel], &r), "MPI_Isend"));
    *out = wrap(r);
    return PADA_OK;
}

static pada_status mpi_receive(pada_channel channel, int from, int tag, void *data, size_t bytes,
                               pada_request *out)
{
    MPI_Request r = MPI_REQUEST_NULL;

    PADA_TRY(check_bytes(bytes));
    PADA_TRY(check(MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, channels[channel], &r),
                   "MPI_Irecv"));
    *out = wrap(r);
    return PADA_OK;
}

static pada_status mpi_test(pada_request *request, bool *done)
{
    MPI_Request r = unwrap(request);
    int flag = 0;

    PADA_TRY(check(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), "MPI_Test"));
    *request = wrap(r);
    *done = flag;
    return PADA_OK;
}

static void mpi_abandon(pada_request *request)
{
    MPI_Request r = unwrap(request);

    if (r == MPI_REQUEST_NULL) return;
    (void)MPI_Cancel(&r);
    (void)MPI_Request_free(&r);
}

static pada_status mpi_probe(pada_channel channel, bool *found, pada_message_head *out)
{
    MPI_Status status;
    int flag = 0, bytes;

    *found = false;
    PADA_TRY(check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channels[channel], &flag, &status),
                   "MPI_Iprobe"));
    if (!flag) return PADA_OK;
    PADA_TRY(check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count"));
    *found = true;
    *out = (pada_message_head){status.MPI_SOURCE, status.MPI_TAG, (size_t)bytes};
    return PADA_OK;
}

const pada_carrier pada_carrier_mpi = {
    .describe = mpi_describe,
    .open = mpi_open,
    .close = mpi_close,
    .send = mpi_send,
    .receive = mpi_receive,
    .test = mpi_test,
    .abandon = mpi_abandon,
    .probe = mpi_probe,
};
