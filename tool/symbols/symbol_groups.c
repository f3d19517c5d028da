/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_groups.c - files by build-id. */
#include "symbol_groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug_link.h"
#include "file_ids.h"
#include "nameless_file.h"
#include "symbol_bundle.h"

enum {
    COMPANIONS_MAX = 64 /* files of a dSYM that are looked at */
};

/* Open a regular file; does not hang on a pipe. Returns a descriptor or -errno. */
static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return -ENOEXEC;
    }
    return fd;
}

static struct sbx_symbol_group *group_of(struct sbx_symbol_groups *groups, const uint8_t *build_id, size_t bytes)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct sbx_symbol_group *group = &groups->groups[i];
        if (group->build_id_bytes == bytes && memcmp(group->build_id, build_id, bytes) == 0) {
            return group;
        }
    }
    if (groups->count == groups->room) {
        size_t room = groups->room == 0 ? 16 : groups->room * 2;
        struct sbx_symbol_group *grown = realloc(groups->groups, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        groups->groups = grown;
        groups->room = room;
    }
    struct sbx_symbol_group *group = &groups->groups[groups->count++];
    *group = (struct sbx_symbol_group){.build_id_bytes = bytes};
    memcpy(group->build_id, build_id, bytes);
    return group;
}

static int add_path(struct sbx_symbol_group *group, const char *path)
{
    for (size_t i = 0; i < group->path_count; i++) {
        if (strcmp(group->paths[i], path) == 0) {
            return 0;
        }
    }
    if (group->path_count == SBX_ELF_PATHS_MAX) {
        return 0; /* more copies add nothing new */
    }
    group->paths[group->path_count] = strdup(path);
    if (group->paths[group->path_count] == NULL) {
        return -ENOMEM;
    }
    group->path_count++;
    return 0;
}

/* Add `path` if it is there and has the group's build-id. */
static int offer(struct sbx_symbol_group *group, const char *path)
{
    int fd = open_file(path);
    if (fd < 0) {
        return 0;
    }
    bool equals = sbx_file_has_id(fd, group->build_id, group->build_id_bytes);
    close(fd);
    return equals ? add_path(group, path) : 0;
}

/* Look for the dSYM next to `path`: a folder of the same name, with one file for each image. */
static int add_companion(struct sbx_symbol_group *group, const char *path)
{
    char folder[PATH_MAX], tried[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s.dSYM/Contents/Resources/DWARF", path), result = 0;
    DIR *files = length > 0 && (size_t)length < sizeof folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    for (int left = COMPANIONS_MAX; files != NULL && result == 0 && left > 0 && (entry = readdir(files)) != NULL;
         left--) {
        length = snprintf(tried, sizeof tried, "%s/%s", folder, entry->d_name);
        result = length > 0 && (size_t)length < sizeof tried ? offer(group, tried) : 0;
    }
    if (files != NULL) {
        closedir(files);
    }
    return result;
}

/* Look for the debug file of `path`, which is open as `fd`, where debuggers look. */
static int add_debug_file(struct sbx_symbol_group *group, const char *path, int fd)
{
    char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1], link[256], tried[PATH_MAX], folder[PATH_MAX];
    sbx_build_id_format(group->build_id, group->build_id_bytes, hex);
    snprintf(tried, sizeof tried, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    int result = offer(group, tried);
    result = result == 0 ? add_companion(group, path) : result;
    if (result != 0 || !sbx_debug_link_read(fd, link, sizeof link)) {
        return result;
    }
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path), slash == NULL ? "." : path);
    static const char *const forms[] = {"%s/%s", "%s/.debug/%s", "/usr/lib/debug%s/%s"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && result == 0; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        int length = snprintf(tried, sizeof tried, forms[i], folder, link);
#pragma GCC diagnostic pop
        result = length > 0 && (size_t)length < sizeof tried ? offer(group, tried) : 0;
    }
    return result;
}

