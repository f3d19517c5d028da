/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.c - the list object of sys.path, its strings, and the working directory. */
#include "search_path.h"

#include <string.h>
#include <unistd.h>

#include "object_read.h"

enum {
    LIST_ITEMS = 24, /* address of the array of items; the same in all versions */
    LIST_BYTES = 32
};

void search_path_learn_folder(struct search_path *path)
{
    /* not getcwd(): docs/SANDBOXES.md lists the system calls that the agent's threads may make */
    ssize_t bytes = readlink("/proc/self/cwd", path->folder, sizeof path->folder - 1);
    path->folder_bytes = bytes > 1 && bytes < (ssize_t)sizeof path->folder - 1 ? (uint32_t)bytes : 0;
}

size_t search_path_count(const struct search_path *path)
{
    struct object_page page = {0};
    if (path->list == 0 || !object_can_read(&page, path->list, LIST_BYTES)) {
        return 0;
    }
    uint64_t count = object_word_at(path->list, OBJECT_SIZE);
    return count < SEARCH_PATH_MAX ? count : SEARCH_PATH_MAX;
}

uint64_t search_path_item(const struct search_path *path, size_t index)
{
    struct object_page page = {0};
    if (!object_can_read(&page, path->list, LIST_BYTES)) {
        return 0;
    }
    uint64_t at = object_word_at(path->list, LIST_ITEMS) + index * sizeof(uint64_t);
    return object_can_read(&page, at, sizeof(uint64_t)) ? object_word_at(at, 0) : 0;
}

bool search_path_entry(const struct search_path *path, size_t index, struct source_prefix *prefix_out)
{
    char *to = prefix_out->path;
    uint64_t item = search_path_item(path, index);
    struct object_page page = {0};
    if (!object_can_read(&page, item, path->layout->string_compact) ||
        object_word_at(item, OBJECT_TYPE) != path->string_type) {
        return false;
    }
    bool is_empty = object_word_at(item, OBJECT_SIZE) == 0;
    size_t bytes = code_name_text(path->layout, path->string_type, item, to, CODE_FILE_MAX);
    if (bytes == 0 && !is_empty) {
        return false;
    }
    if (bytes == 0 || to[0] != '/') {
        bytes = path->folder_bytes;
        if (bytes == 0) {
            return false;
        }
        memcpy(to, path->folder, bytes);
        if (!is_empty) {
            if (to[bytes - 1] != '/') {
                to[bytes++] = '/';
            }
            size_t more = code_name_text(path->layout, path->string_type, item, to + bytes, CODE_FILE_MAX - bytes);
            size_t dots = more >= 2 && to[bytes] == '.' && to[bytes + 1] == '/' ? 2 : 0;
            for (size_t i = dots; i < more; i++) {
                to[bytes + i - dots] = to[bytes + i];
            }
            bytes += more - dots;
        }
    }
    return source_prefix_finish(prefix_out, bytes);
}

void search_path_keep(struct search_path *path)
{
    size_t count = search_path_count(path);
    path->kept_count = 0;
    for (size_t i = 0; i < count && path->kept_count < SEARCH_PATH_KEPT; i++) {
        path->kept_count += search_path_entry(path, i, &path->kept[path->kept_count]);
    }
}

void search_path_keep_script(struct search_path *path, const char *file, size_t bytes)
{
    struct source_prefix *kept = &path->kept[path->kept_count];
    size_t folder = bytes;
    while (folder > 0 && file[folder - 1] != '/') {
        folder--;
    }
    if (path->kept_count < SEARCH_PATH_KEPT && folder < CODE_FILE_MAX) {
        memcpy(kept->path, file, folder);
        path->kept_count += source_prefix_finish(kept, folder);
    }
}

size_t search_path_cut(const struct search_path *path, const char *file, size_t bytes)
{
    struct source_cut cut = {0};
    struct source_prefix now;
    size_t count = search_path_count(path);
    for (uint32_t i = 0; i < path->kept_count; i++) {
        source_cut_try(&cut, &path->kept[i], file, bytes);
    }
    for (size_t i = 0; i < count; i++) {
        if (search_path_entry(path, i, &now)) {
            source_cut_try(&cut, &now, file, bytes);
        }
    }
    return source_cut_bytes(&cut, file, bytes);
}
