/* fuzz_html.c - texts inside a page: none of them becomes markup. */
#include "fuzz/fuzz.h"

#include "report/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_string(data, n);
    pada_text html = {0}, json = {0};

    pada_html_text(&html, text);
    FUZZ_CHECK(html.status == PADA_OK && !strpbrk(pada_text_str(&html), "<>\"'"));
    pada_html_json_string(&json, text);
    FUZZ_CHECK(json.status == PADA_OK && json.length >= 2);
    FUZZ_CHECK(!strpbrk(json.data, "<>&'\n"));
    json.data[json.length - 1] = '\0'; /* the quotes around the string are the only ones */
    FUZZ_CHECK(!strchr(json.data + 1, '"'));
    pada_text_deinit(&html);
    pada_text_deinit(&json);
    free(text);
    return 0;
}
