#include "run/check.h"
void stretto_check_call(MPI_Comm comm, const stretto_checked_call *call) {
    (void)comm, (void)call;
}
