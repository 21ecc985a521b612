/* loader.c - the batches of an epoch, made ahead of time by a thread.
 *
 * Batch b of the epoch lives in slot b % N_SLOTS:
 *
 *   0 ......... given ....... made ...... made + 1 ........ end
 *     read by the  | ready      | being made |  not begun
 *     caller       |            | by the thread
 *
 * Invariants, whenever the lock is free
 *   1. given - 1 is the batch that the caller is reading; `kept` is the first one still in use, so
 *      that kept <= given <= made and made - kept <= N_SLOTS; made <= end but during a begin.
 *   2. The thread writes slot made % N_SLOTS, and only while `busy`; nobody else writes slots.
 *   3. While `busy`, the epoch does not change: begin waits. So the thread reads the epoch and the
 *      slot without the lock. */
#include "data/loader.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "data/batch_maker.h"

#define N_SLOTS 3 /* one that is read, one ready, one being made */

typedef struct epoch {
    int number;
    const int32_t *order; /* [n_images], borrowed */
    int n_images;
} epoch;

struct pada_loader {
    pada_loader_desc desc;
    pada_batch_maker slots[N_SLOTS];
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t work;  /* to the thread: there may be something to do */
    pthread_cond_t done;  /* from the thread: a batch is made */
    epoch epoch;
    int kept, given, made, end; /* batches, counted from the beginning of the epoch */
    bool busy, stop;
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

static void make_batch(const pada_loader *l, int b)
{
    const pada_loader_desc *d = &l->desc;
    const pada_batch_maker *to = &l->slots[b % N_SLOTS];
    const int first = b * d->batch_size, n = batch_count(l, b);

    for (int i = 0; i < n; i++) {
        pada_augmentation how;
        if (d->augment) how = pada_augment_draw(d->data, d->seed, l->epoch.number, first + i);
        pada_batch_maker_put(to, i, image_at(l, first + i), d->augment ? &how : NULL);
    }
}

/* The thread. */
static void *make_batches(void *loader)
{
    pada_loader *l = loader;

    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (l->made >= l->end || l->made - l->kept == N_SLOTS) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        const int b = l->made;
        l->busy = true;
        pthread_mutex_unlock(&l->lock);
        make_batch(l, b);
        pthread_mutex_lock(&l->lock);
        l->busy = false;
        l->made++;
        pthread_cond_signal(&l->done);
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

/* With all signals blocked, so that they reach the threads that know what to do about them. */
static pada_status start_thread(pada_loader *l)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&l->thread, NULL, make_batches, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return PADA_FAIL(PADA_ENOMEM, "out of memory (thread of a loader: %s)", strerror(error));
    l->has_thread = true;
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
    return PADA_OK;
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
    if ((st = make_slots(l)) != PADA_OK || (st = start_thread(l)) != PADA_OK) {
        pada_loader_destroy(l);
        return st;
    }
    *out = l;
    return PADA_OK;
}

static void stop_thread(pada_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
}

void pada_loader_destroy(pada_loader *l)
{
    if (!l) return;
    if (l->has_thread) stop_thread(l);
    pthread_cond_destroy(&l->done);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    for (int i = 0; i < N_SLOTS; i++)
        pada_batch_maker_deinit(&l->slots[i]);
    pada_free(l);
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
    l->end = 0; /* the thread finishes its batch and begins no other */
    while (l->busy)
        pthread_cond_wait(&l->done, &l->lock);
    l->epoch = (epoch){.number = number, .order = order, .n_images = n};
    l->kept = l->given = l->made = first / batch_size;
    l->end = n / batch_size + (n % batch_size != 0);
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    return PADA_OK;
}

void pada_loader_next(pada_loader *l, pada_draws *draws)
{
    *draws = (pada_draws){0};
    pthread_mutex_lock(&l->lock);
    l->kept = l->given; /* the caller has read the batch before */
    pthread_cond_signal(&l->work);
    while (l->made == l->given && l->given < l->end)
        pthread_cond_wait(&l->done, &l->lock);
    const int b = l->given;
    const int n = b < l->end ? batch_count(l, b) : 0;
    l->given += n > 0;
    pthread_mutex_unlock(&l->lock);

    if (n == 0) return;
    draws->first = b * l->desc.batch_size;
    draws->batch = pada_batch_maker_batch(&l->slots[b % N_SLOTS], n);
    draws->indices = l->epoch.order + draws->first;
}
