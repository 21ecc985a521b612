/* pada.h - the public interface of libpada: search spaces, supernets and what their networks score, trained networks,
 * and the trainings that make both.
 *
 *   pada_space *space;
 *   pada_net *net;
 *   pada_path path;
 *   pada_evaluation result;
 *
 *   pada_space_open(&space, "nb201", NULL);
 *   pada_net_create(&net, space, NULL);
 *   pada_net_load(net, "w.safetensors");
 *   pada_path_parse(space, "3,3,4,1,3,1", "list", &path);
 *   pada_net_evaluate(net, &path, images, 0, &result);
 *
 * Functions that can fail return a pada_status; the reason in one line is pada_message() of the same
 * thread. On failure an `out` handle is NULL and nothing has changed. A handle belongs to its opener,
 * who closes it; NULL may be closed. Threads may share a handle: calls for one net, or one model, wait for each other.
 * Names of files are taken as the system takes them. Nothing here prints, exits, or reads more of the
 * environment than OMP_NUM_THREADS. */
#ifndef PADA_H
#define PADA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PADA_API __attribute__((visibility("default")))
#else
#define PADA_API
#endif

/* ---- status ---- */

typedef enum pada_status {
    PADA_OK = 0,
    PADA_EINVAL,       /* wrong usage: a flag, option or argument (exit code 2) */
    PADA_EDATA,        /* a file or data set holds something it must not (65) */
    PADA_ENOENT,       /* an input is missing (66) */
    PADA_EDEVICE,      /* a device, backend or optional library is not available (69) */
    PADA_ESTOPPED,     /* stopped by a signal or time limit, checkpoint written (75) */
    PADA_ENOMEM,       /* out of memory (1) */
    PADA_EIO,          /* reading or writing failed (1) */
    PADA_ENUMERIC,     /* NaN or infinity where a number was needed (1) */
    PADA_EUNSUPPORTED, /* not implemented by this backend or build (1) */
} pada_status;

/* The message of this thread's last failure; "" before the first. Valid until the next failure. */
PADA_API const char *pada_message(void);

/* "0.1.0": of the library that runs, whatever header a program was built with. */
PADA_API const char *pada_version(void);

/* ---- search spaces ---- */

typedef struct pada_space pada_space;

/* Sizes of the network; zero means the space's default. */
typedef struct pada_space_config {
    int channels; /* of the first stage */
    int cells;    /* per stage */
    int classes;
    int image_size; /* rows = columns */
    /* Sets of weights that the slots of a cell share, as method close wants them; 0: every slot has its own */
    int blocks;
    /* Options of the space as flags, such as {"--channels=8", NULL}, for those that have no field here;
     * NULL: none */
    const char *const *flags;
} pada_space_config;

/* Opens a space by name; an unknown name, a size out of range or an option that the space does not have is
 * PADA_EINVAL. config may be NULL. */
PADA_API pada_status pada_space_open(pada_space **out, const char *name,
                                     const pada_space_config *config);
PADA_API void pada_space_close(pada_space *space);
/* The name of the i-th space that there is, for lists; NULL after the last. */
PADA_API const char *pada_space_known(int i);
/* What it is called, and the sizes that it has. The name is valid as long as the space; NULL or 0 of no space. */
PADA_API const char *pada_space_name(const pada_space *space);
PADA_API int pada_space_classes(const pada_space *space);
PADA_API int pada_space_image_size(const pada_space *space);
/* The flags that make such a space, each behind a blank: " --space nb201 --channels 16 --cells 5". Classes and image size
 * are not among them: trainings have those of their images. A buffer that is too small is PADA_EINVAL. */
PADA_API pada_status pada_space_options(const pada_space *space, char *buffer, size_t bytes);

/* ---- architectures ---- */

#define PADA_MAX_SLOTS 64

/* One sub-model: the choice of every slot. Where weights belong to blocks, numbers behind the last slot are
 * the library's own. */
typedef struct pada_path {
    uint8_t choice[PADA_MAX_SLOTS]; /* unused ones are 0 */
} pada_path;

