/* SPDX-License-Identifier: Apache-2.0 */
/* module_read.c - sys.modules, and the names of a module. */
#include "module_read.h"

#include "dict_read.h"
#include "object_read.h"

enum {
    MODULES_MOST = 4096,
    NAMES_MOST = 128, /* of a module */
    MODULE_DICT = 16,
    MODULE_BYTES = 24,
};

static uint64_t find(const struct cpython *cpython, uint64_t dict, const char *name, uint32_t most)
{
    struct dict_reader reader;
    uint64_t key, value;
    if (!dict_read_begin(&reader, cpython->layout, cpython->types.dict, dict, most)) {
        return 0;
    }
    while (dict_read_next(&reader, &key, &value)) {
        if (dict_key_is(cpython->layout, cpython->types.string, key, name)) {
            return value;
        }
    }
    return 0;
}

uint64_t module_dict(const struct cpython *cpython, const char *module)
{
    struct object_page page = {0};
    uint64_t found = find(cpython, cpython->modules, module, MODULES_MOST);
    return found != 0 && object_can_read(&page, found, MODULE_BYTES) &&
                   object_word_at(found, OBJECT_TYPE) == cpython->types.module
               ? object_word_at(found, MODULE_DICT)
               : 0;
}

uint64_t module_object(const struct cpython *cpython, uint64_t dict, const char *name)
{
    return find(cpython, dict, name, NAMES_MOST);
}
