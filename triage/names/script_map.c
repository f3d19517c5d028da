/* SPDX-License-Identifier: Apache-2.0 */
/* script_map.c - reads the JSON of a source map, and numbers in base64. */
#include "script_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    JSON_BYTES_MAX = 256 << 20,
    SEGMENTS_MAX = 32 << 20,
    LIST_MAX = 1 << 22, /* maximum number of sources, and of names */
    DEPTH_MAX = 64,
};

struct reader {
    const char *at, *end;
    struct sbx_script_map *map;
    size_t text_bytes; /* bytes used in map->texts */
    int result;
};

/* ---- JSON ---- */

static void fail(struct reader *reader, int result)
{
    reader->result = reader->result == 0 ? result : reader->result;
    reader->at = reader->end;
}

static int peek(struct reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) != NULL && *reader->at != '\0') {
        reader->at++;
    }
    return reader->at < reader->end ? (unsigned char)*reader->at : -1;
}

static bool take(struct reader *reader, char c)
{
    if (peek(reader) != (unsigned char)c) {
        return false;
    }
    reader->at++;
    return true;
}

/* Take the text between quotes, with its escapes unchanged. */
static struct sbx_name_text take_raw(struct reader *reader)
{
    if (!take(reader, '"')) {
        fail(reader, -EBADMSG);
        return (struct sbx_name_text){reader->end, 0};
    }
    const char *begin = reader->at;
    while (reader->at < reader->end && *reader->at != '"') {
        reader->at += *reader->at == '\\' && reader->end - reader->at > 1 ? 2 : 1;
    }
    struct sbx_name_text text = {begin, (size_t)(reader->at - begin)};
    if (reader->at >= reader->end) {
        fail(reader, -EBADMSG);
    } else {
        reader->at++;
    }
    return text;
}

static void put(struct reader *reader, uint32_t c)
{
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    char *to = reader->map->texts;
    to[reader->text_bytes++] = (char)(more == 0 ? c : heads[more] | c >> (6 * more));
    while (more-- > 0) {
        to[reader->text_bytes++] = (char)(0x80 | (c >> (6 * more) & 0x3f));
    }
}

static uint32_t hex_at(const char *at, const char *end)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = end - at > i ? at[i] : '0';
        value = value << 4 | (uint32_t)(c >= '0' && c <= '9'   ? c - '0'
                                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                               : 0);
    }
    return value;
}

/* Take a text, and put it into map->texts with its escapes decoded. It is never longer than in the JSON. */
static struct sbx_name_text take_text(struct reader *reader)
{
    struct sbx_name_text raw = take_raw(reader);
    const char *at = raw.at, *end = raw.at + raw.bytes;
    size_t begin = reader->text_bytes;
    while (at < end) {
        if (*at != '\\' || end - at < 2) {
            reader->map->texts[reader->text_bytes++] = *at++;
            continue;
        }
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *known = strchr(from, at[1]);
        if (at[1] == 'u') {
            uint32_t unit = hex_at(at + 2, end);
            at = end - at > 6 ? at + 6 : end;
            if (unit >= 0xd800 && unit < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
                uint32_t low = hex_at(at + 2, end);
                bool is_pair = low >= 0xdc00 && low < 0xe000;
                unit = is_pair ? 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
                at += is_pair ? 6 : 0;
            } else if (unit >= 0xd800 && unit < 0xe000) {
                unit = 0xfffd;
            }
            put(reader, unit);
        } else {
            put(reader, known != NULL && *known != '\0' ? (uint32_t)to[known - from] : (uint8_t)at[1]);
            at += 2;
        }
    }
    return (struct sbx_name_text){reader->map->texts + begin, reader->text_bytes - begin};
}

