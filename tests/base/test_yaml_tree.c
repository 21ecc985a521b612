/* test_yaml_tree.c - documents as trees: shapes, lines, limits. */
#include "base/yaml_tree.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "check.h"

static pada_yaml *read_text(const char *text)
{
    pada_yaml *root;

    assert_int_equal(pada_yaml_read(&root, "x.yaml", text, strlen(text)), PADA_OK);
    return root;
}

static void trees_have_the_shape_of_the_text(void **state)
{
    pada_yaml *root = read_text("# words\n"
                                "a_b: 1\n"
                                "list:\n"
                                "  - x\n"
                                "  - {k: 'null', empty: }\n"
                                "  - [1, 2]\n");
    const pada_yaml *list;

    (void)state;
    assert_int_equal(root->kind, PADA_YAML_MAP);
    assert_int_equal(root->n, 2);
    assert_string_equal(root->first->key, "a-b");
    assert_int_equal(root->first->key_line, 2);
    assert_null(pada_yaml_find(root, "a_b"));
    assert_string_equal(pada_yaml_find(root, "a-b")->text, "1");
    list = pada_yaml_find(root, "list");
    assert_int_equal(list->kind, PADA_YAML_LIST);
    assert_int_equal(list->n, 3);
    assert_int_equal(list->line, 4);
    assert_null(list->first->key);
    assert_string_equal(list->first->text, "x");
    assert_int_equal(list->first->next->line, 5);
    assert_string_equal(pada_yaml_find(list->first->next, "k")->text, "null");
    assert_null(pada_yaml_find(list->first->next, "empty")->text);
    assert_string_equal(list->first->next->next->first->next->text, "2");
    assert_null(list->first->next->next->next);
    pada_yaml_destroy(root);
}

static void empty_documents_have_no_root(void **state)
{
    (void)state;
    assert_null(read_text(""));
    assert_null(read_text("# only words\n"));
    pada_yaml_destroy(NULL);
}

static void assert_refused(const char *text, const char *message)
{
    pada_yaml *root;

    assert_int_equal(pada_yaml_read(&root, "x.yaml", text, strlen(text)), PADA_EDATA);
    assert_null(root);
    assert_string_equal(pada_message(), message);
}

static void what_is_not_plain_is_refused(void **state)
{
    (void)state;
    assert_refused("a:\n  - b: 1\n    b: 2\n", "x.yaml:3: key 'b' stands already on line 2");
    assert_refused("a:\n  - &x 1\n", "x.yaml:2: anchors are not supported");
    assert_refused("a:\n  - &x [1]\n", "x.yaml:2: anchors are not supported");
    assert_refused("a:\n  - *x\n", "x.yaml:2: aliases are not supported");
    assert_refused("a: !!map {}\n", "x.yaml:1: tags are not supported");
    assert_refused("a: {[1]: 2}\n", "x.yaml:1: a key is not a scalar");
    assert_refused("a: 1\n---\nb: 2\n", "x.yaml:2: more than one document");
    assert_refused("a: [1, \"b\\0c\"]\n", "x.yaml:1: a scalar holds a zero byte");
}

static void sizes_are_limited(void **state)
{
    pada_text text = {0};
    pada_yaml *root;

    (void)state;
    for (int i = 0; i < PADA_YAML_MAX_DEPTH; i++)
        pada_text_add(&text, "[");
    for (int i = 0; i < PADA_YAML_MAX_DEPTH; i++)
        pada_text_add(&text, "]");
    pada_yaml_destroy(read_text(text.data));
    text.length = 0;
    for (int i = 0; i <= PADA_YAML_MAX_DEPTH; i++)
        pada_text_add(&text, "[");
    assert_refused(text.data, "x.yaml:1: more than 8 lists and maps inside each other");
    text.length = 0;
    for (int i = 0; i <= PADA_YAML_MAX_NODES; i++)
        pada_text_add(&text, "- 1\n");
    assert_refused(text.data, "x.yaml:20001: more than 20000 values");
    text.length = 0;
    pada_text_add(&text, "a: [1, {b: c}]\nd: {e: f}\n");
    for (int64_t n = 0;; n++) { /* memory that ends at any point */
        pada_mem_fail_after(n);
        const pada_status st = pada_yaml_read(&root, "x.yaml", text.data, text.length);
        pada_mem_fail_after(-1);
        pada_yaml_destroy(root);
        if (st == PADA_OK) break;
        assert_int_equal(st, PADA_ENOMEM);
    }
    pada_text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_have_the_shape_of_the_text),
        cmocka_unit_test(empty_documents_have_no_root),
        cmocka_unit_test(what_is_not_plain_is_refused),
        cmocka_unit_test(sizes_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
