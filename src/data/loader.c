/* loader.c - the batches of an epoch, made ahead of time by threads.
 *
 * Batch b of the epoch lives in slot b % N_SLOTS:
 *
 *   0 ......... given ....... made ........ taken ........ end
 *     read by the  | ready      | being made  |  not begun
 *     caller       |            | by threads
 *
 * Threads take the images of an epoch in their order, a chunk at a time, and finish them in any.
 *
 * Invariants, whenever the lock is free
 *   1. given - 1 is the batch that the caller is reading; `kept` is the first one still in use, so
 *      that kept <= given <= made and made - kept <= N_SLOTS; made <= end but during a begin.
 *   2. A thread writes the images that it has taken, and only while it is counted in n_busy; nobody
 *      else writes slots. Taken images are in batches before kept + N_SLOTS.
 *   3. While n_busy > 0, the epoch does not change: begin waits. So threads read the epoch and the
 *      slots without the lock.
 *   4. After a failure nothing is taken any more. What comes before it in the epoch was taken before
 *      it, so once n_busy is 0 the failure kept is the first one of the epoch, whatever the threads
 *      did, and all batches before it are made. */
#include "data/loader.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "data/batch_maker.h"

#define N_SLOTS     3 /* one that is read, one ready, one being made */
#define MAX_THREADS 256

typedef struct epoch {
    int number;
    const int32_t *order; /* [n_images], borrowed */
    int n_images;
} epoch;

/* The first image of the epoch that could not be made. */
typedef struct failure {
    pada_status status; /* PADA_OK: there is none */
    int position;
    char message[PADA_MESSAGE_BYTES];
} failure;

struct pada_loader {
    pada_loader_desc desc;
    int chunk; /* images that a thread takes at a time */
    pada_batch_maker slots[N_SLOTS];
    pthread_t threads[MAX_THREADS];
    int n_threads;

    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t work;  /* to the threads: there may be something to do */
    pthread_cond_t done;  /* from the threads: a chunk is made, or has failed */
    epoch epoch;
    int kept, given, made, end; /* batches, counted from the beginning of the epoch */
    int taken;                  /* images, counted the same way */
    int n_made[N_SLOTS];        /* images of the batch in the slot */
    int n_busy;
    failure failure;
    bool stop;
};

/* Images of batch b. */
static int batch_count(const pada_loader *l, int b)
{
    const int left = l->epoch.n_images - b * l->desc.batch_size;

    return left < l->desc.batch_size ? left : l->desc.batch_size;
}

/* The image, in the split, at a position of the epoch. */
static int32_t image_at(const pada_loader *l, int position)
{
    const int32_t number = l->epoch.order[position];

    return l->desc.images ? l->desc.images[number] : number;
}

/* n images from a position of the epoch on, all of one batch. */
static pada_status make_images(const pada_loader *l, int first, int n)
{
    const pada_loader_desc *d = &l->desc;
    const pada_batch_maker *to = &l->slots[first / d->batch_size % N_SLOTS];
    const int count = batch_count(l, first / d->batch_size);
    int read_from = 0, read_to = count;

    if (d->share) d->share(d->reader, count, &read_from, &read_to);
    for (int position = first; position < first + n; position++) {
        const pada_draw draw = {
            .seed = d->seed, .epoch = l->epoch.number, .position = position, .changes = d->changes};
        const int i = position % d->batch_size, image = image_at(l, position);
        if (i >= read_from && i < read_to)
            PADA_TRY(pada_batch_maker_put(to, i, image, d->augment ? &draw : NULL));
        else
            pada_batch_maker_put_label(to, i, image);
    }
    return PADA_OK;
}

/* How many images from `taken` on may be taken now. */
static int count_free(const pada_loader *l)
{
    const int b = l->taken / l->desc.batch_size;

    if (l->failure.status != PADA_OK || b >= l->end || b - l->kept >= N_SLOTS) return 0;
    const int left = b * l->desc.batch_size + batch_count(l, b) - l->taken;
    return left < l->chunk ? left : l->chunk;
}

/* After images from `first` on were made or not. */
static void settle(pada_loader *l, pada_status status, int first, int n, const char *message)
{
    l->n_busy--;
    if (status != PADA_OK) {
        if (l->failure.status != PADA_OK && l->failure.position < first) return;
        l->failure = (failure){.status = status, .position = first};
        snprintf(l->failure.message, sizeof l->failure.message, "%s", message);
        return;
    }
    l->n_made[first / l->desc.batch_size % N_SLOTS] += n;
    while (l->made < l->end && l->n_made[l->made % N_SLOTS] == batch_count(l, l->made))
        l->n_made[l->made++ % N_SLOTS] = 0;
}

