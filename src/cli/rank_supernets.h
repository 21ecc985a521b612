/* rank_supernets.h - a ranking by several supernets: how well each of them ranks the networks it judges. */
#ifndef PADA_CLI_RANK_SUPERNETS_H
#define PADA_CLI_RANK_SUPERNETS_H

#include "base/text.h"
#include "study/score_join.h"
#include "train/family.h"

/* Appends a line per supernet, of a table or of JSON. `truth` is the table whose rows the join names. */
pada_status pada_add_supernets(pada_text *out, const pada_family *family,
                               const pada_score_table *truth, const pada_score_join *join,
                               bool json);

#endif