/* How many slots a space has, and choices a slot (0: there is no such slot). */
PADA_API int pada_space_n_slots(const pada_space *space);
PADA_API int pada_space_n_choices(const pada_space *space, int slot);
/* What a choice is called, "nor_conv_3x3"; NULL: there is no such choice. Valid as long as the space. */
PADA_API const char *pada_space_choice_label(const pada_space *space, int slot, int choice);
/* How many paths there are, those that differ only in slots they do not use counted once; a rounded number where it is
 * large. */
PADA_API double pada_space_n_networks(const pada_space *space);
/* The i-th dialect of the space, the canonical one first; NULL after the last. */
PADA_API const char *pada_space_dialect(const pada_space *space, int i);

/* Reads an architecture in a dialect of the space, as `pada arch --from` does; NULL: any that is not
 * ambiguous. What is not one architecture from beginning to end is PADA_EINVAL. */
PADA_API pada_status pada_path_parse(const pada_space *space, const char *text, const char *dialect,
                                     pada_path *out);
/* Writes it, terminated, in a dialect; NULL: the first of the space. A buffer that is too small is
 * PADA_EINVAL and stays as it was. */
PADA_API pada_status pada_path_format(const pada_space *space, const pada_path *path,
                                      const char *dialect, char *buffer, size_t bytes);

/* The network with number `index` of the random ones of a seed, every choice equally likely. */
PADA_API pada_status pada_path_draw(const pada_space *space, uint64_t seed, uint64_t index,
                                    pada_path *out);
/* The same function with the fewest live choices: paths with equal canonical forms are one network. */
PADA_API pada_status pada_path_canonical(const pada_space *space, const pada_path *path,
                                         pada_path *out);

/* Draws it, terminated, as "svg" (an element for files and pages), "dot" (for Graphviz) or "text". *needed, unless it is NULL,
 * gets the bytes that this takes; where it is all that is wanted, buffer is NULL and bytes 0. A buffer that is too small is
 * PADA_EINVAL, a space that has no drawings PADA_EUNSUPPORTED. */
PADA_API pada_status pada_path_drawing(const pada_space *space, const pada_path *path,
                                       const char *form, char *buffer, size_t bytes,
                                       size_t *needed);

/* What a network costs by itself, in the form in which it is trained alone. */
typedef struct pada_cost {
    int64_t macs;   /* convolutions and linear layers, and what the literature of the space adds */
    int64_t params; /* batch norm and the linear bias included */
} pada_cost;

PADA_API pada_status pada_path_costs(const pada_space *space, const pada_path *path,
                                     pada_cost *out);

/* ---- long calls ---- */

/* Where a long call stands. */
typedef struct pada_standing {
    int64_t n_done, n_total; /* evaluations, at most so many; of a training steps of the epoch */
    int epoch, n_epochs;     /* of a training: the one that is under way, from 0; else 0 */
    double top1;    /* percent: of the best network so far, of the epoch so far; NaN: none yet */
    double loss;    /* the same */
    double seconds; /* that this call has taken */
    double seconds_left; /* about; NaN: not known yet */
} pada_standing;

/* Who follows a long call; each function may be NULL. They are called in the thread of the call, and must not use the
 * net or the run that it is about. */
typedef struct pada_observer {
    void *user;
    /* After every evaluation, every tenth of a second of a training and every epoch. Anything but 0 stops the call: it
     * ends with PADA_ESTOPPED. */
    int (*progress)(void *user, const pada_standing *standing);
    void (*message)(void *user, const char *text); /* one line for people, no failure */
} pada_observer;

/* ---- images ---- */

typedef struct pada_images pada_images;

/* Images to train on, to report results on, and to choose networks on. Of the data sets only image
 * folders have the third. */
typedef enum pada_split { PADA_SPLIT_TRAIN, PADA_SPLIT_TEST, PADA_SPLIT_VAL } pada_split;

/* Opens a split of a data set: "builtin", or a folder as `pada data info` takes it. image_size
 * scales folders of images; 0: the data set's own. From 128 on images of folders are the middle of
 * their pictures, and those to train on are decoded whenever they are read. A split that it does not
 * have is PADA_EINVAL. */
PADA_API pada_status pada_images_open(pada_images **out, const char *where, pada_split split,
                                      int image_size);
