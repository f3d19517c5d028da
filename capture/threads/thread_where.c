/* SPDX-License-Identifier: Apache-2.0 */
/* thread_where.c - parses one line from the kernel. */
#include "thread_where.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last space before `from`; NULL: there is none. */
static const char *space_before(const char *text, const char *from)
{
    while (from > text) {
        from--;
        if (*from == ' ') {
            return from;
        }
    }
    return NULL;
}

bool sbx_where_parse(const char *text, struct sbx_where *where_out)
{
    memset(where_out, 0, sizeof *where_out);
    if (strncmp(text, "running", 7) == 0) {
        return true;
    }
    where_out->is_blocked = true;
    char *after;
    where_out->call = strtoll(text, &after, 10);
    where_out->arguments[0] = strtoull(after, &after, 16);
    where_out->arguments[1] = strtoull(after, &after, 16);
    /* "NR a1 a2 a3 a4 a5 a6 SP PC", or "-1 SP PC": the last two words. */
    const char *last = strrchr(text, ' ');
    const char *before = last != NULL ? space_before(text, last) : NULL;
    if (before == NULL) {
        return false;
    }
    where_out->pc = strtoull(last + 1, NULL, 16);
    where_out->sp = strtoull(before + 1, NULL, 16);
    return where_out->sp != 0;
}

bool sbx_where_read(uint32_t tid, struct sbx_where *where_out)
{
    char path[48], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) {
        return false;
    }
    text[got] = 0;
    return sbx_where_parse(text, where_out);
}
