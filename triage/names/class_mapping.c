/* SPDX-License-Identifier: Apache-2.0 */
/* class_mapping.c - the lines of a mapping. */
#include "class_mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES_MAX = 1 << 20,
    METHODS_MAX = 1 << 24,
};

struct reader {
    struct sbx_class_mapping *mapping;
    uint32_t class_room, method_room;
};

static struct sbx_name_text trim(struct sbx_name_text text)
{
    while (text.bytes > 0 && (*text.at == ' ' || *text.at == '\t')) {
        text.at++;
        text.bytes--;
    }
    while (text.bytes > 0 && strchr(" \t\r", text.at[text.bytes - 1]) != NULL) {
        text.bytes--;
    }
    return text;
}

/* Split `text` at the first `mark`: *before_out is the part before it, and `text` becomes the part after it. False if
 * there is no `mark`. */
static bool split(struct sbx_name_text *text, const char *mark, struct sbx_name_text *before_out)
{
    size_t length = strlen(mark);
    const char *at = text->bytes == 0 ? NULL : memmem(text->at, text->bytes, mark, length);
    if (at == NULL) {
        return false;
    }
    *before_out = (struct sbx_name_text){text->at, (size_t)(at - text->at)};
    text->bytes -= before_out->bytes + length;
    text->at = at + length;
    return true;
}

static bool is_equal(struct sbx_name_text a, struct sbx_name_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, a.bytes) == 0);
}

/* Take a number of at most nine digits from the beginning of `text`. False if there is none. */
static bool take_number(struct sbx_name_text *text, uint32_t *value_out)
{
    uint64_t value = 0;
    size_t digits = 0;
    for (; digits < text->bytes && digits < 9 && text->at[digits] >= '0' && text->at[digits] <= '9'; digits++) {
        value = value * 10 + (uint64_t)(text->at[digits] - '0');
    }
    text->at += digits;
    text->bytes -= digits;
    *value_out = (uint32_t)value;
    return digits > 0;
}

static bool take_mark(struct sbx_name_text *text, char mark)
{
    if (text->bytes == 0 || *text->at != mark) {
        return false;
    }
    text->at++;
    text->bytes--;
    return true;
}

static int add_class(struct reader *reader, struct sbx_name_text name, struct sbx_name_text short_name)
{
    struct sbx_class_mapping *mapping = reader->mapping;
    if (mapping->class_count == reader->class_room) {
        uint32_t room = reader->class_room == 0 ? 256 : reader->class_room * 2;
        struct sbx_mapped_class *grown =
            room > CLASSES_MAX ? NULL : reallocarray(mapping->classes, room, sizeof *grown);
        if (grown == NULL) {
            return room > CLASSES_MAX ? -E2BIG : -ENOMEM;
        }
        mapping->classes = grown;
        reader->class_room = room;
    }
    mapping->classes[mapping->class_count++] =
        (struct sbx_mapped_class){.short_name = short_name, .name = name, .first = mapping->method_count};
    return 0;
}

static int add_method(struct reader *reader, const struct sbx_mapped_method *method)
{
    struct sbx_class_mapping *mapping = reader->mapping;
    struct sbx_mapped_class *class = &mapping->classes[mapping->class_count - 1];
    struct sbx_mapped_method *last = class->count > 0 ? &mapping->methods[mapping->method_count - 1] : NULL;
    if (last != NULL && method->from != 0 && last->from == method->from && last->to == method->to &&
        is_equal(last->short_name, method->short_name)) {
        *last = *method; /* the method of the line before was inlined into this one */
        return 0;
    }
    if (mapping->method_count == reader->method_room) {
        uint32_t room = reader->method_room == 0 ? 1024 : reader->method_room * 2;
        struct sbx_mapped_method *grown =
            room > METHODS_MAX ? NULL : reallocarray(mapping->methods, room, sizeof *grown);
        if (grown == NULL) {
            return room > METHODS_MAX ? -E2BIG : -ENOMEM;
        }
        mapping->methods = grown;
        reader->method_room = room;
    }
    mapping->methods[mapping->method_count++] = *method;
    class->count++;
    return 0;
}

