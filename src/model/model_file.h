/* model_file.h - one network, ready to use, as one safetensors file that says all about itself.
 *
 * Tensors have the names of PyTorch's state_dict: parameters, running_mean and running_var, float32. The metadata:
 *
 *   pada_model  "1", the version of this list
 *   form        "final": a network by itself; "search": a path of a supernet, without what others use
 *   space       flags that make the space: "--space nb201 --channels 16 .. --classes 10 --image-size 32"
 *   arch        the network, in the canonical dialect of the space
 *   data        the data card (data_card.h): classes, mean and deviation of pixels / 255, name of the data set
 *   resize, crops, eval_crop    what became of the pictures of a folder (dataset.h)
 *   top1        accuracy in percent, where somebody knows it
 *   program     who wrote it: "pada 0.1.0"
 *
 * Biases in front of batch norms have no effect here (net.h). PyTorch would add them, so they are written as zeros. */
#ifndef PADA_MODEL_MODEL_FILE_H
#define PADA_MODEL_MODEL_FILE_H

#include "data/data_card.h"
#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; deinit accepts that and failed ones. */
typedef struct pada_model_about {
    pada_space space; /* in the form of the weights, with classes and image size */
    pada_path path;   /* the network, also of the final form */
    /* Of the images of the training. Owned after a read; a writer may lend one. */
    pada_data_card card;
    pada_resize resize;
    pada_crops crops;
    double eval_crop; /* 0: the default */
    double top1;      /* percent; 0: not known */
    char program[40];
} pada_model_about;

void pada_model_about_deinit(pada_model_about *about);

/* The file of a model: `where` itself, or of a folder best.safetensors, else last.safetensors. Appends its path.
 * Nothing there is PADA_ENOENT. */
pada_status pada_model_find(pada_text *file, const char *where);

/* Writes the weights of about->path, atomically. The engine has the space of `about`, and statistics that do not come
 * from the batch; else PADA_EINVAL. */
pada_status pada_model_write(const char *file, const pada_model_about *about, const pada_engine *e);

/* What a file says about itself. One that is no model, is of a newer pada or contradicts itself is PADA_EDATA. */
pada_status pada_model_read(pada_model_about *about, const char *file);
/* The same of metadata that are read already; `origin` is for messages. */
pada_status pada_model_read_metadata(pada_model_about *about, const pada_safetensors *file,
                                     const char *origin);

/* An engine with the weights and statistics of a file that `about` was read from. Of `desc` everything counts but
 * space, mode and statistics. */
pada_status pada_model_load(pada_engine **out, const pada_model_about *about,
                            const pada_engine_desc *desc, const char *file);

#ifdef __cplusplus
}
#endif
#endif
