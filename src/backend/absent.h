/* absent.h - backends that pada has and this build does not. */
#ifndef PADA_BACKEND_ABSENT_H
#define PADA_BACKEND_ABSENT_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_absent_backend {
    const char *name, *summary; /* as in pada_backend; NULL ends the list */
    const char *why;            /* "not in this build (..); " and how to get it */
} pada_absent_backend;

const pada_absent_backend *pada_absent_backends(void);

#ifdef __cplusplus
}
#endif
#endif
