/* SPDX-License-Identifier: Apache-2.0 */
/* memory_kills.c - the kernel's count of processes that it killed for lack of memory. */
#include "memory_kills.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char of_the_machine[] = "/proc/vmstat";

/* Read the number after "oom_kill " at the start of a line; -1: the file has none. */
static long read_count(const char *path)
{
    static const char word[] = "oom_kill ";
    char line[512];
    long count = -1;
    FILE *file = fopen(path, "re");
    while (file != NULL && count < 0 && fgets(line, sizeof line, file) != NULL) {
        count = strncmp(line, word, sizeof word - 1) == 0 ? strtol(line + sizeof word - 1, NULL, 10) : -1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static bool take(struct sbx_memory_kills *kills, const char *path)
{
    long count = read_count(path);
    if (count >= 0) {
        bool is_same = strcmp(kills->path, path) == 0;
        snprintf(kills->path, sizeof kills->path, "%s", path);
        kills->count = is_same ? kills->newest : count;
        kills->newest = count;
    }
    return count >= 0;
}

/* Take one line of /proc/PID/cgroup: "0::/GROUP", or "4:memory:/GROUP". In a container with its own cgroup namespace,
 * the mounted folder is its own group. */
static bool take_group(struct sbx_memory_kills *kills, const char *line)
{
    char path[PATH_MAX];
    const char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) {
        return false;
    }
    int length = (int)strcspn(group + 1, "\n");
    bool is_second = strncmp(line, "0::", 3) == 0, has_memory = false;
    for (const char *at = controllers + 1; at < group; at += strcspn(at, ",:") + 1) {
        has_memory |= strncmp(at, "memory", 6) == 0 && (at[6] == ',' || at[6] == ':');
    }
    if (!is_second && !has_memory) {
        return false;
    }
    const char *mount = is_second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char *file = is_second ? "memory.events" : "memory.oom_control";
    bool fits = snprintf(path, sizeof path, "%s%.*s/%s", mount, length, group + 1, file) < (int)sizeof path;
    if (fits && take(kills, path)) {
        return true;
    }
    snprintf(path, sizeof path, "%s/%s", mount, file);
    return take(kills, path);
}

/* Has the process ended, or begun to? Version 1 then counts it to the root group. */
static bool is_ending(pid_t pid)
{
    enum {
        PF_EXITING = 4 /* include/linux/sched.h; proc(5) has the flags as the ninth field of stat */
    };
    char path[64], text[512], state;
    unsigned flags;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t bytes = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[bytes] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end == NULL || sscanf(name_end + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2 ||
           state == 'Z' || state == 'X' || (flags & PF_EXITING) != 0;
}

void sbx_memory_kills_look(struct sbx_memory_kills *kills, pid_t pid)
{
    char path[64], line[PATH_MAX];
    struct sbx_memory_kills now = *kills;
    bool is_taken = false;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    FILE *groups = fopen(path, "re");
    while (groups != NULL && !is_taken && fgets(line, sizeof line, groups) != NULL) {
        is_taken = take_group(&now, line);
    }
    if (groups != NULL) {
        fclose(groups);
    }
    if (!is_taken && !take(&now, of_the_machine)) {
        now.path[0] = '\0'; /* no kill is reported */
    }
    if (!is_ending(pid)) { /* else the counts of the looks before stay valid */
        *kills = now;
    }
}

bool sbx_memory_kills_have_grown(const struct sbx_memory_kills *kills)
{
    return kills->path[0] != '\0' && read_count(kills->path) > kills->count;
}