PADA_API void pada_images_close(pada_images *images);
PADA_API int pada_images_count(const pada_images *images);
PADA_API int pada_images_classes(const pada_images *images);
PADA_API int pada_images_size(const pada_images *images); /* rows = columns */
/* The name of a class; NULL: there is no such class, or classes have no names. Valid as long as the images. */
PADA_API const char *pada_images_class_name(const pada_images *images, int class_number);

/* Copies images first .. first + n - 1 as a network reads them, normalised: [n, 3, size, size], and
 * their labels [n]. A range that is not there is PADA_EINVAL; a file that is gone, broken or another
 * one than at the open is PADA_ENOENT or PADA_EDATA. */
PADA_API pada_status pada_images_read(const pada_images *images, int first, int n, float *pixels,
                                      int32_t *labels);

/* ---- supernets ---- */

typedef struct pada_net pada_net;

/* Zero means the default for every field. */
typedef struct pada_net_config {
    const char *backend; /* "cpu", ...; NULL: the fastest one here */
    int threads;         /* 0: OMP_NUM_THREADS, or one per CPU */
    int batch_size; /* 0: 512. Batch norm takes its statistics from a batch, unless weights bring their own */
} pada_net_config;

/* What a network made of some images. */
typedef struct pada_evaluation {
    int n_images;
    int top1, top5; /* images whose label has the highest, one of the five highest scores */
    double loss;    /* mean over the images */
} pada_evaluation;

/* A supernet with fresh weights of seed 0. config may be NULL; the space may be closed afterwards. */
PADA_API pada_status pada_net_create(pada_net **out, const pada_space *space,
                                     const pada_net_config *config);
PADA_API void pada_net_destroy(pada_net *net);

/* Fresh weights, the same ones as `pada init --seed`. */
PADA_API pada_status pada_net_init(pada_net *net, uint64_t seed);
/* Weights from or to a safetensors file; checkpoints of `pada train` are such files. */
PADA_API pada_status pada_net_load(pada_net *net, const char *path);
PADA_API pada_status pada_net_save(const pada_net *net, const char *path);

/* The network of the path on the first `limit` images (0: all) in batches of batch_size, as
 * `pada eval` does it. Images of another size or with other classes are PADA_EINVAL. A device keeps
 * them: they stay open as long as the net. */
PADA_API pada_status pada_net_evaluate(pada_net *net, const pada_path *path,
                                       const pada_images *images, int limit, pada_evaluation *out);

/* The same for one batch in memory: pixels as pada_images_read gives them, n at most batch_size.
 * Gets the scores of the classes, logits [n, classes]. */
PADA_API pada_status pada_net_predict(pada_net *net, const pada_path *path, const float *pixels,
                                      int n, float *logits);

/* Many networks as `pada rank` evaluates them, each in its canonical form, and equal forms once: out [n], in the order
 * of `paths`. order [n], unless NULL, gets their numbers, best first: by top1, then by loss, then in their order. The
 * observer may be NULL; stopped or failed, nothing is written. */
PADA_API pada_status pada_net_rank(pada_net *net, const pada_path *paths, int n,
                                   const pada_images *images, int limit,
                                   const pada_observer *observer, pada_evaluation *out, int *order);

/* A search. Zero means the default for every field. */
typedef struct pada_search_config {
    const char *algorithm; /* "evolution", "random" or "pareto"; NULL: evolution */
    uint64_t seed;
    int limit;                                          /* only the first so many images; 0: all */
    int64_t min_macs, max_macs, min_params, max_params; /* inclusive; 0: none */
    /* Further options of `pada search` that belong to an algorithm, such as {"--population=20", NULL}; NULL: none */
    const char *const *flags;
} pada_search_config;

/* A network that a search found. */
typedef struct pada_network {
    pada_path path;
    double top1; /* percent */
    double loss;
    int64_t macs, params; /* as pada_path_costs */
} pada_network;

/* Searches the networks of a net, as `pada search` does, for those that do best on images: out [*n], best first, at most
 * `room`. The same arguments find the same networks. Limits that no network keeps are PADA_EINVAL. config and observer
 * may be NULL; stopped or failed, nothing is written. */
PADA_API pada_status pada_net_search(pada_net *net, const pada_images *images,
                                     const pada_search_config *config,
                                     const pada_observer *observer, pada_network *out, int room,
                                     int *n);

/* ---- trained networks ---- */

typedef struct pada_model pada_model;

