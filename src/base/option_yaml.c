/* option_yaml.c - flat YAML mappings. */
#include "base/option_yaml.h"

#include "base/file.h"
#include "base/yaml_tree.h"

static pada_status give_pair(const char *path, const pada_yaml *member, pada__yaml_pair pair,
                             void *user)
{
    if (member->kind != PADA_YAML_SCALAR)
        return PADA_FAIL(PADA_EDATA, "%s:%d: the value of '%.100s' is not a scalar", path,
                         member->line, member->key);
    if (!member->text)
        return PADA_FAIL(PADA_EDATA, "%s:%d: key '%.100s' has no value", path, member->key_line,
                         member->key);
    return pair(user, member->key, member->text, member->key_line);
}

pada_status pada__yaml_read_text(const char *name, const void *text, size_t bytes,
                                 pada__yaml_pair pair, void *user)
{
    pada_yaml *root;

    PADA_TRY(pada_yaml_read(&root, name, text, bytes));
    pada_status st = PADA_OK;
    if (root && root->kind != PADA_YAML_MAP)
        st = PADA_FAIL(PADA_EDATA, "%s:%d: not a mapping of names to values", name, root->line);
    for (const pada_yaml *member = root && st == PADA_OK ? root->first : NULL;
         member && st == PADA_OK; member = member->next)
        st = give_pair(name, member, pair, user);
    pada_yaml_destroy(root);
    return st;
}

pada_status pada__yaml_read(const char *path, pada__yaml_pair pair, void *user)
{
    pada_file file;

    PADA_TRY(pada_file_open(&file, path));
    const pada_status st = pada__yaml_read_text(path, file.data, file.bytes, pair, user);
    pada_file_close(&file);
    return st;
}
