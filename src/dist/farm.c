/* farm.c - tasks that are handed out: taking, keeping, stopping, failing. The letters are in farm_letters.c. */
#include "dist/farm.h"

#include <string.h>

#include "base/mem.h"
#include "dist/farm_state.h"

/* ---- queues ---- */

pada_status pada__farm_push(pada__farm_queue *queue, const void *item)
{
    char *items = queue->items;

    if (queue->first > 0 && queue->first + queue->n == queue->cap) {
        memmove(items, items + (size_t)queue->first * queue->item_bytes,
                (size_t)queue->n * queue->item_bytes);
        queue->first = 0;
    }
    PADA_TRY(pada_grow(&queue->items, &queue->cap, queue->first + queue->n + 1, queue->item_bytes));
    items = queue->items;
    memcpy(items + (size_t)(queue->first + queue->n++) * queue->item_bytes, item,
           queue->item_bytes);
    return PADA_OK;
}

bool pada__farm_pop(pada__farm_queue *queue, void *item)
{
    if (queue->n == 0) return false;
    memcpy(item, (char *)queue->items + (size_t)queue->first * queue->item_bytes,
           queue->item_bytes);
    queue->first = --queue->n > 0 ? queue->first + 1 : 0;
    return true;
}

/* ---- failing ---- */

void pada__farm_note(pada_farm *f, pada_status st)
{
    f->stop = 1;
    pthread_cond_broadcast(&f->changed);
    if (f->failure.number != PADA_OK) return;
    f->failure.number = (int)st;
    memcpy(f->failure.text, pada_message(), sizeof f->failure.text);
}

pada_status pada__farm_failed(const pada_farm *f)
{
    if (f->failure.number == PADA_OK) return PADA_OK;
    return PADA_FAIL((pada_status)f->failure.number, "%s", f->failure.text);
}

/* Has the thread send a letter of two parts to process 0. The lock is held. */
static void post(pada_farm *f, pada__farm_tag tag, const void *data, size_t bytes, const void *more,
                 size_t more_bytes)
{
    pada__farm_letter letter = {.tag = tag, .bytes = bytes + more_bytes};
    pada_status st = pada_calloc(&letter.data, 1, letter.bytes);

    if (st == PADA_OK) {
        memcpy(letter.data, data, bytes);
        if (more) memcpy((char *)letter.data + bytes, more, more_bytes);
        st = pada__farm_push(&f->letters, &letter);
        if (st != PADA_OK) pada_free(letter.data);
    }
    if (st !=
        PADA_OK) { /* nothing can be said any more, not even this: the team hears it at its end */
        pada__farm_note(f, st);
        f->is_lost = true;
    }
    pthread_cond_broadcast(&f->changed);
}

pada_status pada_farm_fail(pada_farm *f, pada_status st)
{
    PADA_ASSERT(st != PADA_OK);
    /* In the words that process 0 will use, since either may be heard when the team ends. */
    if (f->rank > 0) (void)PADA_FAIL(st, "process %d of %d: %s", f->rank, f->size, pada_message());
    pthread_mutex_lock(&f->lock);
    const bool is_first = f->failure.number == PADA_OK;
    pada__farm_note(f, st);
    if (is_first && f->rank > 0) post(f, PADA__FARM_FAIL, &f->failure, sizeof f->failure, NULL, 0);
    pthread_mutex_unlock(&f->lock);
    return st;
}

/* ---- opening and closing ---- */

static size_t largest_letter(const pada_farm_desc *desc)
{
    const size_t result = desc->task_bytes + desc->result_bytes, words = sizeof(pada__farm_words);

    return result > words ? result : words;
}

static pada_status make_room(pada_farm *f)
{
    void *mem;

    f->letter_bytes = largest_letter(&f->desc);
    PADA_TRY(pada_calloc(&f->letter, 1, f->letter_bytes));
    PADA_TRY(pada_calloc(&mem, (size_t)f->size, sizeof *f->n_asked));
    f->n_asked = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)f->size, sizeof *f->n_out));
    f->n_out = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)f->size, sizeof *f->heard));
    f->heard = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)f->size, sizeof *f->n_pings));
    f->n_pings = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)f->size, sizeof *f->is_dead));
    f->is_dead = mem;
    /* the owner in front, the task behind it, both where structs may stand */
    f->away_bytes = sizeof(double) +
                    (f->desc.task_bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    return PADA_OK;
}

static void give_back(pada_farm *f)
{
    pada__farm_letter letter;

    while (pada__farm_pop(&f->letters, &letter))
        pada_free(letter.data);
    pada_free(f->letters.items);
    pada_free(f->tasks.items);
    pada_free(f->letter);
    pada_free(f->n_asked);
    pada_free(f->n_out);
    pada_free(f->heard);
    pada_free(f->n_pings);
    pada_free(f->is_dead);
    pada_free(f->away);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    pada_free(f);
}