static int add_part(struct sbx_symbol_groups *groups, const char *path)
{
    if (groups->part_count == groups->part_room) {
        size_t room = groups->part_room == 0 ? 64 : groups->part_room * 2;
        char **grown = realloc(groups->part_paths, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        groups->part_paths = grown;
        groups->part_room = room;
    }
    groups->part_paths[groups->part_count] = strdup(path);
    return groups->part_paths[groups->part_count] == NULL ? -ENOMEM : (groups->part_count++, 0);
}

static void take_parts(const struct sbx_symbol_groups *groups, const struct sbx_symbol_group *group,
                       struct sbx_split_files *files)
{
    files->count = 0;
    for (size_t i = 0; i < group->path_count; i++) {
        sbx_split_files_open_beside(files, group->paths[i]);
    }
    for (size_t i = 0; i < groups->part_count; i++) {
        sbx_split_files_open(files, groups->part_paths[i]);
    }
}

int sbx_symbol_groups_open_parts(const struct sbx_symbol_groups *groups, const struct sbx_symbol_group *group,
                                 struct sbx_split_files *files)
{
    files->bundle = NULL;
    take_parts(groups, group, files);
    if (files->count < SBX_SPLIT_PARTS_MAX) {
        return 0;
    }
    while (files->count > 0) {
        close(files->descriptors[--files->count]);
    }
    int fd = sbx_nameless_file_open();
    files->bundle = fd < 0 ? NULL : sbx_bundle_begin(fd, SBX_BUNDLE_MEMBERS_MAX);
    if (files->bundle == NULL) {
        return fd < 0 ? fd : (close(fd), -ENOMEM);
    }
    take_parts(groups, group, files);
    int result = sbx_bundle_end(files->bundle);
    files->bundle = NULL;
    if (result != 0) {
        close(fd);
        return result;
    }
    files->descriptors[files->count++] = fd;
    return 0;
}

int sbx_symbol_groups_bundle(const struct sbx_symbol_groups *groups, const struct sbx_symbol_group *group, int *fd_out)
{
    int files[SBX_ELF_PATHS_MAX], alternate = -1, fd = -1, result = 0;
    struct sbx_split_files parts = {.count = 0};
    bool is_split = false, needs_more = false;
    *fd_out = -1;
    for (size_t i = 0; i < group->path_count; i++) {
        files[i] = open_file(group->paths[i]);
        if (files[i] >= 0) {
            alternate = alternate < 0 ? sbx_debug_alternate_open(group->paths[i], files[i]) : alternate;
            is_split = is_split || sbx_debug_may_be_split(files[i]);
        }
    }
    if (alternate >= 0 || is_split) {
        fd = sbx_nameless_file_open();
        parts.bundle = fd < 0 ? NULL : sbx_bundle_begin(fd, SBX_BUNDLE_MEMBERS_MAX);
        result = fd < 0 ? fd : parts.bundle == NULL ? -ENOMEM : 0;
    }
    for (size_t i = 0; i < group->path_count && parts.bundle != NULL; i++) {
        if (files[i] >= 0) {
            (void)sbx_bundle_add(parts.bundle, SBX_BUNDLE_PROGRAM, files[i]);
        }
    }
    if (parts.bundle != NULL) {
        size_t before = sbx_bundle_count(parts.bundle);
        if (alternate >= 0) {
            (void)sbx_bundle_add(parts.bundle, SBX_BUNDLE_ALTERNATE, alternate);
        }
        if (is_split) {
            take_parts(groups, group, &parts);
        }
        needs_more = sbx_bundle_count(parts.bundle) > before;
        result = sbx_bundle_end(parts.bundle);
    }
    for (size_t i = 0; i < group->path_count; i++) {
        if (files[i] >= 0) {
            close(files[i]);
        }
    }
    if (alternate >= 0) {
        close(alternate);
    }
    if (fd >= 0 && (result != 0 || !needs_more)) {
        close(fd);
        fd = -1;
    }
    *fd_out = fd;
    return result;
}

static int add_file(struct sbx_symbol_groups *groups, const char *path, const char **why_out)
{
    struct sbx_file_id ids[SBX_FILE_IDS_MAX];
    *why_out = NULL;
    if (sbx_split_files_is_part(path)) {
        return add_part(groups, path);
    }
    int fd = open_file(path);
    if (fd < 0) {
        return fd;
    }
    size_t count = sbx_file_ids_read(fd, ids, why_out);
    int result = count == 0 ? -ENOEXEC : 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct sbx_symbol_group *group = group_of(groups, ids[i].bytes, ids[i].byte_count);
        result = group == NULL ? -ENOMEM : add_path(group, path);
        result = result == 0 ? add_debug_file(group, path, fd) : result;
    }
    close(fd);
    return result;
}

/* Add all files below the folder. Links are not followed, because they could form circles. */
static int add_folder(struct sbx_symbol_groups *groups, const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (walk == NULL) {
        return -errno;
    }
    int result = 0;
    const char *why;
    const FTSENT *entry;
    while (result == 0 && (entry = fts_read(walk)) != NULL) {
        if (entry->fts_info == FTS_F) {
            result = add_file(groups, entry->fts_path, &why);
            result = result == -ENOMEM ? result : 0; /* a file that is no program is skipped */
        }
    }
    fts_close(walk);
    return result;
}

int sbx_symbol_groups_add(struct sbx_symbol_groups *groups, const char *path, const char **why_out)
{
    *why_out = NULL;
    struct stat status;
    if (stat(path, &status) != 0) {
        return -errno;
    }
    return S_ISDIR(status.st_mode) ? add_folder(groups, path) : add_file(groups, path, why_out);
}

void sbx_symbol_groups_finish(struct sbx_symbol_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        for (size_t k = 0; k < groups->groups[i].path_count; k++) {
            free(groups->groups[i].paths[k]);
        }
    }
    free(groups->groups);
    for (size_t i = 0; i < groups->part_count; i++) {
        free(groups->part_paths[i]);
    }
    free(groups->part_paths);
    *groups = (struct sbx_symbol_groups){0};
}

void sbx_symbol_group_name(const struct sbx_symbol_group *group, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s", "");
    for (size_t i = 0; i < group->path_count; i++) {
        const char *slash = strrchr(group->paths[i], '/');
        const char *name = slash == NULL ? group->paths[i] : slash + 1;
        size_t length = strlen(name);
        bool is_debug = length > 6 && strcmp(name + length - 6, ".debug") == 0;
        if (strstr(group->paths[i], ".build-id/") != NULL) {
            continue; /* its name is its build-id */
        }
        if (!is_debug) {
            snprintf(out, bytes, "%s", name);
            return;
        }
        snprintf(out, bytes, "%.*s", (int)length - 6, name);
    }
}
