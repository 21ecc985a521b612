/* farm_letters.c - the thread of a farm: what the letters between process 0 and the others say, and what becomes of it.
 *
 * The others ask for as many tasks as they have room for and get them when there are some; results go back as they
 * come. Goodbyes are said when everything else has arrived, so that no letter is left when the team goes on. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dist/farm_state.h"
#include "dist/team_state.h"

#define PAUSE_NS     500000 /* between two looks at the letters */
#define LOOK_SECONDS 0.2    /* between two looks at who lives */

static pada_status send(pada_farm *f, int to, pada__farm_tag tag, const void *data, size_t bytes)
{
    return pada_team_send(f->desc.team, to, (int)tag, data, bytes);
}

/* The same to everybody else. */
static pada_status send_all(pada_farm *f, pada__farm_tag tag)
{
    for (int to = 0; to < f->size; to++)
        if (to != f->rank && !f->is_dead[to]) PADA_TRY(send(f, to, tag, NULL, 0));
    return PADA_OK;
}

/* Whether it is time to see who lives. */
static bool look_around(pada_farm *f)
{
    const double now = pada_clock_seconds();

    if (now - f->looked < LOOK_SECONDS) return false;
    f->looked = now;
    return true;
}

/* ---- process 0 ---- */

/* A task that is away: the number of the process, and the task behind it. */
static char *away(const pada_farm *f, int i)
{
    return (char *)f->away + (size_t)i * f->away_bytes;
}

static int *owner_of(const pada_farm *f, int i)
{
    return (int *)away(f, i);
}

static void *task_of(const pada_farm *f, int i)
{
    return away(f, i) + sizeof(double);
}

static pada_status remember(pada_farm *f, int to, const void *task)
{
    PADA_TRY(pada_grow(&f->away, &f->cap_away, f->n_away + 1, f->away_bytes));
    *owner_of(f, f->n_away) = to;
    memcpy(task_of(f, f->n_away), task, f->desc.task_bytes);
    f->n_away++;
    f->n_out[to]++;
    return PADA_OK;
}

static void forget(pada_farm *f, int i)
{
    f->n_out[*owner_of(f, i)]--;
    memmove(away(f, i), away(f, --f->n_away), f->away_bytes);
    pthread_cond_broadcast(&f->changed);
}

/* A task of a process is done, or is put back. Of one that has failed they are forgotten already. */
static void settle(pada_farm *f, int from, const void *task)
{
    for (int i = 0; i < f->n_away; i++)
        if (*owner_of(f, i) == from && memcmp(task_of(f, i), task, f->desc.task_bytes) == 0) {
            forget(f, i);
            return;
        }
}

/* The tasks of a process that will never be done by it; others get them, if it has died. */
static void settle_all(pada_farm *f, int from, bool by_others)
{
    for (int i = f->n_away - 1; i >= 0; i--) {
        if (*owner_of(f, i) != from) continue;
        if (by_others && f->source) f->source->put_back(f->source->user, task_of(f, i));
        forget(f, i);
    }
}

static void take_failure(pada_farm *f, int from)
{
    pada__farm_words *words = f->letter;

    words->text[sizeof words->text - 1] = '\0';
    if (words->number <= PADA_OK) words->number = PADA_EIO;
    pada__farm_note(f, PADA_FAIL((pada_status)words->number, "%s", words->text));
    settle_all(f, from, false);
}

static void hear(pada_farm *f)
{
    pada__farm_words *words = f->letter;

    words->text[sizeof words->text - 1] = '\0';
    if (f->desc.hear) f->desc.hear(f->desc.user, words->number, words->text);
}

static void read_as_first(pada_farm *f, int from, pada__farm_tag tag)
{
    const char *letter = f->letter;

    if (f->is_dead[from]) return; /* others do it */
    f->heard[from] = pada_clock_seconds();
    f->n_pings[from] = 0;
    switch (tag) {
    case PADA__FARM_ASK: f->n_asked[from]++; break;
    case PADA__FARM_RESULT:
        (void)pada__farm_give(f, letter, letter + f->desc.task_bytes); /* noted */
        settle(f, from, letter);
        break;
    case PADA__FARM_BACK:
        if (f->source) f->source->put_back(f->source->user, letter);
        settle(f, from, letter);
        break;
    case PADA__FARM_FAIL: take_failure(f, from); break;
    case PADA__FARM_SAY: hear(f); break;
    case PADA__FARM_STOP: f->stop = 1; break;
    case PADA__FARM_BYE: f->n_gone++; break;
    case PADA__FARM_PONG: break;
    case PADA__FARM_PING:
    case PADA__FARM_TASK:
    case PADA__FARM_END: break; /* nobody else sends these */
    }
}

/* Gives every process that asks a task, in turns, as long as there are some. */
static pada_status hand_out(pada_farm *f)
{
    bool has_given = true;

    while (has_given) {
        has_given = false;
        for (int to = 1; to < f->size; to++) {
            if (f->stop || !f->source || f->n_asked[to] == 0) continue;
            if (!f->source->take(f->source->user, f->letter)) return PADA_OK;
            f->n_asked[to]--;
            PADA_TRY(remember(f, to, f->letter));
            PADA_TRY(send(f, to, PADA__FARM_TASK, f->letter, f->desc.task_bytes));
            has_given = true;
        }
    }
    return PADA_OK;
}

