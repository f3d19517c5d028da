/* SPDX-License-Identifier: Apache-2.0 */
/* unit_search.c - finds unit files in folders, or with systemctl. */
#include "unit_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Earlier folders have priority for the same name. */
static const char *const folders[] = {
    "/etc/systemd/system.control",  "/run/systemd/system.control",   "/run/systemd/transient",
    "/run/systemd/generator.early", "/etc/systemd/system",           "/run/systemd/system",
    "/run/systemd/generator",       "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    "/lib/systemd/system",          "/run/systemd/generator.late",
};

enum {
    FOLDERS = sizeof folders / sizeof folders[0],
    DROP_INS_MAX = 256,
    PATH_BYTES = PATH_MAX
};

bool sbx_unit_name(const char *typed, char name_out[256])
{
    static const char suffix[] = ".service";
    size_t length = strlen(typed), suffix_length = sizeof suffix - 1;
    if (length > suffix_length && strcmp(typed + length - suffix_length, suffix) == 0) {
        length -= suffix_length;
    }
    if (length == 0 || length >= 240 || typed[0] == '.' || typed[0] == '@' ||
        strspn(typed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@") < length) {
        return false;
    }
    memcpy(name_out, typed, length);
    name_out[length] = '\0';
    return true;
}

/* Read the whole file, with a zero at the end; NULL with errno. Given: free(). */
static char *read_stream(FILE *file, size_t *bytes_out)
{
    size_t room = 65536, used = 0, got;
    char *text = malloc(room);
    while (text != NULL && (got = fread(text + used, 1, room - used - 1, file)) > 0) {
        used += got;
        if (used > SBX_UNIT_FILE_BYTES_MAX) {
            free(text);
            errno = EFBIG;
            return NULL;
        }
        if (used == room - 1) {
            char *grown = realloc(text, room *= 2);
            if (grown == NULL) {
                free(text);
            }
            text = grown;
        }
    }
    if (text != NULL) {
        text[used] = '\0';
        *bytes_out = used;
    } else {
        errno = ENOMEM;
    }
    return text;
}

static int add_path(struct sbx_unit_file *unit, const char *path)
{
    struct stat status;
    size_t bytes = 0;
    if (stat(path, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return -EINVAL;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -errno;
    }
    char *text = read_stream(file, &bytes);
    int result = text != NULL ? sbx_unit_file_add(unit, text, bytes) : -errno;
    free(text);
    fclose(file);
    return result;
}

/* "postgresql@" for "postgresql@15-main"; "": it is not an instance. */
static void template_of(const char *name, char template_out[256])
{
    const char *at = strchr(name, '@');
    template_out[0] = '\0';
    if (at != NULL && at[1] != '\0') {
        snprintf(template_out, 256, "%.*s", (int)(at - name + 1), name);
    }
}

/* Find NAME.SUFFIX; false: it does not exist. */
static bool find_file(const char *root, const char *name, const char *suffix, char path_out[PATH_BYTES])
{
    char template[256];
    template_of(name, template);
    const char *const names[] = {name, template};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < FOLDERS && names[k][0] != '\0'; i++) {
            int length = snprintf(path_out, PATH_BYTES, "%s%s/%s.%s", root, folders[i], names[k], suffix);
            struct stat status;
            if (length < PATH_BYTES && stat(path_out, &status) == 0 &&
                (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode))) {
                return true;
            }
        }
    }
    return false;
}

bool sbx_unit_has_socket(const char *root, const char *name)
{
    char path[PATH_BYTES];
    return find_file(root, name, "socket", path);
}

struct drop_ins {
    char *paths[DROP_INS_MAX]; /* sorted by file name; each name once */
    size_t count;
};

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

static void add_drop_in(struct drop_ins *drop_ins, const char *folder, const char *name)
{
    size_t at = 0, length = strlen(name);
    if (length < 6 || strcmp(name + length - 5, ".conf") != 0 || strcmp(name, SBX_UNIT_DROP_IN) == 0 ||
        drop_ins->count == DROP_INS_MAX) {
        return;
    }
    while (at < drop_ins->count && strcmp(name_of(drop_ins->paths[at]), name) < 0) {
        at++;
    }
    if (at < drop_ins->count && strcmp(name_of(drop_ins->paths[at]), name) == 0) {
        return; /* a file of an earlier folder has this name */
    }
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        return;
    }
    memmove(drop_ins->paths + at + 1, drop_ins->paths + at, (drop_ins->count - at) * sizeof drop_ins->paths[0]);
    drop_ins->paths[at] = path;
    drop_ins->count++;
}

