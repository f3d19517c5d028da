/* SPDX-License-Identifier: Apache-2.0 */
/* file_locks.c - lines of /proc/locks. */
#include "file_locks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One line: its number, whether it waits, whose it is. */
struct line {
    uint64_t number, inode;
    long pid;
    bool waits;
};

/* What comes behind so many words of a line; NULL: it has fewer. */
static const char *behind_words(const char *at, const char *end, int words)
{
    for (int i = 0; i < words; i++) {
        while (at < end && *at != ' ') {
            at++;
        }
        while (at < end && *at == ' ') {
            at++;
        }
    }
    return at < end ? at : NULL;
}

/* "fe:00:10953472": device and inode. */
static uint64_t inode_of(const char *at, const char *end)
{
    for (int colons = 0; at < end && colons < 2; at++) {
        colons += *at == ':';
    }
    return at < end ? strtoull(at, NULL, 10) : 0;
}

static bool parse(const char *at, const char *end, struct line *line_out)
{
    char *behind;
    *line_out = (struct line){.number = strtoull(at, &behind, 10)};
    if (behind == at || behind >= end || *behind != ':') {
        return false;
    }
    at = behind + 1;
    while (at < end && *at == ' ') {
        at++;
    }
    line_out->waits = end - at > 2 && at[0] == '-' && at[1] == '>';
    at = line_out->waits ? behind_words(at, end, 1) : at;
    at = at != NULL ? behind_words(at, end, 3) : NULL; /* kind, advisory or not, read or write */
    if (at == NULL) {
        return false;
    }
    line_out->pid = strtol(at, NULL, 10);
    at = behind_words(at, end, 1);
    line_out->inode = at != NULL ? inode_of(at, end) : 0;
    return at != NULL;
}

uint32_t sbx_file_lock_holder(const char *text, uint32_t pid, uint64_t inode)
{
    struct line holder = {.pid = 0}, line;
    long found = 0;
    for (const char *at = text; *at != '\0';) {
        const char *end = strchr(at, '\n');
        end = end != NULL ? end : at + strlen(at);
        bool is_line = parse(at, end, &line);
        if (is_line && !line.waits) {
            holder = line;
        } else if (is_line && line.pid == (long)pid && line.number == holder.number &&
                   (inode == 0 || inode == line.inode)) {
            if (found != 0 && found != holder.pid) {
                return 0;
            }
            found = holder.pid;
        }
        at = *end != '\0' ? end + 1 : end;
    }
    return found > 0 && found <= INT32_MAX && found != (long)pid ? (uint32_t)found : 0;
}
