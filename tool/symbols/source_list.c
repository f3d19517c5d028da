/* SPDX-License-Identifier: Apache-2.0 */
/* source_list.c - decides which files are sources, and the names that a runtime gives them. */
#include "source_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "script_map.h"

enum {
    DEPTH_MAX = 64, /* folders below each other */
    SOURCES_MAX = 1 << 20,
    SOURCE_BYTES_MAX = 256 << 20,
};

static bool has_ending(const char *path, const char *const *endings)
{
    size_t length = strlen(path);
    for (; *endings != NULL; endings++) {
        size_t bytes = strlen(*endings);
        if (length > bytes && strcmp(path + length - bytes, *endings) == 0) {
            return true;
        }
    }
    return false;
}

static bool find_runtime(const char *path, enum sbx_names_runtime *runtime_out)
{
    static const char *const endings[SBX_NAMES_RUNTIMES][5] = {
        [SBX_NAMES_PYTHON] = {".py", ".pyw"},
        [SBX_NAMES_JAVASCRIPT] = {".js", ".cjs", ".mjs"},
        [SBX_NAMES_JAVA] = {".class", ".jar", ".war", ".ear"},
    };
    for (int i = 0; i < SBX_NAMES_RUNTIMES; i++) {
        if (has_ending(path, endings[i])) {
            *runtime_out = (enum sbx_names_runtime)i;
            return true;
        }
    }
    return false;
}

size_t sbx_source_python_prefix(const char *path, size_t folder)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    size_t prefix = folder;
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        for (const char *at = path; (at = strstr(at, packages[i])) != NULL; at++) {
            size_t behind = (size_t)(at - path) + strlen(packages[i]);
            prefix = behind > prefix ? behind : prefix;
        }
    }
    if (prefix > folder) {
        return prefix;
    }
    /* For the standard library the last folder is kept: "python3.11/json/decoder.py". */
    for (const char *at = path; (at = strstr(at, "python3.")) != NULL; at++) {
        size_t digits = strspn(at + 8, "0123456789");
        if (digits > 0 && at[8 + digits] == '/' && (at == path || at[-1] == '/')) {
            prefix = (size_t)(at - path);
        }
    }
    return prefix;
}

static bool has_package(const char *path, size_t folder)
{
    char package[4096 + 16];
    snprintf(package, sizeof package, "%.*spackage.json", (int)folder, path);
    return access(package, R_OK) == 0;
}

/* The program's own folder is the nearest one with a package.json, from the given folder upwards; without any, the
 * given folder. */
static size_t script_prefix(const char *path, size_t folder)
{
    for (size_t own = folder; own > 1;) {
        if (has_package(path, own)) {
            return own;
        }
        do {
            own--;
        } while (own > 1 && path[own - 1] != '/');
    }
    return folder;
}

static size_t prefix_of(enum sbx_names_runtime runtime, const char *path, size_t folder)
{
    switch (runtime) {
    case SBX_NAMES_PYTHON:
        return sbx_source_python_prefix(path, folder);
    case SBX_NAMES_JAVASCRIPT:
        return script_prefix(path, folder);
    default:
        return folder; /* a class file has its own name */
    }
}

/* `folder`: how many bytes of the path are the folder that was given. */
static int add_source(struct sbx_source_list *list, const char *path, size_t folder)
{
    enum sbx_names_runtime runtime;
    if (!find_runtime(path, &runtime)) {
        return -ENOEXEC;
    }
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 256 : list->room * 2;
        struct sbx_source *grown = room > SOURCES_MAX ? NULL : reallocarray(list->sources, room, sizeof *list->sources);
        if (grown == NULL) {
            return room > SOURCES_MAX ? -E2BIG : -ENOMEM;
        }
        list->sources = grown;
        list->room = room;
    }
    struct sbx_source *source = &list->sources[list->count];
    *source = (struct sbx_source){.runtime = runtime, .path = strdup(path)};
    source->file = strdup(path + prefix_of(runtime, path, folder));
    if (source->path == NULL || source->file == NULL) {
        free(source->path);
        free(source->file);
        return -ENOMEM;
    }
    list->count++;
    return 0;
}

