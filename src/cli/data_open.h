/* data_open.h - opening a data set by options, with a cache and a line of progress. */
#ifndef PADA_CLI_DATA_OPEN_H
#define PADA_CLI_DATA_OPEN_H

#include "run/data_args.h"

/* Opens a data set as described, read as the options say, with a line of progress on a terminal. The
 * cache is $XDG_CACHE_HOME/pada or ~/.cache/pada; PADA_CACHE_SIZE is the bytes it may take, e.g. 40G. */
pada_status pada_data_open(pada_dataset **out, const pada_data_args *args,
                           const pada_dataset_desc *desc);

#endif
