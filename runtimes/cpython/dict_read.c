/* SPDX-License-Identifier: Apache-2.0 */
/* dict_read.c - the two formats of a dict's table. An entry has hash, key and value. Since 3.11 it has only key and
 * value where all keys are strings. */
#include "dict_read.h"

#include <string.h>

#include "code_names.h"

enum {
    DICT_USED = 16,
    DICT_KEYS = 32,
    DICT_VALUES = 40,
    DICT_BYTES = 48,
    /* of the dict's table, 3.9 and 3.10 */
    OLD_SIZE = 8,
    OLD_COUNT = 32,
    OLD_INDEXES = 40,
    /* 3.11 on */
    KEYS_LOG_BYTES = 9, /* log2 of the bytes of the indexes */
    KEYS_KIND = 10,
    KEYS_COUNT = 24,
    KEYS_INDEXES = 32,
    KIND_GENERAL = 0,
    LOG_MOST = 24,
    ENTRY_OF_ANY = 24,
    ENTRY_OF_STRINGS = 16,
    KEY_BYTES = 32,
};

static bool is_dict(struct object_page *page, uint64_t dict_type, uint64_t dict)
{
    return object_can_read(page, dict, DICT_BYTES) && object_word_at(dict, OBJECT_TYPE) == dict_type;
}

uint64_t dict_read_count(uint64_t dict_type, uint64_t dict)
{
    struct object_page page = {0};
    return is_dict(&page, dict_type, dict) ? object_word_at(dict, DICT_USED) : 0;
}

bool dict_read_begin_names(struct dict_reader *reader, const struct cpython_layout *layout, uint64_t keys,
                           uint32_t most)
{
    bool is_old = layout->minor < 11;
    *reader = (struct dict_reader){.at = 0};
    if (!object_can_read(&reader->page, keys, is_old ? OLD_INDEXES : KEYS_INDEXES)) {
        return false;
    }
    uint64_t count = object_word_at(keys, is_old ? OLD_COUNT : KEYS_COUNT);
    if (is_old) {
        uint64_t size = object_word_at(keys, OLD_SIZE);
        if (size >= UINT64_C(1) << LOG_MOST) {
            return false;
        }
        reader->at = keys + OLD_INDEXES + size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
        reader->entry_bytes = ENTRY_OF_ANY;
    } else {
        uint8_t log = object_byte_at(keys, KEYS_LOG_BYTES);
        if (log > LOG_MOST) {
            return false;
        }
        reader->at = keys + KEYS_INDEXES + (UINT64_C(1) << log);
        reader->entry_bytes = object_byte_at(keys, KEYS_KIND) == KIND_GENERAL ? ENTRY_OF_ANY : ENTRY_OF_STRINGS;
    }
    reader->key_at = reader->entry_bytes - ENTRY_OF_STRINGS;
    reader->end = reader->at + reader->entry_bytes * (count < most ? count : most);
    return true;
}

bool dict_read_name(struct dict_reader *reader, uint64_t *key_out)
{
    if (reader->at >= reader->end || !object_can_read(&reader->page, reader->at, reader->entry_bytes)) {
        return false;
    }
    *key_out = object_word_at(reader->at, reader->key_at);
    reader->at += reader->entry_bytes;
    return true;
}

bool dict_read_begin(struct dict_reader *reader, const struct cpython_layout *layout, uint64_t dict_type, uint64_t dict,
                     uint32_t most)
{
    struct object_page page = {0};
    reader->at = reader->end = 0;
    return is_dict(&page, dict_type, dict) && object_word_at(dict, DICT_VALUES) == 0 &&
           dict_read_begin_names(reader, layout, object_word_at(dict, DICT_KEYS), most);
}

bool dict_read_next(struct dict_reader *reader, uint64_t *key_out, uint64_t *value_out)
{
    while (reader->at < reader->end && object_can_read(&reader->page, reader->at, reader->entry_bytes)) {
        uint64_t entry = reader->at + reader->key_at;
        reader->at += reader->entry_bytes;
        *key_out = object_word_at(entry, 0);
        *value_out = object_word_at(entry, sizeof(uint64_t));
        if (*key_out != 0 && *value_out != 0) { /* else the entry was deleted */
            return true;
        }
    }
    return false;
}

bool dict_key_is(const struct cpython_layout *layout, uint64_t string_type, uint64_t key, const char *text)
{
    char found[KEY_BYTES];
    size_t bytes = code_name_text(layout, string_type, key, found, sizeof found);
    return bytes == strlen(text) && memcmp(found, text, bytes) == 0;
}
