/* progress.c - how long commands tell where they stand, on standard error. */
#include "cli/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/job_team.h"
#include "cli/print.h"

#define LIVE_SECONDS 0.1

enum { LINE = 256 };

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value;
}

static bool has_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

void pada_meter_init(pada_meter *meter, bool quiet, bool json)
{
    *meter = (pada_meter){.mode = quiet || !pada_job_leads() ? PADA_METER_QUIET
                                  : json                     ? PADA_METER_JSON
                                  : has_terminal()           ? PADA_METER_LIVE
                                                             : PADA_METER_LINES,
                          .has_colour = has_terminal() && !is_set("NO_COLOR"),
                          .milestoned = pada_clock_seconds()};
}

bool pada_meter_is_due(const pada_meter *meter)
{
    return meter->mode == PADA_METER_LIVE && pada_clock_seconds() - meter->shown >= LIVE_SECONDS;
}

bool pada_meter_has_passed(const pada_meter *meter, double seconds)
{
    return pada_clock_seconds() - meter->milestoned >= seconds;
}

/* Columns of the terminal; a line that is longer could not be written anew. */
static int columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
}

void pada_meter_show(pada_meter *meter, bool is_milestone, const char *format, ...)
{
    const bool is_live = meter->mode == PADA_METER_LIVE;
    char line[LINE];
    va_list args;

    if (is_live ? !is_milestone && !pada_meter_is_due(meter)
                : !is_milestone || meter->mode != PADA_METER_LINES)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    meter->shown = pada_clock_seconds();
    if (is_milestone) meter->milestoned = meter->shown;
    if (is_live)
        fprintf(stderr, "\r\033[K%.*s", columns(), line);
    else
        fprintf(stderr, "%s\n", line);
    meter->is_open = is_live;
}

void pada_meter_object(pada_meter *meter, json_t *object)
{
    pada_text line = {0};

    if (meter->mode != PADA_METER_JSON) {
        json_decref(object);
        return;
    }
    meter->milestoned = pada_clock_seconds();
    pada_json_line(&line, object);
    if (line.status == PADA_OK) fputs(line.data, stderr);
    pada_text_deinit(&line);
}

void pada_meter_end(pada_meter *meter)
{
    if (meter->is_open) fputc('\n', stderr);
    meter->is_open = false;
}

void pada_meter_say(pada_meter *meter, const char *text)
{
    static const char word[] = "warning:";
    if (!pada_job_leads()) return;
    const bool is_marked = meter->has_colour && strncmp(text, word, strlen(word)) == 0;

    if (meter->is_open) fputs("\r\033[K", stderr); /* it is shown again below the message */
    meter->is_open = false;
    if (is_marked)
        fprintf(stderr, "pada: \033[33m%s\033[0m%s\n", word, text + strlen(word));
    else
        fprintf(stderr, "pada: %s\n", text);
}

const char *pada_duration(double seconds, char text[PADA_DURATION])
{
    const int64_t s = isfinite(seconds) && seconds < 1e15 ? llround(seconds) : -1;

    if (s < 0)
        snprintf(text, PADA_DURATION, "?");
    else if (s < 60)
        snprintf(text, PADA_DURATION, "%" PRId64 " s", s);
    else if (s < 3600)
        snprintf(text, PADA_DURATION, "%" PRId64 " min %02" PRId64 " s", s / 60, s % 60);
    else
        snprintf(text, PADA_DURATION, "%" PRId64 " h %02" PRId64 " min", s / 3600, s / 60 % 60);
    return text;
}

void pada_meter_show_count(pada_meter *meter, bool is_milestone, const pada_meter_count *count)
{
    const bool has_detail = count->detail && count->detail[0];
    char left[PADA_DURATION];

    pada_meter_show(meter, is_milestone, "%d of %d %s%s%s, about %s left", count->n_done,
                    count->n_total, count->what, has_detail ? ", " : "",
                    has_detail ? count->detail : "", pada_duration(count->seconds_left, left));
    if (meter->mode != PADA_METER_JSON || !is_milestone) return;
    pada_text errors = {0};
    json_t *object = json_object();
    pada_json_set(&errors, object, "progress", json_string(count->what));
    pada_json_set(&errors, object, "done", json_integer(count->n_done));
    pada_json_set(&errors, object, "total", json_integer(count->n_total));
    pada_json_set(&errors, object, "seconds_left",
                  isfinite(count->seconds_left) ? json_real(count->seconds_left) : json_null());
    pada_meter_object(meter, object);
}