/* A thread. */
static void *make_batches(void *loader)
{
    pada_loader *l = loader;

    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        const int first = l->taken, n = count_free(l);
        if (n == 0) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        l->taken += n;
        l->n_busy++;
        pthread_mutex_unlock(&l->lock);
        const pada_status st = make_images(l, first, n);
        pthread_mutex_lock(&l->lock);
        settle(l, st, first, n, st == PADA_OK ? "" : pada_message());
        pthread_cond_broadcast(&l->done);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static pada_status make_slots(pada_loader *l)
{
    const pada_loader_desc *d = &l->desc;

    for (int i = 0; i < N_SLOTS; i++)
        PADA_TRY(pada_batch_maker_init(&l->slots[i], d->data, d->split, d->held, d->batch_size));
    return PADA_OK;
}

/* Whether images have to be decoded for every batch, or are changed by more than moving and clearing pixels. */
static bool is_slow(const pada_loader_desc *d)
{
    return d->data->n_on_demand[d->split] > 0 ||
           (d->augment && !pada_changes_fit_picks(&d->changes));
}

/* Copying bytes is work for one thread; the rest for many. With all signals blocked, so that they reach
 * the threads that know what to do about them. */
static pada_status start_threads(pada_loader *l)
{
    const int wanted = l->desc.n_threads > 0 ? l->desc.n_threads : pada_threads_default();
    const int n = !is_slow(&l->desc) ? 1 : wanted < MAX_THREADS ? wanted : MAX_THREADS;
    sigset_t all, before;
    int error = 0;

    l->chunk = is_slow(&l->desc) ? 1 : l->desc.batch_size;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (l->n_threads < n && error == 0) {
        error = pthread_create(&l->threads[l->n_threads], NULL, make_batches, l);
        l->n_threads += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return PADA_FAIL(PADA_ENOMEM, "out of memory (thread of a loader: %s)", strerror(error));
    return PADA_OK;
}

static pada_status check_desc(const pada_loader_desc *d)
{
    const int n_images = d->data->n_images[d->split];

    if (n_images < 1)
        return PADA_FAIL(PADA_EINVAL, "%s has no %s images", d->data->name,
                         pada_split_name(d->split));
    if (d->batch_size < 1)
        return PADA_FAIL(PADA_EINVAL, "batch size %d is not positive", d->batch_size);
    if (d->batch_size > n_images)
        return PADA_FAIL(PADA_EINVAL, "batch size %d is larger than the %d %s images of %s",
                         d->batch_size, n_images, pada_split_name(d->split), d->data->name);
    return pada_changes_check(&d->changes, d->data);
}

pada_status pada_loader_create(pada_loader **out, const pada_loader_desc *desc)
{
    void *memory;
    pada_status st;

    *out = NULL;
    PADA_TRY(check_desc(desc));
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_loader *l = memory;
    l->desc = *desc;
    /* These three only fail for attributes, and there are none. */
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    if ((st = make_slots(l)) != PADA_OK || (st = start_threads(l)) != PADA_OK) {
        pada_loader_destroy(l);
        return st;
    }
    *out = l;
    return PADA_OK;
}

static void stop_threads(pada_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
}

void pada_loader_destroy(pada_loader *l)
{
    if (!l) return;
    stop_threads(l);
    pthread_cond_destroy(&l->done);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    for (int i = 0; i < N_SLOTS; i++)
        pada_batch_maker_deinit(&l->slots[i]);
    pada_free(l);
}

int pada_loader_n_threads(const pada_loader *l)
{
    return l->n_threads;
}

static pada_status check_epoch(const pada_loader *l, int number, const int32_t *order, int n,
                               int first)
{
    const int batch_size = l->desc.batch_size;

    PADA_ASSERT(number >= 0);
    if (n < 1) return PADA_FAIL(PADA_EINVAL, "epoch %d has %d images", number, n);
    /* A batch size is at most an int, but its next multiple may be more. */
    if (first < 0 || first % batch_size != 0 || (int64_t)first >= (int64_t)n + batch_size)
        return PADA_FAIL(
            PADA_EINVAL,
            "epoch %d cannot begin at image %d: not a multiple of the batch size %d within %d",
            number, first, batch_size, n);
    for (int i = first; i < n; i++)
        PADA_ASSERT(order[i] >= 0 && order[i] < l->desc.data->n_images[l->desc.split]);
    return PADA_OK;
}

pada_status pada_loader_begin(pada_loader *l, int number, const int32_t *order, int n, int first)
{
    const int batch_size = l->desc.batch_size;

    PADA_TRY(check_epoch(l, number, order, n, first));
    pthread_mutex_lock(&l->lock);
    l->end = 0; /* threads finish what they have and take nothing else */
    while (l->n_busy > 0)
        pthread_cond_wait(&l->done, &l->lock);
    l->epoch = (epoch){.number = number, .order = order, .n_images = n};
    l->kept = l->given = l->made = first / batch_size;
    l->taken = first;
    memset(l->n_made, 0, sizeof l->n_made);
    l->failure = (failure){0};
    l->end = n / batch_size + (n % batch_size != 0);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return PADA_OK;
}

/* Whether the caller has to wait for the batch `given`. */
static bool is_coming(const pada_loader *l)
{
    const bool has_failed = l->failure.status != PADA_OK && l->n_busy == 0;

    return l->made == l->given && l->given < l->end && !has_failed;
}

pada_status pada_loader_next(pada_loader *l, pada_draws *draws)
{
    pada_status st = PADA_OK;

    *draws = (pada_draws){0};
    pthread_mutex_lock(&l->lock);
    l->kept = l->given; /* the caller has read the batch before */
    pthread_cond_broadcast(&l->work);
    while (is_coming(l))
        pthread_cond_wait(&l->done, &l->lock);
    const int b = l->given;
    const int n = b < l->made ? batch_count(l, b) : 0;
    l->given += n > 0;
    if (n == 0 && b < l->end) st = PADA_FAIL(l->failure.status, "%s", l->failure.message);
    pthread_mutex_unlock(&l->lock);

    if (n == 0) return st;
    draws->first = b * l->desc.batch_size;
    draws->batch = pada_batch_maker_batch(&l->slots[b % N_SLOTS], n);
    draws->indices = l->epoch.order + draws->first;
    return PADA_OK;
}