static void find_drop_ins(const char *root, const char *name, struct drop_ins *drop_ins)
{
    char template[256], path[PATH_BYTES];
    template_of(name, template);
    const char *const names[] = {name, template, ""};
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < FOLDERS; i++) {
            bool is_for_all = k == 2; /* service.d */
            if ((names[k][0] == '\0' && !is_for_all) ||
                snprintf(path, sizeof path, "%s%s/%s%sservice.d", root, folders[i], names[k], is_for_all ? "" : ".") >=
                    (int)sizeof path) {
                continue;
            }
            DIR *folder = opendir(path);
            for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL;
                 entry = readdir(folder)) {
                add_drop_in(drop_ins, path, entry->d_name);
            }
            if (folder != NULL) {
                closedir(folder);
            }
        }
    }
}

static int read_folders(const char *root, const char *name, struct sbx_unit_file *unit, char *why, size_t why_bytes)
{
    char path[PATH_BYTES];
    static struct drop_ins drop_ins;
    struct stat status;
    drop_ins.count = 0;
    if (!find_file(root, name, "service", path)) {
        snprintf(why, why_bytes, "%s.service is in none of the folders of units%s%s", name,
                 root[0] != '\0' ? " below " : "", root);
        return -ENOENT;
    }
    if (stat(path, &status) == 0 && (S_ISCHR(status.st_mode) || status.st_size == 0)) {
        snprintf(why, why_bytes, "%s.service is masked", name);
        return -EINVAL;
    }
    int result = add_path(unit, path);
    find_drop_ins(root, name, &drop_ins);
    for (size_t i = 0; i < drop_ins.count; i++) {
        if (result == 0) {
            snprintf(path, sizeof path, "%s", drop_ins.paths[i]);
            result =
                stat(path, &status) == 0 && S_ISREG(status.st_mode) ? add_path(unit, path) : 0; /* /dev/null: masked */
        }
        free(drop_ins.paths[i]);
    }
    if (result != 0) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
    }
    return result;
}

/* Read the output of `systemctl cat`: each file follows a line "# PATH". */
static int add_cat(struct sbx_unit_file *unit, const char *text, size_t bytes)
{
    size_t begin = 0, at = 0;
    bool is_ours = false;
    int result = 0;
    while (at <= bytes && result == 0) {
        const char *end = at < bytes ? memchr(text + at, '\n', bytes - at) : NULL;
        size_t length = end != NULL ? (size_t)(end - text) - at : bytes - at;
        bool is_mark = length > 3 && memcmp(text + at, "# /", 3) == 0 && (at == 0 || text[at - 1] == '\n');
        if (is_mark || at == bytes) {
            result = is_ours ? 0 : sbx_unit_file_add(unit, text + begin, at - begin);
            begin = at;
            size_t own = sizeof SBX_UNIT_DROP_IN - 1;
            is_ours = length > own && memcmp(text + at + length - own, SBX_UNIT_DROP_IN, own) == 0;
        }
        if (at == bytes) {
            break;
        }
        at += length + (end != NULL);
    }
    return result;
}

static int read_systemctl(const char *name, struct sbx_unit_file *unit, char *why, size_t why_bytes)
{
    char service[300];
    char *arguments[] = {"systemctl", "--no-pager", "cat", "--", service, NULL};
    int ends[2], status = 0;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    snprintf(service, sizeof service, "%s.service", name);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return -error;
    }
    size_t bytes = 0;
    FILE *file = fdopen(ends[0], "re");
    char *text = file != NULL ? read_stream(file, &bytes) : NULL;
    if (file != NULL) {
        fclose(file);
    } else {
        close(ends[0]);
    }
    waitpid(pid, &status, 0);
    int result = text == NULL ? -ENOMEM : status != 0 ? -ENOENT : add_cat(unit, text, bytes);
    free(text);
    if (result != 0) {
        snprintf(why, why_bytes, "systemctl does not show %s", service);
    }
    return result;
}

int sbx_unit_read(const char *root, const char *name, struct sbx_unit_file *unit_out, char *why, size_t why_bytes)
{
    *unit_out = (struct sbx_unit_file){0};
    int result = -ENOENT;
    if (root[0] == '\0' && access("/run/systemd/system", F_OK) == 0 && strchr(name, '@') == NULL) {
        result = read_systemctl(name, unit_out, why, why_bytes);
    }
    if (result != 0) {
        sbx_unit_file_free(unit_out);
        result = read_folders(root, name, unit_out, why, why_bytes);
    }
    if (result != 0) {
        sbx_unit_file_free(unit_out);
    }
    return result;
}
