/* pada.h - the public interface of libpada: search spaces, supernets and what their networks score.
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
 * who closes it; NULL may be closed. Threads may share a handle: calls for one net wait for each other.
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

/* Reads an architecture in a dialect of the space, as `pada arch --from` does; NULL: any that is not
 * ambiguous. What is not one architecture from beginning to end is PADA_EINVAL. */
PADA_API pada_status pada_path_parse(const pada_space *space, const char *text, const char *dialect,
                                     pada_path *out);
/* Writes it, terminated, in a dialect; NULL: the first of the space. A buffer that is too small is
 * PADA_EINVAL and stays as it was. */
PADA_API pada_status pada_path_format(const pada_space *space, const pada_path *path,
                                      const char *dialect, char *buffer, size_t bytes);

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

#ifdef __cplusplus
}
#endif
#endif