/* Goes on without those that have died. */
static void bury(pada_farm *f)
{
    char text[120];

    for (int k = 1; k < f->size; k++) {
        if (f->is_dead[k] || !pada__team_has_died(f->desc.team, k)) continue;
        pada__team_lose(f->desc.team, k);
        f->is_dead[k] = true;
        f->n_gone++;
        f->n_asked[k] = 0;
        snprintf(text, sizeof text, "process %d of %d has died; others do what it was doing", k,
                 f->size);
        pada__team_say(f->desc.team, text);
        settle_all(f, k, true);
    }
}

/* Asks those that have tasks and say nothing whether they are there, and tells people of who does not answer. */
static pada_status watch(pada_farm *f)
{
    const double now = pada_clock_seconds(), patience = pada__team_patience(f->desc.team);

    for (int k = 1; k < f->size && patience > 0; k++) {
        if (f->n_out[k] == 0) {
            f->heard[k] = now;
            f->n_pings[k] = 0;
        }
        if (f->n_pings[k] == 2 || now - f->heard[k] < (f->n_pings[k] + 1) * patience) continue;
        if (f->n_pings[k]++ == 0)
            PADA_TRY(send(f, k, PADA__FARM_PING, NULL, 0));
        else
            pada__team_say_silent(f->desc.team, k);
    }
    return PADA_OK;
}

static pada_status lead(pada_farm *f)
{
    if (look_around(f)) bury(f);
    PADA_TRY(watch(f));
    if (f->stop && !f->said_stop) {
        f->said_stop = true;
        PADA_TRY(send_all(f, PADA__FARM_STOP));
    }
    PADA_TRY(hand_out(f));
    if (f->is_closing && !f->said_end) {
        f->said_end = true;
        PADA_TRY(send_all(f, PADA__FARM_END));
    }
    f->has_left = f->said_end && f->n_gone == f->size - 1;
    return PADA_OK;
}

/* ---- the others ---- */

static pada_status read_as_other(pada_farm *f, pada__farm_tag tag)
{
    pada_status st = PADA_OK;

    switch (tag) {
    case PADA__FARM_TASK:
        f->n_wanted--;
        st = pada__farm_push(&f->tasks, f->letter);
        break;
    case PADA__FARM_STOP: f->stop = f->said_stop = 1; break;
    case PADA__FARM_PING: st = send(f, 0, PADA__FARM_PONG, NULL, 0); break;
    case PADA__FARM_END: f->is_over = true; break;
    default: break; /* nothing else comes from process 0 */
    }
    pthread_cond_broadcast(&f->changed);
    return st;
}

/* Sends what other threads have written. */
static pada_status send_letters(pada_farm *f)
{
    pada__farm_letter letter;

    while (pada__farm_pop(&f->letters, &letter)) {
        const pada_status st = send(f, 0, letter.tag, letter.data, letter.bytes);
        pada_free(letter.data);
        PADA_TRY(st);
    }
    return PADA_OK;
}

static pada_status ask(pada_farm *f)
{
    for (; f->n_wanted + f->tasks.n < f->n_waiting + f->desc.ahead; f->n_wanted++)
        PADA_TRY(send(f, 0, PADA__FARM_ASK, NULL, 0));
    return PADA_OK;
}

static pada_status follow(pada_farm *f)
{
    if (look_around(f)) PADA_TRY(pada__team_miss(f->desc.team, 0));
    if (f->stop && !f->said_stop) {
        f->said_stop = true;
        PADA_TRY(send(f, 0, PADA__FARM_STOP, NULL, 0));
    }
    while (f->stop && pada__farm_pop(&f->tasks, f->letter))
        PADA_TRY(send(f, 0, PADA__FARM_BACK, f->letter, f->desc.task_bytes));
    PADA_TRY(send_letters(f));
    if (!f->stop && !f->is_over && !f->is_closing) PADA_TRY(ask(f));
    if (!f->is_over || !f->is_closing) return PADA_OK;
    f->has_left = true;
    return send(f, 0, PADA__FARM_BYE, NULL, 0);
}

/* ---- the thread ---- */

/* Reads all letters that are there; whether there were any. */
static pada_status read_letters(pada_farm *f, bool *any)
{
    pada_message_head head;
    bool found;

    for (*any = false;; *any = true) {
        PADA_TRY(pada_team_poll(f->desc.team, &found, &head));
        if (!found) return PADA_OK;
        if (head.bytes > f->letter_bytes)
            return PADA_FAIL(PADA_EDATA, "a letter of %zu bytes from process %d: not of this farm",
                             head.bytes, head.from);
        PADA_TRY(pada_team_receive(f->desc.team, &head, f->letter));
        if (f->rank == 0)
            read_as_first(f, head.from, (pada__farm_tag)head.tag);
        else
            PADA_TRY(read_as_other(f, (pada__farm_tag)head.tag));
    }
}

static pada_status turn(pada_farm *f, bool *any)
{
    if (f->desc.stop && *f->desc.stop && !f->stop) {
        f->stop = 1;
        pthread_cond_broadcast(&f->changed);
    }
    PADA_TRY(read_letters(f, any));
    return f->rank == 0 ? lead(f) : follow(f);
}

/* Waits a little, or until another thread has something to send. */
static void pause_a_little(pada_farm *f)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&f->changed, &f->lock, &until);
}

void *pada__farm_serve(void *context)
{
    pada_farm *f = context;
    bool any;

    pthread_mutex_lock(&f->lock);
    while (!f->has_left && !f->is_lost) {
        const pada_status st = turn(f, &any);
        if (st != PADA_OK) {
            f->is_lost = true;
            pada__farm_note(f, st);
        } else if (!any && !f->has_left) {
            pause_a_little(f);
        }
    }
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}
