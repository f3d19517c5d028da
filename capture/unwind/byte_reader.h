/* SPDX-License-Identifier: Apache-2.0 */
/* byte_reader.h - a cursor over bytes that cannot leave them.
 *
 * All parts of .eh_frame are read through such a reader. A read past the end, or a number that does not fit, sets
 * `damaged` and yields zero. So a parser may read a whole structure and check `damaged` once. */
#ifndef SBX_BYTE_READER_H
#define SBX_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_byte_reader {
    const uint8_t *at, *end; /* borrowed; at <= end */
    bool damaged;            /* once set, stays set */
};

static inline size_t sbx_bytes_left(const struct sbx_byte_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

/* Little endian, as both architectures we run on are. */
static inline uint64_t sbx_read_bytes(struct sbx_byte_reader *reader, unsigned count)
{
    if (sbx_bytes_left(reader) < count) {
        reader->damaged = true;
        reader->at = reader->end;
        return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) {
        value |= (uint64_t)reader->at[i] << (8 * i);
    }
    reader->at += count;
    return value;
}

static inline uint8_t sbx_read_u8(struct sbx_byte_reader *reader)
{
    return (uint8_t)sbx_read_bytes(reader, 1);
}

static inline uint32_t sbx_read_u32(struct sbx_byte_reader *reader)
{
    return (uint32_t)sbx_read_bytes(reader, 4);
}

static inline uint64_t sbx_read_u64(struct sbx_byte_reader *reader)
{
    return sbx_read_bytes(reader, 8);
}

/* Unsigned LEB128; more than 64 bits is damage. */
static inline uint64_t sbx_read_uleb(struct sbx_byte_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = sbx_read_u8(reader);
        if (shift == 63 && byte > 1) {
            break;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    reader->damaged = true;
    return 0;
}

/* Signed LEB128; more than 64 bits is damage. */
static inline int64_t sbx_read_sleb(struct sbx_byte_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = sbx_read_u8(reader);
        if (shift == 63 && byte != 0 && byte != 0x7f) {
            break;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            if (shift + 7 < 64 && (byte & 0x40) != 0) {
                value |= ~UINT64_C(0) << (shift + 7);
            }
            return (int64_t)value;
        }
    }
    reader->damaged = true;
    return 0;
}

/* Step over `count` bytes and return their start. When fewer bytes are left, set `damaged` and return NULL. */
static inline const uint8_t *sbx_read_span(struct sbx_byte_reader *reader, uint64_t count)
{
    if (sbx_bytes_left(reader) < count) {
        reader->damaged = true;
        reader->at = reader->end;
        return NULL;
    }
    const uint8_t *begin = reader->at;
    reader->at += count;
    return begin;
}

#endif
