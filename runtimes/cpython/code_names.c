/* SPDX-License-Identifier: Apache-2.0 */
/* code_names.c - strings of three widths, and paths. */
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
    length = length < room ? length : room; /* a character is a byte at least */
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

/* How long the last folder is, if it is that of a standard library: "python3." and digits; 0: it is not. */
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

void source_prefixes_add(struct source_prefixes *prefixes, const char *path, size_t bytes)
{
    if (bytes < 2 || bytes >= CODE_FILE_MAX || path[0] != '/' || prefixes->count == SOURCE_PREFIXES_MAX) {
        return;
    }
    char *own = prefixes->paths[prefixes->count];
    memcpy(own, path, bytes);
    if (own[bytes - 1] != '/') {
        own[bytes++] = '/';
    }
    prefixes->bytes[prefixes->count] = (uint16_t)bytes;
    prefixes->cuts[prefixes->count++] = (uint16_t)(bytes - library_bytes(own, bytes));
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

/* Of a path that is not absolute: its folder, if an entry ends in it ("src/app.py" run as a script has /home/me/src there). */
static size_t relative_bytes(const struct source_prefixes *prefixes, const char *path, size_t bytes)
{
    size_t dots = bytes >= 2 && path[0] == '.' && path[1] == '/' ? 2 : 0, folder = bytes;
    while (folder > dots && path[folder - 1] != '/') {
        folder--;
    }
    for (uint32_t i = 0; folder > dots && i < prefixes->count; i++) {
        size_t tail = folder - dots;
        if (prefixes->bytes[i] > tail && prefixes->paths[i][prefixes->bytes[i] - tail - 1] == '/' &&
            is_equal(prefixes->paths[i] + prefixes->bytes[i] - tail, path + dots, tail)) {
            return folder;
        }
    }
    return dots;
}

size_t source_prefix_bytes(const struct source_prefixes *prefixes, const char *path, size_t bytes)
{
    if (bytes == 0 || path[0] != '/') {
        return relative_bytes(prefixes, path, bytes);
    }
    size_t longest = 0, cut = 0;
    for (uint32_t i = 0; i < prefixes->count; i++) {
        size_t prefix = prefixes->bytes[i];
        if (prefix > longest && prefix < bytes && is_equal(prefixes->paths[i], path, prefix)) {
            longest = prefix;
            cut = prefixes->cuts[i];
        }
    }
    return cut;
}