pada_status pada_farm_open(pada_farm **out, const pada_farm_desc *desc)
{
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_farm *f = mem;
    f->desc = *desc;
    f->rank = pada_team_rank(desc->team);
    f->size = pada_team_size(desc->team);
    f->tasks.item_bytes = desc->task_bytes;
    f->letters.item_bytes = sizeof(pada__farm_letter);
    pthread_mutex_init(&f->lock, NULL); /* these fail for attributes only */
    pthread_cond_init(&f->changed, NULL);
    pada_status st = f->size > 1 ? make_room(f) : PADA_OK;
    if (st == PADA_OK && f->size > 1) {
        const int error = pthread_create(&f->thread, NULL, pada__farm_serve, f);
        f->has_thread = error == 0;
        if (error) st = PADA_FAIL(PADA_ENOMEM, "a thread for letters: %s", strerror(error));
    }
    if (st != PADA_OK) {
        give_back(f);
        return st;
    }
    *out = f;
    return PADA_OK;
}

pada_status pada_farm_close(pada_farm *f)
{
    if (!f) return PADA_OK;
    pthread_mutex_lock(&f->lock);
    f->is_closing = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    if (f->has_thread) pthread_join(f->thread, NULL);
    const pada_status st = pada__farm_failed(f);
    give_back(f);
    return st;
}

/* ---- process 0 ---- */

void pada_farm_begin(pada_farm *f, const pada_farm_source *source)
{
    PADA_ASSERT(f->rank == 0);
    pthread_mutex_lock(&f->lock);
    f->source = source;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

pada_status pada_farm_end(pada_farm *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->n_away > 0 && !f->is_lost)
        pthread_cond_wait(&f->changed, &f->lock);
    f->source = NULL;
    const pada_status st = pada__farm_failed(f);
    pthread_mutex_unlock(&f->lock);
    return st;
}

pada_status pada__farm_give(pada_farm *f, const void *task, const void *result)
{
    if (!f->source || f->cannot_keep) return PADA_OK; /* nothing behind what may be half a line */
    const pada_status st = f->source->keep(f->source->user, task, result);
    if (st == PADA_OK) return PADA_OK;
    f->cannot_keep = true;
    pada__farm_note(f, st);
    return st;
}

/* ---- work ---- */

/* As long as tasks are away they may come back. */
static bool take_own(pada_farm *f, void *task)
{
    for (;;) {
        if (f->failure.number != PADA_OK || f->is_lost || !f->source) return false;
        if (f->source->take(f->source->user, task)) return true;
        if (f->n_away == 0) return false;
        pthread_cond_wait(&f->changed, &f->lock);
    }
}

static bool take_sent(pada_farm *f, void *task)
{
    f->n_waiting++;
    pthread_cond_broadcast(&f->changed);
    while (f->tasks.n == 0 && !f->is_over && !f->is_lost && !f->stop)
        pthread_cond_wait(&f->changed, &f->lock);
    f->n_waiting--;
    return !f->stop && !f->is_lost && pada__farm_pop(&f->tasks, task);
}

bool pada_farm_take(pada_farm *f, void *task)
{
    pthread_mutex_lock(&f->lock);
    const bool has_one = f->rank == 0 ? take_own(f, task) : take_sent(f, task);
    pthread_mutex_unlock(&f->lock);
    return has_one;
}

pada_status pada_farm_keep(pada_farm *f, const void *task, const void *result)
{
    pada_status st = PADA_OK;

    pthread_mutex_lock(&f->lock);
    if (f->rank == 0)
        st = pada__farm_give(f, task, result);
    else
        post(f, PADA__FARM_RESULT, task, f->desc.task_bytes, result, f->desc.result_bytes);
    pthread_mutex_unlock(&f->lock);
    return st;
}

void pada_farm_put_back(pada_farm *f, const void *task)
{
    pthread_mutex_lock(&f->lock);
    if (f->rank > 0)
        post(f, PADA__FARM_BACK, task, f->desc.task_bytes, NULL, 0);
    else if (f->source)
        f->source->put_back(f->source->user, task);
    pthread_mutex_unlock(&f->lock);
}

/* ---- what is said ---- */

const volatile sig_atomic_t *pada_farm_stop(const pada_farm *f)
{
    return !f->has_thread && f->desc.stop ? f->desc.stop : &f->stop;
}

bool pada_farm_leads(const pada_farm *f)
{
    return f->rank == 0;
}

void pada_farm_say(pada_farm *f, int kind, const char *text)
{
    pada__farm_words words = {.number = kind};

    pthread_mutex_lock(&f->lock);
    (void)strncat(words.text, text, sizeof words.text - 1);
    if (f->rank > 0)
        post(f, PADA__FARM_SAY, &words, sizeof words, NULL, 0);
    else if (f->desc.hear)
        f->desc.hear(f->desc.user, kind, words.text);
    pthread_mutex_unlock(&f->lock);
}
