/* SPDX-License-Identifier: Apache-2.0 */
/* control_group.c - finds control groups by /proc/self/mountinfo and /proc/self/cgroup, and makes them by mkdir. */
#include "control_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_case.h"

/* Is `word` an element of this comma-separated list? */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == 0 || at[length] == '\n')) {
            return true;
        }
    }
    return false;
}

/* Find where the hierarchy is mounted, and which part of it the mount shows (proc_pid_mountinfo(5)). */
static bool find_mount(int version, const char *controller, char root_out[256], char point_out[256])
{
    char line[1024], root[256], point[256], type[32], options[256];
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    bool is_found = false;
    while (mounts != NULL && !is_found && fgets(line, sizeof line, mounts) != NULL) {
        const char *behind = strstr(line, " - ");
        if (behind == NULL || sscanf(line, "%*s %*s %*s %255s %255s", root, point) != 2 ||
            sscanf(behind, " - %31s %*s %255s", type, options) != 2) {
            continue;
        }
        is_found =
            version == 2 ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && has_word(options, controller);
    }
    if (mounts != NULL) {
        fclose(mounts);
    }
    if (is_found) {
        snprintf(root_out, 256, "%s", root);
        snprintf(point_out, 256, "%s", point);
    }
    return is_found;
}

/* Find the group of this process. */
static bool find_own(int version, const char *controller, char path_out[256])
{
    char line[512];
    FILE *groups = fopen("/proc/self/cgroup", "re");
    bool is_found = false;
    while (groups != NULL && !is_found && fgets(line, sizeof line, groups) != NULL) {
        char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        is_found = version == 2 ? controllers[1] == 0 : has_word(controllers + 1, controller);
        snprintf(path_out, 256, "%.255s", path);
    }
    if (groups != NULL) {
        fclose(groups);
    }
    return is_found;
}

/* A test that was killed leaves its group behind. Groups that are still in use stay. */
static void remove_leftovers(const char *parent)
{
    DIR *listing = opendir(parent);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        if (strncmp(entry->d_name, "sbx-host-", 9) == 0 && kill(atoi(entry->d_name + 9), 0) != 0 && errno == ESRCH) {
            unlinkat(dirfd(listing), entry->d_name, AT_REMOVEDIR);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
}

bool control_group_make(int version, const char *controller, const char *control, struct control_group *out,
                        const char **why_out)
{
    char root[256], point[256], own[256], parent[512];
    if (!find_mount(version, controller, root, point) || !find_own(version, controller, own)) {
        *why_out = version == 2 ? "there are no control groups of version 2 here"
                                : "there is no hierarchy of version 1 for this controller here";
        return false;
    }
    /* In a container that shares the cgroup namespace the mount shows only a part of the hierarchy, but our path begins
     * at its root. */
    size_t hidden = strcmp(root, "/") != 0 && strncmp(own, root, strlen(root)) == 0 ? strlen(root) : 0;
    snprintf(parent, sizeof parent, "%.200s%.255s", point, own + hidden);
    remove_leftovers(parent);
    if (snprintf(out->folder, sizeof out->folder, "%.400s/sbx-host-%d", parent, (int)getpid()) >=
            (int)sizeof out->folder ||
        mkdir(out->folder, 0755) != 0) {
        *why_out =
            "no control group can be made below our own: that takes root, and a file system that is not read-only";
        return false;
    }
    out->version = version;
    char path[640];
    snprintf(path, sizeof path, "%s/%s", out->folder, control);
    if (access(path, W_OK) != 0) {
        rmdir(out->folder);
        *why_out = "the controller is not handed on to groups below our own";
        return false;
    }
    return true;
}

bool control_group_set(const struct control_group *group, const char *file, const char *text)
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", group->folder, file);
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return is_written;
}

long control_group_read(const struct control_group *group, const char *file, const char *word)
{
    char path[640], line[256];
    long value = -1;
    snprintf(path, sizeof path, "%s/%s", group->folder, file);
    FILE *lines = fopen(path, "re");
    while (lines != NULL && value < 0 && fgets(line, sizeof line, lines) != NULL) {
        size_t length = word != NULL ? strlen(word) : 0;
        if (word == NULL || (strncmp(line, word, length) == 0 && line[length] == ' ')) {
            value = strtol(line + length, NULL, 10);
        }
    }
    if (lines != NULL) {
        fclose(lines);
    }
    return value;
}

bool control_group_enter(const struct control_group *group, pid_t pid)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    return control_group_set(group, "cgroup.procs", text);
}

void control_group_remove(const struct control_group *group)
{
    for (int i = 0; i < 100 && rmdir(group->folder) != 0; i++) {
        host_pause_ms(20);
    }
}

void control_group_make_with_memory(const char *bytes, struct control_group *group)
{
    const char *why = "", *why_second = "";
    bool is_made = control_group_make(1, "memory", "memory.limit_in_bytes", group, &why) ||
                   control_group_make(2, "memory", "memory.max", group, &why_second);
    if (!is_made) {
        fprintf(stderr, "version 1: %s; ", why);
        host_skip(why_second);
    }
    bool is_second = group->version == 2;
    bool is_limited = control_group_set(group, is_second ? "memory.max" : "memory.limit_in_bytes", bytes);
    control_group_set(group, is_second ? "memory.swap.max" : "memory.memsw.limit_in_bytes", is_second ? "0" : bytes);
    if (!is_limited) {
        control_group_remove(group);
    }
    assert_true(is_limited);
}
