/* SPDX-License-Identifier: Apache-2.0 */
/* provider_map.c - names of the functions of embedded runtimes. */
#include "provider_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"

#define TEXT_BYTES_MAX ((size_t)256 << 20)
#define FIRST_WORDS    "stallbox-provider-map 1"

struct name {
    uint64_t number;
    const char *text;
};

struct sbx_provider_map {
    struct sbx_arena *arena; /* owns every string */
    struct sbx_provider_function *functions;
    size_t count, room;
    bool is_sorted;
    struct name names[SBX_PROVIDER_NAMES_MAX];
    size_t name_count;
};

uint64_t sbx_provider_number(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    }
    return hash;
}

struct sbx_provider_map *sbx_provider_map_create(void)
{
    struct sbx_provider_map *map = calloc(1, sizeof *map);
    if (map == NULL) {
        return NULL;
    }
    map->arena = sbx_arena_create(TEXT_BYTES_MAX);
    if (map->arena == NULL) {
        free(map);
        return NULL;
    }
    return map;
}

void sbx_provider_map_destroy(struct sbx_provider_map *map)
{
    if (map != NULL) {
        sbx_arena_destroy(map->arena);
        free(map->functions);
        free(map);
    }
}

/* ---- one line ---- */

struct text {
    const char *at, *end;
};

/* The next column; `line` then begins after its tab. */
static struct text take_column(struct text *line)
{
    const char *tab = memchr(line->at, '\t', (size_t)(line->end - line->at));
    struct text column = {line->at, tab != NULL ? tab : line->end};
    line->at = tab != NULL ? tab + 1 : line->end;
    return column;
}

static bool read_hex(struct text text, uint64_t *value_out)
{
    uint64_t value = 0;
    if (text.end - text.at != 16) {
        return false;
    }
    for (; text.at < text.end; text.at++) {
        char c = *text.at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16) {
            return false;
        }
        value = value << 4 | digit;
    }
    *value_out = value;
    return value != 0;
}

