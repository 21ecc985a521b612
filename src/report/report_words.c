/* report_words.c - small things that several parts of a page write. */
#include <math.h>
#include <string.h>

#include "report/draw.h"
#include "report/html.h"
#include "report/report_parts.h"

bool pada__report_is_single(const pada__report_run *run)
{
    return run->info.arch != NULL;
}

bool pada__report_all_single(const pada__report *r)
{
    for (int i = 0; i < r->desc->n_runs; i++)
        if (!pada__report_is_single(&r->runs[i])) return false;
    return true;
}

void pada__report_begin_table(pada_text *out, const char *caption)
{
    pada_text_add(out, "<div class=\"wide\" tabindex=\"0\"><table>\n");
    if (caption) pada_text_add(out, "<caption>%s</caption>\n", caption);
}

void pada__report_end_table(pada_text *out)
{
    pada_text_add(out, "</tbody>\n</table></div>\n");
}

void pada__report_begin_more(pada_text *out, const char *summary)
{
    pada_text_add(out, "<details>\n<summary>%s</summary>\n", summary);
}

void pada__report_end_more(pada_text *out)
{
    pada_text_add(out, "</details>\n");
}

void pada__report_run_name(const pada__report *r, const pada__report_run *run, pada_text *out)
{
    if (r->desc->n_runs == 1) return;
    pada_text_add(out, "<h3>");
    pada_html_text(out, run->name);
    pada_text_add(out, "</h3>\n");
}

void pada__report_string(pada_text *out, const char *text)
{
    if (text)
        pada_html_text(out, text);
    else
        pada_text_add(out, "&#8211;");
}

void pada__report_percent(pada_text *out, double x, int decimals)
{
    pada_html_number(out, x, decimals);
    if (isfinite(x)) pada_text_add(out, "&#8239;%%");
}

void pada__report_count(pada_text *out, double count)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    int unit = 0;

    for (; count >= 999.5 && unit < 4; unit++)
        count /= 1000;
    pada_text_add(out, "%.*f%s",
                  unit == 0       ? 0
                  : count < 9.995 ? 2
                  : count < 99.95 ? 1
                                  : 0,
                  count, units[unit]);
}

void pada__report_cost(pada_text *out, double macs, double params)
{
    pada__report_count(out, macs);
    pada_text_add(out, " multiply-adds per image, ");
    pada__report_count(out, params);
    pada_text_add(out, " parameters");
}

pada_status pada__report_arch(const pada__report_run *run, const pada_path *path, pada_text *out)
{
    pada_text arch = {0};
    const pada_status st = run->space.ops->format(&run->space, path, NULL, &arch);

    pada_text_add(out, "<code>");
    pada_html_text(out, pada_text_str(&arch));
    pada_text_add(out, "</code>");
    pada_text_deinit(&arch);
    return st;
}

pada_status pada__report_drawing(const pada_space *space, const pada_path *path, pada_text *out)
{
    pada_sketch sketch;

    if (!space->ops->sketch) return PADA_OK;
    PADA_TRY(pada_sketch_path(&sketch, space, path));
    pada_text_add(out, "<div class=\"drawing\">");
    PADA_TRY(pada_draw_svg(&sketch, out));
    pada_text_add(out, "</div>\n");
    return out->status;
}

void pada__report_interval(pada_text *out, double low, double high, int decimals)
{
    if (isnan(low)) return;
    pada_text_add(out, " <span class=\"interval\">[%.*f, %.*f]</span>", decimals, low, decimals,
                  high);
}

void pada__report_epochs(const pada__report_run *run, pada_text *out)
{
    const pada_history *h = &run->history;
    const double last = pada_history_last(h, "supernet"); /* they are numbered from 0 */
    int n = 0;

    for (int row = 0; row < h->n_rows; row++)
        n += pada_history_trains(h, row);
    if (last > 0) { /* the configuration does not say how many epochs they have together */
        pada_text_add(out, "%d, of %.0f supernets", n, last + 1);
        return;
    }
    pada_text_add(out, "%d of ", n);
    pada__report_string(out, run->info.epochs);
}

static void add_quoted(pada_text *out, const char *text)
{
    pada_text_add(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            pada_text_add(out, "'\\''");
        else
            pada_text_add_bytes(out, text, 1);
    }
    pada_text_add(out, "'");
}

void pada__report_word(pada_text *out, const char *before, const char *after)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,+@%-";
    pada_text word = {0}, quoted = {0};

    pada_text_add(&word, "%s%s", before, after);
    const char *text = pada_text_str(&word);
    if (*text && text[strspn(text, plain)] == '\0')
        pada_html_text(out, text);
    else
        add_quoted(&quoted, text);
    pada_html_text(out, pada_text_str(&quoted));
    if (word.status != PADA_OK) out->status = word.status;
    if (quoted.status != PADA_OK) out->status = quoted.status;
    pada_text_deinit(&word);
    pada_text_deinit(&quoted);
}

/* What the run does not say is left to the defaults. */
static void add_option(pada_text *out, const char *name, const char *value)
{
    if (!value) return;
    pada_text_add(out, " %s ", name);
    pada__report_word(out, value, "");
}

void pada__report_options(const pada__report_run *run, pada_text *out)
{
    const pada_run_info *info = &run->info;

    pada_text_add(out, " ");
    add_option(out, "--data", info->data);
    add_option(out, "--resize", info->resize);
    pada_text_add(out, " \\\n ");
    if (run->has_sizes)
        pada_space_flags(&run->space, out);
    else
        add_option(out, "--space", info->space);
    pada_text_add(out, " \\\n ");
    add_option(out, "--image-size", info->image_size);
    add_option(out, "--epochs", info->epochs);
    add_option(out, "--batch-size", info->batch_size);
    pada_text_add(out, " \\\n");
}

const char *pada__report_set_name(const pada__report *r, int set)
{
    return r->runs[r->set_run[set]].name;
}

const pada_ranking_row *pada__report_first(const pada__report_run *run)
{
    return run->table.rows ? &run->table.rows[0] : NULL;
}
