/* SPDX-License-Identifier: Apache-2.0 */
/* unit_file.c - turns lines into settings. */
#include "unit_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int add(struct sbx_unit_file *unit, const char *key, size_t key_bytes, const char *value, size_t value_bytes)
{
    if (unit->count == SBX_UNIT_SETTINGS_MAX) {
        return -EFBIG;
    }
    if (unit->count == unit->room) {
        size_t room = unit->room != 0 ? 2 * unit->room : 32;
        struct sbx_unit_setting *grown = realloc(unit->settings, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        unit->settings = grown;
        unit->room = room;
    }
    struct sbx_unit_setting setting = {strndup(key, key_bytes), strndup(value, value_bytes)};
    if (setting.key == NULL || setting.value == NULL) {
        free(setting.key);
        free(setting.value);
        return -ENOMEM;
    }
    unit->settings[unit->count++] = setting;
    return 0;
}

static void trim(const char **text, size_t *bytes)
{
    while (*bytes != 0 && is_blank(**text)) {
        (*text)++;
        (*bytes)--;
    }
    while (*bytes != 0 && is_blank((*text)[*bytes - 1])) {
        (*bytes)--;
    }
}

/* The length of a line, without its end. */
static size_t line_bytes(const char *text, size_t bytes)
{
    const char *end = memchr(text, '\n', bytes);
    return end != NULL ? (size_t)(end - text) : bytes;
}

static bool is_comment(const char *line, size_t bytes)
{
    trim(&line, &bytes);
    return bytes != 0 && (*line == '#' || *line == ';');
}

/* Join a line and its continuation lines: a backslash at the end becomes a space, and comments in between are left out.
 * Returns the used length of `text`. The joined line is in `joined`, which has room for all of it. */
static size_t join(const char *text, size_t bytes, char *joined, size_t *joined_bytes)
{
    size_t used = 0;
    *joined_bytes = 0;
    while (used < bytes) {
        const char *line = text + used;
        size_t length = line_bytes(line, bytes - used), kept = length;
        bool is_left_out = *joined_bytes != 0 && is_comment(line, length);
        used += length + (used + length < bytes);
        while (kept != 0 && line[kept - 1] == '\r') {
            kept--;
        }
        bool continues = is_left_out || (kept != 0 && line[kept - 1] == '\\' && !is_comment(line, kept));
        if (!is_left_out) {
            kept -= continues;
            memcpy(joined + *joined_bytes, line, kept);
            *joined_bytes += kept;
            if (continues) {
                joined[(*joined_bytes)++] = ' ';
            }
        }
        if (!continues) {
            break;
        }
    }
    return used;
}

static int take_line(struct sbx_unit_file *unit, const char *line, size_t bytes, bool *is_service)
{
    trim(&line, &bytes);
    if (bytes == 0 || *line == '#' || *line == ';' || memchr(line, '\0', bytes) != NULL) {
        return 0;
    }
    if (*line == '[') {
        *is_service = bytes == 9 && memcmp(line, "[Service]", 9) == 0;
        return 0;
    }
    const char *equals = memchr(line, '=', bytes);
    if (!*is_service || equals == NULL) {
        return 0;
    }
    const char *value = equals + 1;
    size_t key_bytes = (size_t)(equals - line), value_bytes = bytes - key_bytes - 1;
    trim(&line, &key_bytes);
    trim(&value, &value_bytes);
    return add(unit, line, key_bytes, value, value_bytes);
}

int sbx_unit_file_add(struct sbx_unit_file *unit, const char *text, size_t bytes)
{
    bool is_service = false;
    int result = 0;
    if (bytes > SBX_UNIT_FILE_BYTES_MAX) {
        return -EFBIG;
    }
    char *joined = malloc(bytes + 1);
    if (joined == NULL) {
        return -ENOMEM;
    }
    for (size_t at = 0; at < bytes && result == 0;) {
        size_t joined_bytes;
        at += join(text + at, bytes - at, joined, &joined_bytes);
        result = take_line(unit, joined, joined_bytes, &is_service);
    }
    free(joined);
    return result;
}

void sbx_unit_file_free(struct sbx_unit_file *unit)
{
    for (size_t i = 0; i < unit->count; i++) {
        free(unit->settings[i].key);
        free(unit->settings[i].value);
    }
    free(unit->settings);
    *unit = (struct sbx_unit_file){0};
}

const char *sbx_unit_file_value(const struct sbx_unit_file *unit, const char *key)
{
    for (size_t i = unit->count; i-- > 0;) {
        if (strcmp(unit->settings[i].key, key) == 0) {
            return unit->settings[i].value[0] != '\0' ? unit->settings[i].value : NULL;
        }
    }
    return NULL;
}

const char *sbx_unit_file_next(const struct sbx_unit_file *unit, const char *key, size_t *at)
{
    size_t from = 0;
    for (size_t i = 0; i < unit->count; i++) {
        if (unit->settings[i].value[0] == '\0' && strcmp(unit->settings[i].key, key) == 0) {
            from = i + 1;
        }
    }
    for (size_t i = *at > from ? *at : from; i < unit->count; i++) {
        if (strcmp(unit->settings[i].key, key) == 0) {
            *at = i + 1;
            return unit->settings[i].value;
        }
    }
    *at = unit->count;
    return NULL;
}

bool sbx_unit_file_is_set(const struct sbx_unit_file *unit, const char *key)
{
    static const char *const words[] = {"1", "yes", "y", "true", "t", "on"};
    const char *value = sbx_unit_file_value(unit, key);
    for (size_t i = 0; value != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool sbx_unit_file_has_word(const struct sbx_unit_file *unit, const char *key, const char *word)
{
    size_t at = 0, length = strlen(word);
    for (const char *value; (value = sbx_unit_file_next(unit, key, &at)) != NULL;) {
        while (*value != '\0') {
            value += strspn(value, " \t\"'");
            size_t bytes = strcspn(value, " \t\"'");
            if (bytes == length && bytes != 0 && memcmp(value, word, bytes) == 0) {
                return true;
            }
            value += bytes;
        }
    }
    return false;
}