static bool read_decimal(struct text text, uint32_t *value_out)
{
    uint64_t value = 0;
    if (text.at == text.end || text.end - text.at > 10) {
        return false;
    }
    for (; text.at < text.end; text.at++) {
        if (*text.at < '0' || *text.at > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(*text.at - '0');
    }
    *value_out = (uint32_t)value;
    return value <= UINT32_MAX;
}

/* A copy in the arena, with control characters replaced; NULL if memory runs out. */
static const char *keep(struct sbx_provider_map *map, struct text text)
{
    char copy[SBX_PROVIDER_LINE_BYTES_MAX + 1];
    size_t length = (size_t)(text.end - text.at);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text.at[i];
        copy[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    copy[length] = '\0';
    return sbx_arena_intern(map->arena, copy);
}

static bool are_lines(struct text text)
{
    for (; text.at < text.end; text.at++) {
        if ((*text.at < '0' || *text.at > '9') && *text.at != '-' && *text.at != ':' && *text.at != ',') {
            return false;
        }
    }
    return true;
}

static int add_function(struct sbx_provider_map *map, uint64_t provider, struct text line)
{
    struct sbx_provider_function function = {.provider = provider};
    struct text id = take_column(&line), number = take_column(&line), file = take_column(&line);
    struct text name = take_column(&line);
    if (!read_hex(id, &function.id) || !read_decimal(number, &function.line) || name.at == name.end ||
        (line.at != line.end && !are_lines(line))) {
        return 0;
    }
    if (map->count == SBX_PROVIDER_FUNCTIONS_MAX) {
        return -E2BIG;
    }
    if (map->count == map->room) {
        size_t room = map->room == 0 ? 256 : 2 * map->room;
        struct sbx_provider_function *grown = reallocarray(map->functions, room, sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        map->functions = grown;
        map->room = room;
    }
    function.file = keep(map, file);
    function.function = keep(map, name);
    function.lines = keep(map, line);
    if (function.file == NULL || function.function == NULL || function.lines == NULL) {
        return -ENOMEM;
    }
    map->functions[map->count++] = function;
    map->is_sorted = false;
    return 1;
}

/* ---- files ---- */

static struct text take_line(struct text *text)
{
    const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
    struct text line = {text->at, newline != NULL ? newline : text->end};
    text->at = newline != NULL ? newline + 1 : text->end;
    return line;
}

/* The number of the runtime that a file's first line names; 0: it is not such a file. */
static int add_name(struct sbx_provider_map *map, struct text line, uint64_t *provider_out)
{
    struct text words = take_column(&line);
    size_t length = strlen(FIRST_WORDS);
    if ((size_t)(words.end - words.at) != length || memcmp(words.at, FIRST_WORDS, length) != 0 || line.at == line.end ||
        line.end - line.at > 23) {
        return -EPROTO;
    }
    const char *name = keep(map, line);
    if (name == NULL) {
        return -ENOMEM;
    }
    *provider_out = sbx_provider_number(name);
    if (sbx_provider_map_name(map, *provider_out) == NULL) {
        if (map->name_count == SBX_PROVIDER_NAMES_MAX) {
            return -E2BIG;
        }
        map->names[map->name_count++] = (struct name){*provider_out, name};
    }
    return 0;
}

int sbx_provider_map_add(struct sbx_provider_map *map, const char *text, size_t bytes)
{
    struct text rest = {text, text + bytes};
    uint64_t provider = 0;
    int added = 0;
    if (bytes > SBX_PROVIDER_FILE_BYTES_MAX) {
        return -E2BIG;
    }
    if (bytes == 0) {
        return -EPROTO;
    }
    int result = add_name(map, take_line(&rest), &provider);
    while (result >= 0 && rest.at < rest.end) {
        struct text line = take_line(&rest);
        if (line.end - line.at <= SBX_PROVIDER_LINE_BYTES_MAX) {
            result = add_function(map, provider, line);
            added += result > 0;
        }
    }
    return result < 0 ? result : added;
}

static int is_map(const struct dirent *entry)
{
    return fnmatch("provider-*.map", entry->d_name, FNM_PERIOD) == 0;
}

static int add_file(struct sbx_provider_map *map, int folder, const char *name)
{
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not block this */
    if (fd < 0) {
        return 0;
    }
    int result = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        status.st_size <= SBX_PROVIDER_FILE_BYTES_MAX) {
        char *text = malloc((size_t)status.st_size);
        ssize_t got = text != NULL ? pread(fd, text, (size_t)status.st_size, 0) : -1;
        result = text == NULL ? -ENOMEM : got > 0 ? sbx_provider_map_add(map, text, (size_t)got) : 0;
        free(text);
    }
    close(fd);
    return result == -ENOMEM ? result : 0;
}

int sbx_provider_map_add_folder(struct sbx_provider_map *map, const char *folder)
{
    struct dirent **entries;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = fd >= 0 ? scandir(folder, &entries, is_map, alphasort) : -1;
    int result = 0;
    for (int i = 0; i < count; i++) {
        result = result == 0 ? add_file(map, fd, entries[i]->d_name) : result;
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
    if (fd >= 0) {
        close(fd);
    }
    return result;
}

/* ---- finding ---- */

static int by_id(const void *left, const void *right)
{
    const struct sbx_provider_function *a = left, *b = right;
    if (a->provider != b->provider) {
        return a->provider < b->provider ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

/* For sorting. If a function has several entries, they differ at most in file or name. The smallest line comes first,
 * so that the order of the files has no effect. */
static int by_id_and_line(const void *left, const void *right)
{
    const struct sbx_provider_function *a = left, *b = right;
    int order = by_id(left, right);
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static void sort(struct sbx_provider_map *map)
{
    if (!map->is_sorted && map->count > 0) {
        qsort(map->functions, map->count, sizeof *map->functions, by_id_and_line);
        map->is_sorted = true;
    }
}

size_t sbx_provider_map_count(const struct sbx_provider_map *map)
{
    return map->count;
}

void sbx_provider_map_each(struct sbx_provider_map *map,
                           void (*each)(void *context, const struct sbx_provider_function *function), void *context)
{
    sort(map);
    for (size_t i = 0; i < map->count; i++) {
        if (i == 0 || by_id(&map->functions[i - 1], &map->functions[i]) != 0) {
            each(context, &map->functions[i]);
        }
    }
}

const struct sbx_provider_function *sbx_provider_map_find(struct sbx_provider_map *map, uint64_t provider, uint64_t id)
{
    if (map->count == 0) {
        return NULL;
    }
    sort(map);
    const struct sbx_provider_function key = {.provider = provider, .id = id};
    const struct sbx_provider_function *found =
        bsearch(&key, map->functions, map->count, sizeof *map->functions, by_id);
    while (found != NULL && found > map->functions && by_id(found - 1, &key) == 0) {
        found--;
    }
    return found;
}

uint32_t sbx_provider_line(const struct sbx_provider_function *function, uint32_t line)
{
    if (line == 0 || function->lines[0] == '\0') {
        return line != 0 ? line : function->line;
    }
    for (const char *at = function->lines; *at != '\0';) {
        unsigned long numbers[4] = {0, 0, 0, 0}; /* from, to, source from, source to */
        static const char between[] = "-:-";
        char *end = NULL;
        for (int i = 0; i < 4; i++) {
            numbers[i] = strtoul(at, &end, 10);
            at = end;
            if (i < 3 && *at == between[i]) {
                at++;
            } else {
                break;
            }
        }
        if (line >= numbers[0] && line <= numbers[1]) {
            unsigned long written = numbers[2] + (numbers[3] > numbers[2] ? line - numbers[0] : 0);
            return written > UINT32_MAX ? function->line : (uint32_t)written;
        }
        at = strchr(at, ',');
        if (at == NULL) {
            break;
        }
        at++;
    }
    return function->line;
}

size_t sbx_provider_map_names(const struct sbx_provider_map *map)
{
    return map->name_count;
}

const char *sbx_provider_map_name(const struct sbx_provider_map *map, uint64_t provider)
{
    for (size_t i = 0; i < map->name_count; i++) {
        if (map->names[i].number == provider) {
            return map->names[i].text;
        }
    }
    return NULL;
}