static void pass_value(struct reader *reader, unsigned depth)
{
    int c = peek(reader);
    if (depth > DEPTH_MAX || c < 0) {
        fail(reader, -EBADMSG);
    } else if (c == '"') {
        (void)take_raw(reader);
    } else if (c == '{' || c == '[') {
        char close = c == '{' ? '}' : ']';
        reader->at++;
        while (reader->result == 0 && !take(reader, close)) {
            pass_value(reader, depth + 1);
            if (!take(reader, ',') && !take(reader, ':') && peek(reader) != close) {
                fail(reader, -EBADMSG);
            }
        }
    } else {
        const char *begin = reader->at;
        while (reader->at < reader->end && strchr("+-.0123456789aeEflnrstu", *reader->at) != NULL &&
               *reader->at != '\0') {
            reader->at++;
        }
        if (reader->at == begin) {
            fail(reader, -EBADMSG);
        }
    }
}

/* Take a list of texts. Any other value in it, such as null, becomes an empty text. */
static void take_list(struct reader *reader, struct sbx_name_text **list, uint32_t *count)
{
    uint32_t room = 0;
    if (*list != NULL || !take(reader, '[')) {
        fail(reader, -EBADMSG);
        return;
    }
    while (reader->result == 0 && !take(reader, ']')) {
        if (*count == room) {
            room = room == 0 ? 256 : room * 2;
            struct sbx_name_text *grown = room > LIST_MAX ? NULL : reallocarray(*list, room, sizeof *grown);
            if (grown == NULL) {
                fail(reader, room > LIST_MAX ? -E2BIG : -ENOMEM);
                return;
            }
            *list = grown;
        }
        if (peek(reader) == '"') {
            (*list)[(*count)++] = take_text(reader);
        } else {
            pass_value(reader, 0);
            (*list)[(*count)++] = (struct sbx_name_text){reader->map->texts, 0};
        }
        if (!take(reader, ',') && peek(reader) != ']') {
            fail(reader, -EBADMSG);
        }
    }
}

/* ---- mappings ---- */