/* "1:3:void run(int):42:44 -> a", "void run(int) -> a"; a field has no brackets. */
static int read_member(struct reader *reader, struct sbx_name_text line)
{
    struct sbx_name_text before, type, name;
    struct sbx_mapped_method method = {.from = 0};
    if (reader->mapping->class_count == 0 || !split(&line, " -> ", &before)) {
        return 0;
    }
    method.short_name = trim(line);
    if (take_number(&before, &method.from) &&
        !(take_mark(&before, ':') && take_number(&before, &method.to) && take_mark(&before, ':'))) {
        return 0;
    }
    if (!split(&before, " ", &type) || !split(&before, "(", &name) || !split(&before, ")", &type) || name.bytes == 0 ||
        method.short_name.bytes == 0) {
        return 0;
    }
    method.name = name;
    if (take_mark(&before, ':') && take_number(&before, &method.written_from)) {
        method.written_to = method.written_from;
        if (take_mark(&before, ':')) {
            (void)take_number(&before, &method.written_to);
        }
    } else if (method.from != 0) { /* the lines are unchanged */
        method.written_from = method.from;
        method.written_to = method.to;
    }
    return add_method(reader, &method);
}

/* # {"id":"sourceFile","fileName":"Pay.kt"} */
static void read_comment(struct reader *reader, struct sbx_name_text line)
{
    struct sbx_name_text before, file;
    if (reader->mapping->class_count > 0 && split(&line, "\"sourceFile\"", &before) &&
        split(&line, "\"fileName\":\"", &before) && split(&line, "\"", &file)) {
        reader->mapping->classes[reader->mapping->class_count - 1].file = file;
    }
}

static int read_line(struct reader *reader, struct sbx_name_text line)
{
    struct sbx_name_text name;
    bool is_member = line.bytes > 0 && (*line.at == ' ' || *line.at == '\t');
    line = trim(line);
    if (line.bytes == 0) {
        return 0;
    }
    if (*line.at == '#') {
        read_comment(reader, line);
        return 0;
    }
    if (is_member) {
        return read_member(reader, line);
    }
    if (line.at[line.bytes - 1] != ':' || !split(&line, " -> ", &name) || line.bytes < 2) {
        return 0;
    }
    line.bytes--;
    return add_class(reader, trim(name), trim(line));
}

static int compare(struct sbx_name_text a, struct sbx_name_text b)
{
    size_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = bytes == 0 ? 0 : memcmp(a.at, b.at, bytes);
    return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int by_short_name(const void *left, const void *right)
{
    const struct sbx_mapped_class *a = left, *b = right;
    int order = compare(a->short_name, b->short_name);
    return order != 0 ? order : (a->first > b->first) - (a->first < b->first);
}

int sbx_class_mapping_read(struct sbx_class_mapping *mapping_out, struct sbx_name_text text)
{
    *mapping_out = (struct sbx_class_mapping){0};
    struct reader reader = {.mapping = mapping_out};
    int result = 0;
    for (size_t at = 0; at < text.bytes && result == 0;) {
        const char *newline = memchr(text.at + at, '\n', text.bytes - at);
        size_t end = newline == NULL ? text.bytes : (size_t)(newline - text.at);
        result = read_line(&reader, (struct sbx_name_text){text.at + at, end - at});
        at = end + 1;
    }
    if (result != 0) {
        sbx_class_mapping_finish(mapping_out);
    } else if (mapping_out->class_count > 1) {
        qsort(mapping_out->classes, mapping_out->class_count, sizeof *mapping_out->classes, by_short_name);
    }
    return result;
}

void sbx_class_mapping_finish(struct sbx_class_mapping *mapping)
{
    free(mapping->classes);
    free(mapping->methods);
    *mapping = (struct sbx_class_mapping){0};
}

const struct sbx_mapped_class *sbx_class_mapping_find(const struct sbx_class_mapping *mapping,
                                                      struct sbx_name_text short_name)
{
    uint32_t low = 0, high = mapping->class_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare(mapping->classes[middle].short_name, short_name);
        if (order == 0) {
            return &mapping->classes[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

const struct sbx_mapped_method *sbx_class_mapping_method(const struct sbx_class_mapping *mapping,
                                                         const struct sbx_mapped_class *class,
                                                         struct sbx_name_text short_name, uint32_t line)
{
    const struct sbx_mapped_method *any = NULL;
    for (uint32_t i = class->first; i < class->first + class->count; i++) {
        const struct sbx_mapped_method *method = &mapping->methods[i];
        if (!is_equal(method->short_name, short_name)) {
            continue;
        }
        if (line != 0 && method->from <= line && line <= method->to) {
            return method;
        }
        any = any == NULL || (any->from != 0 && method->from == 0) ? method : any;
    }
    return any;
}
