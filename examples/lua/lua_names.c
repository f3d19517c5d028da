/* SPDX-License-Identifier: Apache-2.0 */
/* lua_names.c - finds names for the functions of a Lua source by the places of their definitions.
 *
 * Functions in Lua have no names; people know them by the variables to which they are assigned. So this code reads the
 * source: just enough of Lua's grammar to distinguish code from strings and comments, and to find each "function" with
 * its name and line. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <stallbox/stallbox.h>

#include "stallbox_lua.h"

struct source {
    const char *at, *end;
    uint32_t line;
};

static char look(const struct source *source, size_t ahead)
{
    return (size_t)(source->end - source->at) > ahead ? source->at[ahead] : '\0';
}

static void skip(struct source *source, size_t count)
{
    for (; count > 0 && source->at < source->end; count--) {
        source->line += *source->at++ == '\n';
    }
}

/* At "[[" or "[==[": skips behind the closing bracket. False: it is no such bracket. */
static bool skip_long(struct source *source)
{
    size_t level = 0;
    while (look(source, 1 + level) == '=') {
        level++;
    }
    if (look(source, 0) != '[' || look(source, 1 + level) != '[') {
        return false;
    }
    for (skip(source, level + 2); source->at < source->end; skip(source, 1)) {
        size_t equals = 0;
        while (look(source, 0) == ']' && equals < level && look(source, 1 + equals) == '=') {
            equals++;
        }
        if (look(source, 0) == ']' && equals == level && look(source, 1 + level) == ']') {
            skip(source, level + 2);
            break;
        }
    }
    return true;
}

static void skip_string(struct source *source)
{
    char quote = look(source, 0);
    for (skip(source, 1); source->at < source->end && look(source, 0) != quote && look(source, 0) != '\n';) {
        skip(source, look(source, 0) == '\\' ? 2 : 1);
    }
    skip(source, 1);
}

/* Skips blanks and comments. */
static void skip_blank(struct source *source)
{
    while (source->at < source->end) {
        if (isspace((unsigned char)look(source, 0))) {
            skip(source, 1);
        } else if (look(source, 0) == '-' && look(source, 1) == '-') {
            skip(source, 2);
            if (!skip_long(source)) {
                while (source->at < source->end && look(source, 0) != '\n') {
                    skip(source, 1);
                }
            }
        } else {
            return;
        }
    }
}

/* Reads a name with its dots and colon, cut to the available room. */
static void take_name(struct source *source, char name[128])
{
    size_t length = 0;
    while (isalnum((unsigned char)look(source, 0)) || strchr("_.:", look(source, 0)) != NULL) {
        if (source->at == source->end) {
            break;
        }
        if (length < 127) {
            name[length++] = look(source, 0);
        }
        skip(source, 1);
    }
    name[length] = '\0';
}

static void write_function(FILE *map, const char *chunk, uint32_t line, const char *name)
{
    fprintf(map, "%016llx\t%u\t%s\t%s\n", (unsigned long long)stallbox_function_id(chunk, strlen(chunk), line, NULL),
            line, chunk, name);
}

void stallbox_lua_begin_names(FILE *map)
{
    fputs("stallbox-provider-map 1\tlua\n", map);
}

void stallbox_lua_write_names(FILE *map, const char *chunk, const char *text, size_t bytes)
{
    struct source source = {text, text + bytes, 1};
    char last[128] = "", name[128];
    bool is_assigned = false, is_local = false;
    chunk += chunk[0] == '@' || chunk[0] == '=';
    write_function(map, chunk, 0, "main chunk");
    for (skip_blank(&source); source.at < source.end; skip_blank(&source)) {
        char c = look(&source, 0);
        if (isalpha((unsigned char)c) || c == '_') {
            uint32_t line = source.line;
            take_name(&source, name);
            if (strcmp(name, "function") != 0) {
                is_local = strcmp(name, "local") == 0;
                memcpy(last, name, sizeof last);
                is_assigned = false;
                continue;
            }
            skip_blank(&source);
            if (look(&source, 0) != '(') {
                take_name(&source, name);
                skip_blank(&source);
                write_function(map, chunk, is_local ? source.line : line, name); /* as in Lua's own parser */
            } else {
                write_function(map, chunk, source.line, is_assigned ? last : "anonymous function");
            }
            is_assigned = false;
        } else if (c == '"' || c == '\'') {
            skip_string(&source);
            is_assigned = false;
        } else if (c != '[' || !skip_long(&source)) {
            is_assigned = c == '=' && look(&source, 1) != '=';
            skip(&source, c == '=' && look(&source, 1) == '=' ? 2 : 1);
        }
    }
}
