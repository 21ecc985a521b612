# Teams of processes by MPI, as PADA_MPI wants it: AUTO (where CMake finds MPI), ON (or fail), OFF.
#
#   PADA_HAS_MPI   whether programs are linked with it: the target pada_mpi of src/dist
#   mpi_summary    for the last line of the configuration
set(PADA_HAS_MPI OFF)
if(PADA_MPI AND PADA_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS C)
elseif(PADA_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
endif()
set(mpi_summary "no MPI")
if(PADA_MPI AND MPI_C_FOUND)
  set(PADA_HAS_MPI ON)
  set(mpi_summary "MPI ${MPI_C_VERSION}")
endif()
