/* SPDX-License-Identifier: Apache-2.0 */
/* watch_names.c - the names of watches and deadlines, if the recording machine stored them. */
#include "watch_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MAX = 4096,
    NAME_BYTES = 64, /* a name in a recording has 47 */
    DIGITS = 10
};

struct sbx_watch_names {
    size_t count;
    struct {
        uint64_t what;
        char name[NAME_BYTES];
    } entries[NAMES_MAX];
};

struct sbx_watch_names *sbx_watch_names_create(void)
{
    return calloc(1, sizeof(struct sbx_watch_names));
}

void sbx_watch_names_destroy(struct sbx_watch_names *names)
{
    free(names);
}

const char *sbx_watch_names_find(const struct sbx_watch_names *names, uint64_t what)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->entries[i].what == what) {
            return names->entries[i].name;
        }
    }
    return NULL;
}

/* "=HASH NAME", the hash in ten lower hex digits; `line` without its end. */
static void take_line(struct sbx_watch_names *names, const char *line)
{
    if (line[0] != '=' || strspn(line + 1, "0123456789abcdef") != DIGITS || line[1 + DIGITS] != ' ') {
        return;
    }
    const char *name = line + DIGITS + 2;
    uint64_t what = strtoull(line + 1, NULL, 16);
    if (name[0] != '\0' && strlen(name) < NAME_BYTES && names->count < NAMES_MAX &&
        sbx_watch_names_find(names, what) == NULL) {
        names->entries[names->count].what = what;
        strcpy(names->entries[names->count++].name, name);
    }
}

int sbx_watch_names_add_index(struct sbx_watch_names *names, const char *index_path)
{
    FILE *index = fopen(index_path, "re");
    if (index == NULL) {
        return -errno;
    }
    char line[NAME_BYTES + DIGITS + 4];
    bool is_begin = true; /* begin of a line; a longer line is read in pieces */
    while (fgets(line, sizeof line, index) != NULL) {
        size_t length = strcspn(line, "\n");
        bool is_end = line[length] == '\n';
        line[length] = '\0';
        if (is_begin && is_end) {
            take_line(names, line);
        }
        is_begin = is_end;
    }
    int result = ferror(index) ? -EIO : 0;
    fclose(index);
    return result;
}
