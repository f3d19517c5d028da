/* SPDX-License-Identifier: Apache-2.0 */
/* code_names.c - strings with characters of 1, 2 or 4 bytes, and paths. */
#include "code_names.h"

#include <string.h>

#include "object_read.h"

enum {
    STRING_STATE = 32, /* interned: 2 bits, kind: 3, compact: 1, ascii: 1 */
    STATE_KIND = 7 << 2,
    STATE_COMPACT = 1 << 5,
    STATE_ASCII = 1 << 6,
    PAGE = 1 << OBJECT_PAGE_BITS
};

static size_t put_character(uint32_t c, char *to, size_t room)
{
    if (c < 0x80) {
        if (room >= 1) {
            to[0] = (char)c;
        }
        return 1;
    }
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    if (room <= more) {
        return more + 1;
    }
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(heads[more] | c >> (6 * more));
    for (unsigned i = 1; i <= more; i++) {
        to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    }
    return more + 1;
}

READS_OBJECTS static uint32_t character_at(uint64_t at, unsigned width)
{
    return width == 1   ? *(const uint8_t *)(uintptr_t)at
           : width == 2 ? *(const uint16_t *)(uintptr_t)at
                        : *(const uint32_t *)(uintptr_t)at;
}

size_t code_name_text(const struct cpython_layout *layout, uint64_t string_type, uint64_t string, char *to, size_t room)
{
    struct object_page page = {0};
    if (!object_can_read(&page, string, layout->string_compact) || object_word_at(string, OBJECT_TYPE) != string_type) {
        return 0;
    }
    uint32_t state = object_half_at(string, STRING_STATE);
    uint64_t length = object_word_at(string, OBJECT_SIZE);
    unsigned width = (state & STATE_KIND) >> 2;
    if ((state & STATE_COMPACT) == 0 || (width != 1 && width != 2 && width != 4)) {
        return 0;
    }
    uint64_t at = string + ((state & STATE_ASCII) != 0 ? layout->string_ascii : layout->string_compact);
    length = length < room ? length : room; /* a character needs at least one byte */
    size_t used = 0;
    for (uint64_t i = 0; i < length; i++, at += width) {
        uint64_t its_page = at >> OBJECT_PAGE_BITS;
        if (its_page != page.page && stallbox_provider_can_read((const void *)(uintptr_t)at, width) == 0) {
            return 0;
        }
        page.page = its_page;
        size_t bytes = put_character(character_at(at, width), to + used, room - used);
        if (bytes > room - used) {
            break;
        }
        used += bytes;
    }
    return used;
}

size_t source_path_tidy(char *path, size_t bytes)
{
    if (bytes == 0 || path[0] == '<') {
        return bytes;
    }
    size_t used = path[0] == '/', floor = used; /* floor: the part of the path that a ".." does not remove */
    for (size_t at = 0; at < bytes;) {
        size_t end = at;
        while (end < bytes && path[end] != '/') {
            end++;
        }
        size_t part = end - at;
        bool is_up = part == 2 && path[at] == '.' && path[at + 1] == '.';
        if (is_up && used > floor) {
            do {
                used--;
            } while (used > floor && path[used - 1] != '/');
        } else if (part > 1 || (part == 1 && path[at] != '.')) {
            if (!is_up || path[0] != '/') { /* the root has no parent folder */
                for (size_t i = at; i < end; i++) {
                    path[used++] = path[i];
                }
                if (end < bytes) {
                    path[used++] = '/';
                }
                floor = is_up ? used : floor;
            }
        }
        at = end + 1;
    }
    return used;
}

/* Returns the length of the last folder if it is a standard library's folder, "python3." and digits. 0: it is not. */
static size_t library_bytes(const char *path, size_t bytes)
{
    static const char name[] = "/python3.";
    size_t at = bytes - 1; /* the slash at the end */
    while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9') {
        at--;
    }
    const size_t tail = bytes - at, head = sizeof name - 1;
    return tail > 1 && at >= head && memcmp(path + at - head, name, head) == 0 ? tail + head - 1 : 0;
}

bool source_prefix_finish(struct source_prefix *prefix, size_t bytes)
{
    if (bytes >= CODE_FILE_MAX || bytes == 0 || prefix->path[0] != '/') {
        return false;
    }
    bytes = source_path_tidy(prefix->path, bytes);
    if (bytes < 2) { /* the root folder is not removed from any path */
        return false;
    }
    if (prefix->path[bytes - 1] != '/') {
        prefix->path[bytes++] = '/';
    }
    prefix->bytes = (uint16_t)bytes;
    prefix->cut = (uint16_t)(bytes - library_bytes(prefix->path, bytes));
    return true;
}

static bool is_equal(const char *a, const char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static size_t dots_of(const char *path, size_t bytes)
{
    return bytes >= 2 && path[0] == '.' && path[1] == '/' ? 2 : 0;
}

/* Handles a path that is not absolute. Its folder is cut off if `prefix` ends with that folder. Example: for the script
 * "src/app.py", sys.path has /home/me/src. */
static void try_relative(struct source_cut *cut, const struct source_prefix *prefix, const char *path, size_t bytes)
{
    size_t dots = dots_of(path, bytes), folder = bytes;
    while (folder > dots && path[folder - 1] != '/') {
        folder--;
    }
    size_t tail = folder - dots;
    if (tail > 0 && prefix->bytes > tail && prefix->path[prefix->bytes - tail - 1] == '/' &&
        is_equal(prefix->path + prefix->bytes - tail, path + dots, tail)) {
        cut->longest = cut->bytes = folder;
    }
}

void source_cut_try(struct source_cut *cut, const struct source_prefix *prefix, const char *path, size_t bytes)
{
    if (bytes == 0 || path[0] != '/') {
        try_relative(cut, prefix, path, bytes);
    } else if (prefix->bytes > cut->longest && prefix->bytes < bytes && is_equal(prefix->path, path, prefix->bytes)) {
        cut->longest = prefix->bytes;
        cut->bytes = prefix->cut;
    }
}

size_t source_cut_bytes(const struct source_cut *cut, const char *path, size_t bytes)
{
    return cut->longest > 0 ? cut->bytes : dots_of(path, bytes);
}
