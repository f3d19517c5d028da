/* SPDX-License-Identifier: Apache-2.0 */
/* instance_read.c - the class's table of attribute names, and the three ways in which objects keep values. */
#include "instance_read.h"

#include "dict_read.h"
#include "object_read.h"

enum {
    TYPE_BASIC_SIZE = 32,
    TYPE_FLAGS = 168,
    HAS_INLINE_VALUES = 1 << 2, /* in the type's flags, 3.13 */
    BEFORE_BYTES = 32,          /* before an object: the collector's words, the dict and the values */
    DICT_BEFORE = 24,
    VALUES_BEFORE = 32,
    IS_VALUES = 1, /* 3.12: set if the word points to values and not to a dict; the word is then their address - 1 */
    INLINE_VALID = 3,
    INLINE_FIRST = 8,
    ATTRIBUTES_MOST = 30, /* the most names that a class shares among its objects */
};

/* Returns the address of the values, in the order of the class's names; 0: the object has a dict instead. */
static uint64_t values_of(const struct await_layout *layout, uint64_t object, uint64_t type)
{
    struct object_page page = {0};
    uint64_t before = object - BEFORE_BYTES;
    if (!object_can_read(&page, before, BEFORE_BYTES)) {
        return 0;
    }
    switch (layout->values) {
    case AWAIT_VALUES_APART:
        return object_word_at(object - VALUES_BEFORE, 0);
    case AWAIT_VALUES_OR_DICT: {
        uint64_t word = object_word_at(object - DICT_BEFORE, 0);
        return (word & IS_VALUES) != 0 ? word + 1 : 0;
    }
    default: {
        uint64_t values = object + object_word_at(type, TYPE_BASIC_SIZE);
        bool is_inside = (object_word_at(type, TYPE_FLAGS) & HAS_INLINE_VALUES) != 0 &&
                         object_can_read(&page, values, INLINE_FIRST) && object_byte_at(values, INLINE_VALID) == 1;
        return is_inside ? values + INLINE_FIRST : 0;
    }
    }
}

uint64_t instance_attribute(const struct cpython *cpython, const struct await_layout *layout, uint64_t object,
                            const char *name)
{
    struct object_page page = {0};
    struct dict_reader reader;
    uint64_t key, value;
    if (layout->type_keys == 0 || !object_can_read(&page, object, OBJECT_SIZE)) {
        return 0;
    }
    uint64_t type = object_word_at(object, OBJECT_TYPE);
    if (!object_can_read(&page, type, layout->type_keys + sizeof type)) {
        return 0;
    }
    uint64_t values = values_of(layout, object, type);
    if (values == 0) {
        uint64_t dict =
            object_can_read(&page, object - DICT_BEFORE, DICT_BEFORE) ? object_word_at(object - DICT_BEFORE, 0) : 0;
        bool is_dict = dict_read_begin(&reader, cpython->layout, cpython->types.dict, dict, ATTRIBUTES_MOST);
        while (is_dict && dict_read_next(&reader, &key, &value)) {
            if (dict_key_is(cpython->layout, cpython->types.string, key, name)) {
                return value;
            }
        }
        return 0;
    }
    if (!dict_read_begin_names(&reader, cpython->layout, object_word_at(type, layout->type_keys), ATTRIBUTES_MOST)) {
        return 0;
    }
    for (; dict_read_name(&reader, &key); values += sizeof values) {
        if (dict_key_is(cpython->layout, cpython->types.string, key, name)) {
            return object_can_read(&page, values, sizeof values) ? object_word_at(values, 0) : 0;
        }
    }
    return 0;
}
