/* SPDX-License-Identifier: Apache-2.0 */
/* file_locks.c - lines of /proc/locks. */
#include "file_locks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    OF_OPEN_FILE = -1
};

/* One line: the lock's number, whether the line is a waiter's, and the process. */
struct line {
    uint64_t number, inode;
    long pid; /* OF_OPEN_FILE: belongs to no process */
    bool waits;
    const char *kind; /* start of the text after the number */
};

/* The text after `words` words of a line; NULL: the line has fewer. */
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
    line_out->kind = at;
    at = at != NULL ? behind_words(at, end, 3) : NULL; /* kind, advisory or not, read or write */
    if (at == NULL) {
        return false;
    }
    line_out->pid = strtol(at, NULL, 10);
    at = behind_words(at, end, 1);
    line_out->inode = at != NULL ? inode_of(at, end) : 0;
    return at != NULL;
}

static bool is_wait_of(const struct line *line, uint32_t pid, uint64_t inode)
{
    bool is_open_files = line->pid == OF_OPEN_FILE && inode != 0;
    return line->waits && (line->pid == (long)pid || is_open_files) && (inode == 0 || inode == line->inode);
}

/* Finds the line of the lock that `pid` waits for. False: there is none, or two answers are possible. */
static bool find_holder(const char *text, uint32_t pid, uint64_t inode, struct line *found)
{
    struct line holder = {.pid = 0}, line;
    *found = holder;
    for (const char *at = text; *at != '\0';) {
        const char *end = strchr(at, '\n');
        end = end != NULL ? end : at + strlen(at);
        bool is_line = parse(at, end, &line);
        if (is_line && !line.waits) {
            holder = line;
        } else if (is_line && line.number == holder.number && is_wait_of(&line, pid, inode)) {
            bool is_other = found->pid != holder.pid || (holder.pid == OF_OPEN_FILE && found->number != holder.number);
            if (found->pid != 0 && is_other) {
                return false;
            }
            *found = holder;
        }
        at = *end != '\0' ? end + 1 : end;
    }
    return found->pid != 0;
}

uint32_t sbx_file_lock_holder(const char *text, uint32_t pid, uint64_t inode)
{
    struct line found;
    bool is_process = find_holder(text, pid, inode, &found) && found.pid > 0 && found.pid <= INT32_MAX;
    return is_process && found.pid != (long)pid ? (uint32_t)found.pid : 0;
}

const char *sbx_file_lock_of_open_file(const char *text, uint32_t pid, uint64_t inode)
{
    struct line found;
    return find_holder(text, pid, inode, &found) && found.pid == OF_OPEN_FILE ? found.kind : NULL;
}