int sbx_base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Take a signed number; false at the end of the segment. */
static bool take_number(const char **at, const char *end, int64_t *value_out)
{
    uint64_t value = 0;
    unsigned shift = 0;
    bool has_more = true;
    while (has_more) {
        int digit = *at < end ? sbx_base64_digit(**at) : -1;
        if (digit < 0 || shift > 35) {
            return false;
        }
        value |= (uint64_t)(digit & 31) << shift;
        shift += 5;
        has_more = (digit & 32) != 0;
        ++*at;
    }
    *value_out = (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
    return true;
}

static bool add_segment(struct sbx_script_map *map, const struct sbx_script_segment *segment)
{
    if (map->segment_count == map->segment_room) {
        uint32_t room = map->segment_room == 0 ? 4096 : map->segment_room * 2;
        struct sbx_script_segment *grown =
            room > SEGMENTS_MAX ? NULL : reallocarray(map->segments, room, sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        map->segments = grown;
        map->segment_room = room;
    }
    map->segments[map->segment_count++] = *segment;
    return true;
}

static int by_place(const void *left, const void *right)
{
    const struct sbx_script_segment *a = left, *b = right;
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return (a->column > b->column) - (a->column < b->column);
}

static int read_mappings(struct sbx_script_map *map, struct sbx_name_text text)
{
    const char *at = text.at, *end = text.at + text.bytes;
    int64_t column = 0, fields[4] = {0, 0, 0, 0}; /* source, line, column, name */
    uint32_t line = 0;
    bool is_sorted = true;
    while (at < end) {
        if (*at == ';') {
            line++;
            column = 0;
            at++;
            continue;
        }
        if (*at == ',') {
            at++;
            continue;
        }
        int64_t value;
        unsigned count = 0;
        if (!take_number(&at, end, &value)) {
            return -EBADMSG;
        }
        column += value;
        for (; count < 4 && at < end && *at != ',' && *at != ';'; count++) {
            if (!take_number(&at, end, &value)) {
                return -EBADMSG;
            }
            fields[count] += value;
        }
        if (fields[0] < 0 || fields[0] > INT32_MAX || fields[2] < 0 || fields[2] > INT32_MAX || fields[3] < 0 ||
            fields[3] > INT32_MAX) {
            return -EBADMSG;
        }
        struct sbx_script_segment segment = {.line = line,
                                             .column = (uint32_t)column,
                                             .source = (uint32_t)fields[0],
                                             .source_line = (uint32_t)fields[1],
                                             .name = count == 4 ? (uint32_t)fields[3] : UINT32_MAX};
        if (column < 0 || column > INT32_MAX || fields[1] < 0 || fields[1] >= INT32_MAX) {
            return -EBADMSG;
        }
        if (count < 3 || fields[0] >= map->source_count) {
            continue; /* generated code without an original */
        }
        if (fields[3] >= map->name_count) {
            segment.name = UINT32_MAX;
        }
        is_sorted =
            is_sorted && (map->segment_count == 0 || by_place(&map->segments[map->segment_count - 1], &segment) <= 0);
        if (!add_segment(map, &segment)) {
            return -E2BIG;
        }
    }
    if (!is_sorted) {
        qsort(map->segments, map->segment_count, sizeof *map->segments, by_place);
    }
    return 0;
}

int sbx_script_map_read(struct sbx_script_map *map_out, struct sbx_name_text json)
{
    *map_out = (struct sbx_script_map){0};
    if (json.bytes > JSON_BYTES_MAX) {
        return -E2BIG;
    }
    struct reader reader = {.at = json.at, .end = json.at + json.bytes, .map = map_out};
    struct sbx_name_text mappings = {NULL, 0};
    map_out->texts = malloc(json.bytes + 8);
    if (map_out->texts == NULL) {
        return -ENOMEM;
    }
    if (json.bytes > 4 && memcmp(json.at, ")]}'", 4) == 0) { /* a prefix that servers add as a protection */
        const char *newline = memchr(json.at, '\n', json.bytes);
        reader.at = newline == NULL ? reader.end : newline;
    }
    if (!take(&reader, '{')) {
        fail(&reader, -EBADMSG);
    }
    while (reader.result == 0 && !take(&reader, '}')) {
        struct sbx_name_text key = take_raw(&reader);
        if (!take(&reader, ':')) {
            fail(&reader, -EBADMSG);
        } else if (key.bytes == 7 && memcmp(key.at, "sources", 7) == 0) {
            take_list(&reader, &map_out->sources, &map_out->source_count);
        } else if (key.bytes == 5 && memcmp(key.at, "names", 5) == 0) {
            take_list(&reader, &map_out->names, &map_out->name_count);
        } else if (key.bytes == 8 && memcmp(key.at, "mappings", 8) == 0) {
            mappings = take_raw(&reader);
        } else {
            pass_value(&reader, 0);
        }
        if (!take(&reader, ',') && peek(&reader) != '}') {
            fail(&reader, -EBADMSG);
        }
    }
    int result = reader.result == 0 && mappings.at == NULL ? -EBADMSG : reader.result;
    result = result == 0 ? read_mappings(map_out, mappings) : result;
    if (result != 0) {
        sbx_script_map_finish(map_out);
    }
    return result;
}

void sbx_script_map_finish(struct sbx_script_map *map)
{
    free(map->segments);
    free(map->sources);
    free(map->names);
    free(map->texts);
    *map = (struct sbx_script_map){0};
}

/* ---- finding ---- */

/* The number of segments before a place. */
static uint32_t count_before(const struct sbx_script_map *map, uint32_t line, uint64_t column)
{
    uint32_t low = 0, high = map->segment_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct sbx_script_segment *segment = &map->segments[middle];
        if (segment->line < line || (segment->line == line && segment->column < column)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct sbx_script_segment *sbx_script_map_find(const struct sbx_script_map *map, uint32_t line, uint32_t column)
{
    uint32_t before = count_before(map, line, (uint64_t)column + 1);
    return before > 0 && map->segments[before - 1].line == line ? &map->segments[before - 1] : NULL;
}

const struct sbx_script_segment *sbx_script_map_line(const struct sbx_script_map *map, uint32_t line)
{
    uint32_t first = count_before(map, line, 0);
    return first < map->segment_count && map->segments[first].line == line ? &map->segments[first] : NULL;
}
