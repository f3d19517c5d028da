/* SPDX-License-Identifier: Apache-2.0 */
/* jar_file.c - the central directory at the end of a zip archive, and the content of its entries. */
#include "jar_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum {
    END_BYTES = 22, /* bytes of the record after the directory */
    END_COMMENT_MAX = 65535,
    END64_BYTES = 56,
    LOCATOR64_BYTES = 20,
    ENTRY_BYTES = 46, /* bytes of an entry of the directory, without its texts */
    LOCAL_BYTES = 30, /* bytes of the header before the content of an entry */
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    FLAG_ENCRYPTED = 1,
};

static uint32_t number_at(const char *at, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = bytes; i > 0; i--) {
        value = value << 8 | (uint8_t)at[i - 1];
    }
    return value;
}

static uint64_t long_at(const char *at)
{
    return (uint64_t)number_at(at + 4, 4) << 32 | number_at(at, 4);
}

static bool has_mark(const char *at, const char *mark)
{
    return memcmp(at, mark, 4) == 0;
}

/* Where the directory begins, and how many entries it has. */
static bool find_directory(struct sbx_name_text archive, uint64_t *at_out, uint64_t *count_out)
{
    if (archive.bytes < END_BYTES) {
        return false;
    }
    size_t last = archive.bytes - END_BYTES, first = last > END_COMMENT_MAX ? last - END_COMMENT_MAX : 0;
    for (size_t i = last + 1; i > first; i--) {
        const char *end = archive.at + i - 1;
        if (!has_mark(end, "PK\5\6")) {
            continue;
        }
        *count_out = number_at(end + 10, 2);
        *at_out = number_at(end + 16, 4);
        const char *locator = end - LOCATOR64_BYTES;
        if (i - 1 >= LOCATOR64_BYTES && has_mark(locator, "PK\6\7")) { /* a zip64 archive */
            uint64_t whole = long_at(locator + 8);
            if (whole > archive.bytes || archive.bytes - whole < END64_BYTES ||
                !has_mark(archive.at + whole, "PK\6\6")) {
                return false;
            }
            *count_out = long_at(archive.at + whole + 32);
            *at_out = long_at(archive.at + whole + 48);
        }
        return *at_out <= archive.bytes;
    }
    return false;
}

/* Inflate an entry; false: it is damaged. */
static bool inflate_into(const char *from, uint32_t from_bytes, char *to, uint32_t to_bytes)
{
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)from, .avail_in = from_bytes, .next_out = (Bytef *)to, .avail_out = to_bytes};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
        return false;
    }
    int result = inflate(&stream, Z_FINISH);
    bool is_whole = result == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return is_whole;
}

/* Read one entry. `entry` is its record in the directory, and lies within the archive. */
static int read_entry(struct sbx_jar_reading *reading, struct sbx_name_text archive, const char *entry,
                      struct sbx_name_text name)
{
    uint32_t flags = number_at(entry + 8, 2), method = number_at(entry + 10, 2), packed = number_at(entry + 20, 4),
             bytes = number_at(entry + 24, 4), local = number_at(entry + 42, 4);
    if ((flags & FLAG_ENCRYPTED) != 0 || (method != METHOD_STORED && method != METHOD_DEFLATED) ||
        bytes > SBX_JAR_ENTRY_BYTES_MAX || (method == METHOD_STORED && packed != bytes) || !reading->wants(name) ||
        (uint64_t)local + LOCAL_BYTES > archive.bytes || !has_mark(archive.at + local, "PK\3\4")) {
        return 0;
    }
    uint64_t at =
        (uint64_t)local + LOCAL_BYTES + number_at(archive.at + local + 26, 2) + number_at(archive.at + local + 28, 2);
    if (at > archive.bytes || archive.bytes - at < packed) {
        return 0;
    }
    if (bytes > reading->bytes_left) {
        return -E2BIG;
    }
    reading->bytes_left -= bytes;
    if (method == METHOD_STORED) {
        return reading->take(reading->context, name, (struct sbx_name_text){archive.at + at, bytes});
    }
    char *whole = malloc((size_t)bytes + 1);
    if (whole == NULL) {
        return -ENOMEM;
    }
    int result = 0;
    if (inflate_into(archive.at + at, packed, whole, bytes)) {
        result = reading->take(reading->context, name, (struct sbx_name_text){whole, bytes});
    }
    free(whole);
    return result;
}

int sbx_jar_read(struct sbx_jar_reading *reading, struct sbx_name_text archive)
{
    uint64_t at, count;
    if (!find_directory(archive, &at, &count)) {
        return -EBADMSG;
    }
    if (count > SBX_JAR_ENTRIES_MAX) {
        return -E2BIG;
    }
    for (uint64_t i = 0; i < count; i++) {
        const char *entry = archive.at + at;
        if (archive.bytes - at < ENTRY_BYTES || !has_mark(entry, "PK\1\2")) {
            return 0; /* the entries before are valid */
        }
        struct sbx_name_text name = {entry + ENTRY_BYTES, number_at(entry + 28, 2)};
        uint64_t bytes = ENTRY_BYTES + name.bytes + number_at(entry + 30, 2) + number_at(entry + 32, 2);
        if (archive.bytes - at < bytes) {
            return 0;
        }
        int result = read_entry(reading, archive, entry, name);
        if (result != 0) {
            return result;
        }
        at += bytes;
    }
    return 0;
}
