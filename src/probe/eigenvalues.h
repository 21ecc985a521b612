/* eigenvalues.h - of small symmetric matrices, by Jacobi's rotations.
 *
 * A few dozen rows take milliseconds, every eigenvalue is exact to the rounding of the largest one, and the bits are the
 * same everywhere: no reason to depend on a library of linear algebra. */
#ifndef PADA_PROBE_EIGENVALUES_H
#define PADA_PROBE_EIGENVALUES_H

#ifdef __cplusplus
extern "C" {
#endif

/* The eigenvalues of matrix [n, n], which is overwritten, in ascending order: values[n]. */
void pada_eigenvalues(double *matrix, int n, double *values);

#ifdef __cplusplus
}
#endif
#endif
