/* names.h - the names that options take, for manuals and completion: the i-th, NULL after the last. */
#ifndef PADA_RUN_NAMES_H
#define PADA_RUN_NAMES_H

const char *pada_name_of_method(int i);
const char *pada_name_of_space(int i);
const char *pada_name_of_backend(int i); /* "auto" first */
const char *pada_name_of_export(int i);
const char *pada_name_of_dialect(int i); /* of all spaces, one after the other */

#endif
