/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_bytes.h - bytes of debug information, read front to back.
 *
 * Reads past the end give 0 and set `ended`, so that a reader can check once, where it matters. */
#ifndef SBX_DWARF_BYTES_H
#define SBX_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sbx_dwarf_bytes {
    const uint8_t *at, *end;
    bool ended;
};

static inline size_t sbx_dwarf_left(const struct sbx_dwarf_bytes *bytes)
{
    return (size_t)(bytes->end - bytes->at);
}

static inline uint64_t sbx_dwarf_past_end(struct sbx_dwarf_bytes *bytes)
{
    bytes->ended = true;
    bytes->at = bytes->end;
    return 0;
}

/* A number of `size` bytes, 8 at most, in this machine's byte order. */
static inline uint64_t sbx_dwarf_fixed(struct sbx_dwarf_bytes *bytes, size_t size)
{
    uint64_t value = 0;
    if (size > 8 || sbx_dwarf_left(bytes) < size) {
        return sbx_dwarf_past_end(bytes);
    }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    memcpy((uint8_t *)&value + sizeof value - size, bytes->at, size);
#else
    memcpy(&value, bytes->at, size);
#endif
    bytes->at += size;
    return value;
}

static inline uint64_t sbx_dwarf_leb(struct sbx_dwarf_bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; bytes->at < bytes->end; shift += shift < 64 ? 7 : 0) {
        uint8_t byte = *bytes->at++;
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    return sbx_dwarf_past_end(bytes);
}

static inline int64_t sbx_dwarf_signed_leb(struct sbx_dwarf_bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; bytes->at < bytes->end; shift += shift < 64 ? 7 : 0) {
        uint8_t byte = *bytes->at++;
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            if (shift + 7 < 64 && (byte & 0x40) != 0) {
                value |= ~UINT64_C(0) << (shift + 7);
            }
            return (int64_t)value;
        }
    }
    return (int64_t)sbx_dwarf_past_end(bytes);
}

static inline void sbx_dwarf_skip(struct sbx_dwarf_bytes *bytes, uint64_t count)
{
    if (count > sbx_dwarf_left(bytes)) {
        (void)sbx_dwarf_past_end(bytes);
    } else {
        bytes->at += count;
    }
}

/* A text that has an end; NULL if it has none. */
static inline const char *sbx_dwarf_text_here(struct sbx_dwarf_bytes *bytes)
{
    const char *text = (const char *)bytes->at;
    const uint8_t *end = memchr(bytes->at, '\0', sbx_dwarf_left(bytes));
    if (end == NULL) {
        (void)sbx_dwarf_past_end(bytes);
        return NULL;
    }
    bytes->at = end + 1;
    return text;
}

#endif
