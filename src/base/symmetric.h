/* symmetric.h - small symmetric matrices in double precision: eigenvalues, and the logarithm of the determinant. */
#ifndef PADA_BASE_SYMMETRIC_H
#define PADA_BASE_SYMMETRIC_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Eigenvalues of a [n, n], ascending, into values [n], by Jacobi's rotations: exact to about 1e-13 of
 * the largest. `a` is overwritten; only its upper triangle with the diagonal is read. Numbers that are not finite are
 * PADA_ENUMERIC. */
pada_status pada_symmetric_eigenvalues(double *a, int n, double *values);

/* log |det a| of a [n, n] into *out, by elimination with pivots; -inf of a singular one. `a` is overwritten; both
 * triangles are read. Numbers that are not finite are PADA_ENUMERIC. */
pada_status pada_symmetric_log_det(double *a, int n, double *out);

#ifdef __cplusplus
}
#endif
#endif
