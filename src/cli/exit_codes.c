/* exit_codes.c - what the exit codes of the program mean. */
#include "cli/exit_codes.h"

const pada_exit_code pada_exit_codes[PADA_N_EXIT_CODES] = {
    {PADA_OK, "done"},
    {PADA_EIO, "failed"},
    {PADA_EINVAL, "wrong usage"},
    {PADA_EDATA, "bad data"},
    {PADA_ENOENT, "missing input"},
    {PADA_EDEVICE, "device not available"},
    {PADA_ESTOPPED, "stopped with a checkpoint written; the same command resumes it"},
};
