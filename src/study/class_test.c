/* class_test.c - what a test class by class needs beside an evaluation. */
#include "study/class_test.h"

#include "base/mem.h"

static pada_status allocate(pada_class_test *test)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)test->n_images,
                         (size_t)test->n_classes * sizeof *test->logits));
    test->logits = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)test->n_images, sizeof *test->labels));
    test->labels = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)test->n_classes, sizeof *test->names));
    test->names = memory;
    return PADA_OK;
}

pada_status pada_class_test_init(pada_class_test *test, const pada_dataset *data, pada_split split,
                                 int n_images)
{
    *test = (pada_class_test){.n_images = n_images, .n_classes = data->n_classes};
    PADA_TRY(allocate(test));
    for (int i = 0; i < n_images; i++)
        test->labels[i] = data->ops->label(data, split, i);
    for (int c = 0; c < test->n_classes && data->ops->class_name; c++)
        test->names[c] = data->ops->class_name(data, c);
    return PADA_OK;
}

void pada_class_test_deinit(pada_class_test *test)
{
    pada_free(test->logits);
    pada_free(test->labels);
    pada_free(test->names);
    *test = (pada_class_test){0};
}

pada_status pada_class_test_count(const pada_class_test *test, pada_class_report **out)
{
    PADA_TRY(pada_class_report_create(out, test->n_classes));
    const pada_status st = pada_class_report_add(*out, test->logits, test->labels, test->n_images);
    if (st == PADA_OK) return PADA_OK;
    pada_class_report_destroy(*out);
    *out = NULL;
    return st;
}
