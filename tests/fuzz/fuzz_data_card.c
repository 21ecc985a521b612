/* fuzz_data_card.c - data.json of a run; what was read can be written, and says the same. */
#include "fuzz/fuzz.h"

#include "data/data_card.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    pada_data_card card, again;
    pada_text text = {0};

    if (pada_data_card_parse(&card, n > 0 ? (const char *)data : "", n, "input") == PADA_OK) {
        for (int i = 0; i < card.n_classes && i < 1000; i++)
            (void)pada_data_card_class(&card, i);
        FUZZ_CHECK(pada_data_card_print(&card, true, &text) == PADA_OK);
        FUZZ_CHECK(pada_data_card_parse(&again, text.data, text.length, "copy") == PADA_OK);
        FUZZ_CHECK(pada_data_card_check_same(&card, &again, "input", "copy") == PADA_OK);
        FUZZ_CHECK(pada_data_card_check_classes(&again, &card, "copy", "input") == PADA_OK);
        pada_data_card_deinit(&again);
    }
    pada_text_deinit(&text);
    pada_data_card_deinit(&card);
    return 0;
}
