/* fuzz_options.c - flags of a command line, a line of the input each. */
#include "fuzz/option_table.h"

enum { MAX_WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *words[MAX_WORDS];
    fuzz_values values = {0};
    char *text = fuzz_string(data, n), *rest = text;
    int n_words = 0;

    while (n_words < MAX_WORDS && rest) {
        words[n_words++] = rest;
        rest = strchr(rest, '\n');
        if (rest) *rest++ = '\0';
    }
    pada_options *options = fuzz_options(&values);
    (void)pada_options_peek(n_words, words, "method");
    if (pada_options_parse(options, n_words, words) == PADA_OK) {
        for (int i = 0; i < pada_options_n_words(options); i++)
            FUZZ_CHECK(pada_options_word(options, i));
        fuzz_check_dump(options);
    }
    pada_options_destroy(options);
    free(text);
    return 0;
}
