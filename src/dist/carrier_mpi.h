/* carrier_mpi.h - MPI as a carrier. */
#ifndef PADA_DIST_CARRIER_MPI_H
#define PADA_DIST_CARRIER_MPI_H

#include "dist/carrier.h"

extern const pada_carrier pada_carrier_mpi;

#endif