/* Opens a network that was trained alone: a model file of pada, or the run folder of `pada retrain`. A supernet is
 * PADA_EINVAL. config may be NULL; a batch size of 0 is 64, and only a matter of memory and speed. */
PADA_API pada_status pada_model_open(pada_model **out, const char *where,
                                     const pada_net_config *config);
PADA_API void pada_model_close(pada_model *model);

PADA_API int pada_model_classes(const pada_model *model);
/* The name of a class; NULL: there is no such class, or classes have no names. Valid as long as the model. */
PADA_API const char *pada_model_class_name(const pada_model *model, int class_number);
PADA_API int pada_model_image_size(
    const pada_model *model); /* rows = columns that the network reads */
/* What it is, in the canonical dialect of its space; name of the space. Valid as long as the model. */
PADA_API const char *pada_model_arch(const pada_model *model);
PADA_API const char *pada_model_space(const pada_model *model);

/* The probabilities [n, classes] of n pictures in memory, rgb [n, height, width, 3]. They may have any size: pictures are
 * scaled and normalised as in the evaluation of the network. Any n: they are run in batches. */
PADA_API pada_status pada_model_predict(pada_model *model, const uint8_t *rgb, int n, int width,
                                        int height, float *probabilities);
/* The same of a picture file, [classes], as `pada predict` reads it. What is no picture is PADA_EDATA. */
PADA_API pada_status pada_model_predict_file(pada_model *model, const char *path,
                                             float *probabilities);

/* What it gets on the first `limit` images (0: all). They must have its classes, its size, and its normalisation, as those of
 * pada_run_images have; others are PADA_EDATA or PADA_EINVAL. */
PADA_API pada_status pada_model_evaluate(pada_model *model, const pada_images *images, int limit,
                                         pada_evaluation *out);

/* Zero means the default for every field. */
typedef struct pada_export_config {
    int keep_norms;   /* not 0: batch norms are not multiplied into the convolutions before them */
    int normalise;    /* not 0: the network takes pixels / 255 and normalises them itself */
    const char *name; /* of the network in C and Python, an identifier; NULL: of the file */
    const char
        *weights_file; /* weights of "c" and "torch" go there; NULL: as `pada export` has it */
} pada_export_config;

/* Writes the network for other programs, "onnx", "torch", "c" or "safetensors", as `pada export` does; an existing
 * file is replaced. config may be NULL. */
PADA_API pada_status pada_model_export(pada_model *model, const char *format, const char *path,
                                       const pada_export_config *config);

/* ---- training ---- */

/* `pada train` and `pada retrain`: a supernet, and one network alone, in a run folder, which is made or, if it is there,
 * continued. Options are those of the commands, as flags: {"--method=spos", "--epochs=20", NULL}; NULL: none. --out is
 * `run`; --json and --events, about what commands show, are not here. Stopped by the observer or --max-seconds, the run
 * has a checkpoint, and the same call continues it: PADA_ESTOPPED. A run that somebody else is at is PADA_EINVAL. The
 * observer may be NULL. Decoded images of folders are not kept for the next time, as the commands do.
 *
 * What they make is in the run: weights for pada_net_load, models for pada_model_open. */
PADA_API pada_status pada_run_train(const char *run, const char *const *flags,
                                    const pada_observer *observer);
PADA_API pada_status pada_run_retrain(const char *run, const char *const *flags,
                                      const pada_observer *observer);

/* The newest weights of a run, for pada_net_load; a run without any is PADA_ENOENT, one with several supernets
 * PADA_EUNSUPPORTED. A buffer that is too small is PADA_EINVAL and stays as it was. */
PADA_API pada_status pada_run_weights(const char *run, char *buffer, size_t bytes);
/* The space of the supernet of a run, with its sizes. The run of `pada retrain` is PADA_EINVAL. */
PADA_API pada_status pada_run_space(pada_space **out, const char *run);
/* Images of the data set that a run was trained on, read and normalised as its own. split NULL: those that networks are
 * chosen on, val, or test where there is none. Images that are gone are PADA_ENOENT, other classes PADA_EDATA. */
PADA_API pada_status pada_run_images(pada_images **out, const char *run, const pada_split *split);

#ifdef __cplusplus
}
#endif
#endif
