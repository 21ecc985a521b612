/* complete.c - what may stand where a command line ends. */
#include "cli/complete.h"

#include <ctype.h>
#include <string.h>

#include "cli/call.h"

/* What is typed, what was found. */
typedef struct search {
    const char *typed;  /* the beginning of the word */
    const char *before; /* what stands before it in the same word: "--name=" */
    int n_before;
    pada_text words; /* lines */
    bool files, folders;
    char ending[16]; /* of the files; "": any */
} search;

static void offer(search *s, const char *word, size_t n, const char *meaning)
{
    const size_t n_typed = strlen(s->typed);

    if (n < n_typed || memcmp(word, s->typed, n_typed) != 0) return;
    pada_text_add(&s->words, "%.*s%.*s\t%s\n", s->n_before, s->before, (int)n, word, meaning);
}

static void offer_commands(search *s)
{
    for (int i = 0; i < pada_command_count(); i++) {
        const pada_command *command = pada_command_get(i);
        offer(s, command->name, strlen(command->name), command->summary);
    }
}

/* One alternative of a meta: "builtin", "DIR", "RUN", "FILE", "FILE.csv", "COMMAND"; others are numbers or texts of
 * the user. */
static void offer_alternative(search *s, const char *meta, size_t n)
{
    const char *const file = "FILE";
    const size_t n_file = strlen(file);

    if (islower((unsigned char)meta[0])) {
        offer(s, meta, n, "");
    } else if ((n == 3 && memcmp(meta, "DIR", n) == 0) || (n == 3 && memcmp(meta, "RUN", n) == 0)) {
        s->folders = true;
    } else if (n == 7 && memcmp(meta, "COMMAND", n) == 0) {
        offer_commands(s);
    } else if (n >= n_file && memcmp(meta, file, n_file) == 0) {
        s->files = true;
        if (n - n_file < sizeof s->ending) memcpy(s->ending, meta + n_file, n - n_file);
    }
}

/* `alternatives` ends at a blank or at its end; NULL: there are none. */
static void offer_alternatives(search *s, const char *alternatives)
{
    if (!alternatives) return;
    for (;;) {
        const size_t n = strcspn(alternatives, "| ");
        offer_alternative(s, alternatives, n);
        if (alternatives[n] != '|') return;
        alternatives += n + 1;
    }
}

static void offer_values(search *s, const pada_opt *opt)
{
    for (int i = 0; opt->names && opt->names(i); i++)
        offer(s, opt->names(i), strlen(opt->names(i)), "");
    offer_alternatives(s, opt->type == PADA_OPT_CHOICE ? opt->choices : opt->meta);
}

static void offer_options(search *s, const pada_options *options)
{
    for (int i = 0; i < pada_options_count(options); i++) {
        const pada_opt *opt = pada_options_get(options, i);
        const char *value = pada_options_default(options, i);
        pada_text flag = {0}, meaning = {0};

        if (!opt->help) continue;
        const bool is_on = opt->type == PADA_OPT_BOOL && value && strcmp(value, "true") == 0;
        pada_text_add(&flag, "--%s%s", is_on ? "no-" : "", opt->name);
        pada_text_add(&meaning, "%s%s", is_on ? "not: " : "", opt->help);
        offer(s, pada_text_str(&flag), flag.length, pada_text_str(&meaning));
        if (s->words.status == PADA_OK) s->words.status = flag.status;
        if (s->words.status == PADA_OK) s->words.status = meaning.status;
        pada_text_deinit(&flag);
        pada_text_deinit(&meaning);
    }
}

/* The option that a word names, NULL if it does not; *has_value: after '='. */
static const pada_opt *option_of(const pada_options *options, const char *word, bool *has_value)
{
    const size_t n = strcspn(word, "=");
    char name[64];

    *has_value = word[n] == '=';
    if (strncmp(word, "--", 2) != 0 || n - 2 >= sizeof name) return NULL;
    memcpy(name, word + 2, n - 2);
    name[n - 2] = '\0';
    const int i = pada_options_find(options, name);
    return i < 0 ? NULL : pada_options_get(options, i);
}

/* Goes over the words before the last one: *n_plain counts positional arguments. Returns the
 * option whose value comes next, or NULL. */
static const pada_opt *pending_option(const pada_options *options, int n, const char *const *words,
                                      int *n_plain)
{
    const pada_opt *pending = NULL;

    *n_plain = 0;
    for (int i = 0; i < n; i++) {
        bool has_value;
        if (pending) {
            pending = NULL; /* this word is its value */
            continue;
        }
        const pada_opt *opt = option_of(options, words[i], &has_value);
        if (opt && opt->type != PADA_OPT_BOOL && !has_value) pending = opt;
        *n_plain += strncmp(words[i], "--", 2) != 0;
    }
    return pending;
}

/* The alternatives of plain word i: the last ones stand for all that follow. */
static const char *alternatives_of(const pada_command *command, int i)
{
    const char *at = command->words;

    for (const char *next; at && i > 0 && (next = strchr(at, ' ')) != NULL; i--)
        at = next + 1;
    return at;
}

static void complete_call(search *s, const pada_call *call, int n, const char *const *words)
{
    int n_plain;
    bool has_value;
    const pada_opt *pending = pending_option(call->options, n - 1, words, &n_plain);

    if (pending) {
        offer_values(s, pending);
        return;
    }
    const pada_opt *opt = option_of(call->options, s->typed, &has_value);
    if (opt && has_value) {
        s->before = s->typed;
        s->n_before = (int)strcspn(s->typed, "=") + 1;
        s->typed += s->n_before;
        offer_values(s, opt);
    } else if (s->typed[0] == '-') {
        offer_options(s, call->options);
    } else {
        offer_alternatives(s, alternatives_of(call->command, n_plain));
    }
}

/* The options may depend on a value that is still being typed: then they are the usual ones. */
static pada_status open_some(pada_call *call, const pada_command *command, int n,
                             const char *const *words)
{
    if (pada_call_open(call, command, n, words) == PADA_OK) return PADA_OK;
    return pada_call_open(call, command, 0, NULL);
}

pada_status pada_complete(int n_words, const char *const *words, pada_text *out)
{
    search s = {.typed = n_words > 0 ? words[n_words - 1] : "", .before = ""};
    const pada_command *command;
    pada_status st = PADA_OK;
    pada_call call;

    if (n_words <= 1) {
        offer_commands(&s);
        offer(&s, "--version", strlen("--version"), "which pada this is");
    } else if (pada_command_find(&command, words[0]) == PADA_OK) {
        st = open_some(&call, command, n_words - 1, words + 1);
        if (st == PADA_OK) {
            complete_call(&s, &call, n_words - 1, words + 1);
            pada_call_close(&call);
        }
    }
    if (st == PADA_OK) st = s.words.status;
    if (s.files)
        pada_text_add(out, "files%s%s\n", s.ending[0] ? " " : "", s.ending);
    else
        pada_text_add(out, "%s\n", s.folders ? "folders" : "none");
    pada_text_add(out, "%s", pada_text_str(&s.words));
    pada_text_deinit(&s.words);
    return st == PADA_OK ? out->status : st;
}