static int add_folder(struct sbx_source_list *list, const char *path, size_t folder, unsigned depth)
{
    struct dirent **entries = NULL;
    int count = depth < DEPTH_MAX ? scandir(path, &entries, NULL, alphasort) : 0, result = 0;
    if (count < 0) {
        return -errno;
    }
    for (int i = 0; i < count; i++) {
        char below[4096];
        struct stat status;
        int length = snprintf(below, sizeof below, "%s/%s", path, entries[i]->d_name);
        bool is_wanted =
            entries[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof below && lstat(below, &status) == 0;
        free(entries[i]);
        if (!is_wanted || result != 0) {
            continue;
        }
        if (S_ISDIR(status.st_mode)) {
            int inner = add_folder(list, below, folder, depth + 1);
            result = inner == -EACCES ? 0 : inner;
        } else if (stat(below, &status) == 0 && S_ISREG(status.st_mode)) {
            int inner = add_source(list, below, folder);
            result = inner == -ENOEXEC ? 0 : inner;
        }
    }
    free(entries);
    return result;
}

int sbx_source_list_add(struct sbx_source_list *list, const char *path)
{
    struct stat status;
    char whole[4096]; /* its path tells the packages */
    if (stat(path, &status) != 0 || realpath(path, whole) == NULL) {
        return -errno;
    }
    size_t bytes = strlen(whole);
    if (S_ISDIR(status.st_mode)) {
        return add_folder(list, whole, bytes + (bytes > 1), 0);
    }
    return !S_ISREG(status.st_mode) ? -ENOEXEC : add_source(list, whole, (size_t)(strrchr(whole, '/') - whole) + 1);
}

void sbx_source_list_finish(struct sbx_source_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->sources[i].path);
        free(list->sources[i].file);
        sbx_source_forget(&list->sources[i]);
    }
    free(list->sources);
    *list = (struct sbx_source_list){0};
}

int sbx_source_read_file(const char *path, char **text_out, size_t *bytes_out)
{
    struct stat status = {.st_size = 0};
    int result = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        result = -ENOEXEC;
    } else if (status.st_size > SOURCE_BYTES_MAX) {
        result = -EFBIG;
    }
    size_t bytes = 0, all = (size_t)status.st_size;
    char *text = result == 0 ? malloc(all + 1) : NULL;
    result = result == 0 && text == NULL ? -ENOMEM : result;
    while (result == 0 && bytes < all) {
        ssize_t got = pread(fd, text + bytes, all - bytes, (off_t)bytes);
        if (got == 0) {
            break; /* the file has become shorter */
        }
        result = got < 0 && errno != EINTR ? -errno : 0;
        bytes += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    if (result != 0) {
        free(text);
        return result;
    }
    *text_out = text;
    *bytes_out = bytes;
    return 0;
}

/* Read the map that is in the script itself, in base 64. */
static void take_inline_map(struct sbx_source *source, const char *url, size_t bytes)
{
    const char *at = memmem(url, bytes, "base64,", 7), *end = url + bytes;
    source->map = at == NULL ? NULL : malloc(bytes);
    if (source->map == NULL) {
        return;
    }
    uint32_t bits = 0, count = 0;
    for (at += 7; at < end && sbx_base64_digit(*at) >= 0; at++) {
        bits = bits << 6 | (uint32_t)sbx_base64_digit(*at);
        count += 6;
        if (count >= 8) {
            count -= 8;
            source->map[source->map_bytes++] = (char)(bits >> count & 0xff);
        }
    }
}

/* The last comment of a script names its map. That is nearly always FILE.map, and no other file is opened. */
static void read_map(struct sbx_source *source)
{
    static const char mark[] = "# sourceMappingURL=", data[] = "data:";
    char path[4096 + 8];
    snprintf(path, sizeof path, "%s.map", source->path);
    if (sbx_source_read_file(path, &source->map, &source->map_bytes) == 0) {
        return;
    }
    const char *last = NULL;
    for (const char *at = source->text, *end = at + source->bytes;
         (at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)) != NULL; at++) {
        last = at + sizeof mark - 1;
    }
    size_t left = last == NULL ? 0 : (size_t)(source->text + source->bytes - last);
    if (left > sizeof data && memcmp(last, data, sizeof data - 1) == 0) {
        take_inline_map(source, last, left);
    }
}

int sbx_source_read(struct sbx_source *source)
{
    int result = sbx_source_read_file(source->path, &source->text, &source->bytes);
    if (result == 0 && source->runtime == SBX_NAMES_JAVASCRIPT) {
        read_map(source);
    }
    return result;
}

void sbx_source_forget(struct sbx_source *source)
{
    free(source->text);
    free(source->map);
    source->text = source->map = NULL;
    source->bytes = source->map_bytes = 0;
}
