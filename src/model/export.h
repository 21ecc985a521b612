/* export.h - networks in the formats of other programs: one file export_<name>.c and one line in exports.def each. */
#ifndef PADA_MODEL_EXPORT_H
#define PADA_MODEL_EXPORT_H

#include "model/net_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is written where. All borrowed. */
typedef struct pada_export_desc {
    const pada_model_about *about;
    const pada_engine *engine; /* with the weights of the model */
    const pada_net_list *net;  /* the same, layer by layer */
    bool normalises;           /* the network takes pixels / 255 */
    const char *file;          /* an existing one is replaced */
    const char
        *weights_file; /* weights go there, if the format can do without; NULL: its default */
    const char *name;  /* of the network, an identifier of C and Python */
} pada_export_desc;

typedef struct pada_export {
    const char *name;      /* as in exports.def */
    const char *summary;   /* one line */
    bool has_weights_file; /* weights can go to a file of their own */
    const char *const
        *reserved; /* names that no network can have, NULL after the last; NULL: none */
    pada_status (*write)(const pada_export_desc *desc);
} pada_export;

int pada_export_count(void);
const pada_export *pada_export_get(int i);
/* An unknown one is PADA_EINVAL and offers the nearest name. */
pada_status pada_export_find(const pada_export **out, const char *name);

/* What a user wants to be written. Borrowed. */
typedef struct pada_export_order {
    const char *format, *file;
    const char *name;         /* of the network, an identifier; NULL: that of the file, made one */
    const char *weights_file; /* as in pada_export_desc */
    bool fold_norms, normalise;
} pada_export_order;

/* Whether it can be done, before there is a network: an unknown format, a name that is no identifier or reserved, and a
 * weights_file that the format has no use for or that is the file itself are PADA_EINVAL. */
pada_status pada_export_check(const pada_export_order *order);
/* Writes a network, whose weights the engine has. */
pada_status pada_export_write(const pada_export_order *order, const pada_model_about *about,
                              const pada_engine *e);

/* "nb201 |nor_conv_3x3~0|+.. for 10 classes, 94.2 % top-1": a line about the model, for comments in files. */
void pada_export_title(const pada_export_desc *desc, pada_text *out);
/* Appends the names of the classes as a JSON array, or their number if they have none. */
pada_status pada_export_classes(const pada_export_desc *desc, pada_text *out);
/* Appends "[0.5, 0.25, 0.125]". */
void pada_export_numbers(const double *values, int n, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
