/* complete.h - what may stand where a command line ends, for the completion of shells. */
#ifndef PADA_CLI_COMPLETE_H
#define PADA_CLI_COMPLETE_H

#include "base/text.h"

/* Appends what the last of the words after `pada`, which may be "", could become. The first line says
 * what shells complete themselves: "none", "folders", "files" or "files .csv" (names that end so);
 * each further one is a word, and after a tab what it means. Only out of memory is a failure: for a
 * line that makes no sense there is nothing to offer. */
pada_status pada_complete(int n_words, const char *const *words, pada_text *out);

#endif
