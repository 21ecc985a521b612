/* fuzz_model_file.c - what a model file says about itself; a network that is read can be named and built. */
#include "fuzz/fuzz.h"

#include "model/model_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file("model.safetensors", data, n);
    pada_model_about about;
    pada_text text = {0};
    pada_net_room room;

    if (pada_model_read(&about, path) == PADA_OK) {
        const pada_space *space = &about.space;
        FUZZ_CHECK(pada_path_is_valid(space, &about.path));
        FUZZ_CHECK(about.card.n_classes == space->config.classes);
        FUZZ_CHECK(space->ops->format(space, &about.path, space->ops->dialects[0], &text) ==
                   PADA_OK);
        pada_space_flags(space, &text);
        FUZZ_CHECK(text.status == PADA_OK);
        FUZZ_CHECK(pada_space_measure(space, &room) == PADA_OK);
    }
    pada_text_deinit(&text);
    pada_model_about_deinit(&about);
    return 0;
}
