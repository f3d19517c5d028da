/* SPDX-License-Identifier: Apache-2.0 */
/* rows_file.c - a module's rows as bytes, and back again with every property checked. */
#include "rows_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "unwind_rule.h"

#if defined(__x86_64__)
enum {
    THIS_MACHINE = EM_X86_64
};
#elif defined(__aarch64__)
enum {
    THIS_MACHINE = EM_AARCH64
};
#else
#error "name the machine whose rows these are"
#endif

uint32_t sbx_rows_encoding(void)
{
    return SBX_ROWS_ENCODING; /* from the build: CMakeLists.txt hashes the sources that define the rules */
}

/* ---- XXH64 ---- */

static const uint64_t prime_1 = UINT64_C(0x9e3779b185ebca87);
static const uint64_t prime_2 = UINT64_C(0xc2b2ae3d27d4eb4f);
static const uint64_t prime_3 = UINT64_C(0x165667b19e3779f9);
static const uint64_t prime_4 = UINT64_C(0x85ebca77c2b2ae63);
static const uint64_t prime_5 = UINT64_C(0x27d4eb2f165667c5);

static uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static uint64_t lane_round(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * prime_2, 31) * prime_1;
}

static uint64_t merge_lane(uint64_t hash, uint64_t lane)
{
    return (hash ^ lane_round(0, lane)) * prime_1 + prime_4;
}

static uint64_t load_64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

uint64_t sbx_xxh64(const uint8_t *bytes, size_t count, uint64_t seed)
{
    uint64_t hash = seed + prime_5;
    size_t left = count;
    if (count >= 32) {
        uint64_t lanes[4] = {seed + prime_1 + prime_2, seed + prime_2, seed, seed - prime_1};
        for (; left >= 32; left -= 32, bytes += 32) {
            for (unsigned i = 0; i < 4; i++) {
                lanes[i] = lane_round(lanes[i], load_64(bytes + 8 * i));
            }
        }
        hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
        for (unsigned i = 0; i < 4; i++) {
            hash = merge_lane(hash, lanes[i]);
        }
    }
    hash += count;
    for (; left >= 8; left -= 8, bytes += 8) {
        hash = rotate(hash ^ lane_round(0, load_64(bytes)), 27) * prime_1 + prime_4;
    }
    if (left >= 4) {
        uint32_t word;
        memcpy(&word, bytes, sizeof word);
        hash = rotate(hash ^ word * prime_1, 23) * prime_2 + prime_3;
        bytes += 4;
        left -= 4;
    }
    for (; left > 0; left--, bytes++) {
        hash = rotate(hash ^ *bytes * prime_5, 11) * prime_1;
    }
    hash = (hash ^ hash >> 33) * prime_2;
    hash = (hash ^ hash >> 29) * prime_3;
    return hash ^ hash >> 32;
}

/* ---- making ---- */

static uint64_t header_seed(struct sbx_rows_file_header header)
{
    header.checksum = 0;
    return sbx_xxh64((const uint8_t *)&header, sizeof header, 0);
}

uint64_t sbx_rows_file_checksum(const uint8_t *file, size_t bytes)
{
    struct sbx_rows_file_header header;
    memcpy(&header, file, sizeof header);
    return sbx_xxh64(file + sizeof header, bytes - sizeof header, header_seed(header));
}

static uint64_t array_bytes(uint32_t row_count, uint32_t bucket_count)
{
    return ((uint64_t)bucket_count + 1 + 2 * (uint64_t)row_count) * sizeof(uint32_t);
}

int sbx_rows_file_describe(const struct sbx_rows_key *key, const struct sbx_unwind_rows *rows,
                           struct sbx_rows_file_header *header_out)
{
    struct sbx_rows_file_header header;
    uint64_t arrays = array_bytes(rows->count, rows->bucket_count);
    if (arrays > SBX_ROWS_FILE_MAX - sizeof header) {
        return -E2BIG;
    }
    memset(&header, 0, sizeof header);
    memcpy(header.magic, SBX_ROWS_FILE_MAGIC, sizeof header.magic);
    header.version = SBX_ROWS_FILE_VERSION;
    header.encoding = sbx_rows_encoding();
    header.machine = THIS_MACHINE;
    header.build_id_bytes = key->build_id_bytes;
    memcpy(header.build_id, key->build_id, sizeof header.build_id);
    header.text_begin = key->text_begin;
    header.text_end = key->text_end;
    header.eh_frame_hdr_address = key->eh_frame_hdr_address;
    header.eh_frame_hdr_bytes = key->eh_frame_hdr_bytes;
    header.file_bytes = sizeof header + arrays;
    header.row_count = rows->count;
    header.bucket_count = rows->bucket_count;
    /* The arrays are one block: buckets, offsets, rules (publish() in unwind_rows.c). */
    header.checksum = sbx_xxh64((const uint8_t *)rows->buckets, arrays, header_seed(header));
    *header_out = header;
    return 0;
}

/* ---- checking ---- */

static bool is_for(const struct sbx_rows_file_header *header, const struct sbx_rows_key *key)
{
    return memcmp(header->magic, SBX_ROWS_FILE_MAGIC, sizeof header->magic) == 0 &&
           header->version == SBX_ROWS_FILE_VERSION && header->encoding == sbx_rows_encoding() &&
           header->machine == THIS_MACHINE && header->build_id_bytes == key->build_id_bytes &&
           memcmp(header->build_id, key->build_id, sizeof header->build_id) == 0 &&
           header->text_begin == key->text_begin && header->text_end == key->text_end &&
           header->eh_frame_hdr_address == key->eh_frame_hdr_address &&
           header->eh_frame_hdr_bytes == key->eh_frame_hdr_bytes;
}

static bool are_sorted(const uint32_t *offsets, const uint32_t *rules, uint32_t count)
{
    uint32_t wrong = 0;
    for (uint32_t i = 1; i < count; i++) { /* no branch here, so that the compiler can vectorize the loop */
        wrong |= (uint32_t)(offsets[i] <= offsets[i - 1]) | (uint32_t)(rules[i] == rules[i - 1]);
    }
    return wrong == 0;
}

static bool are_buckets_true(const struct sbx_unwind_rows *rows)
{
    uint32_t row = 0;
    for (uint32_t i = 0; i < rows->bucket_count; i++) {
        while (row < rows->count && rows->offsets[row] >> SBX_ROWS_BUCKET_SHIFT < i) {
            row++;
        }
        if (rows->buckets[i] != row) {
            return false;
        }
    }
    return rows->buckets[rows->bucket_count] == rows->count;
}

int sbx_rows_file_check(const uint8_t *file, size_t bytes, const struct sbx_rows_key *key,
                        struct sbx_unwind_rows *rows_out)
{
    struct sbx_rows_file_header header;
    *rows_out = (struct sbx_unwind_rows){0};
    if (bytes < sizeof header || bytes > SBX_ROWS_FILE_MAX) {
        return -EINVAL;
    }
    memcpy(&header, file, sizeof header);
    if (!is_for(&header, key)) {
        return -ESTALE;
    }
    if (header.file_bytes != bytes || array_bytes(header.row_count, header.bucket_count) != bytes - sizeof header ||
        header.row_count == 0 || header.bucket_count == 0 || sbx_rows_file_checksum(file, bytes) != header.checksum) {
        return -EINVAL;
    }
    const uint32_t *words = (const uint32_t *)(const void *)(file + sizeof header);
    struct sbx_unwind_rows rows = {
        .buckets = words,
        .offsets = words + header.bucket_count + 1,
        .rules = words + header.bucket_count + 1 + header.row_count,
        .count = header.row_count,
        .bucket_count = header.bucket_count,
        .base = header.text_begin,
    };
    uint32_t last = rows.offsets[rows.count - 1];
    if (rows.rules[rows.count - 1] != SBX_RULE_NONE || last > header.text_end - header.text_begin ||
        last >> SBX_ROWS_BUCKET_SHIFT != rows.bucket_count - 1 || !are_sorted(rows.offsets, rows.rules, rows.count) ||
        !are_buckets_true(&rows)) {
        return -EINVAL;
    }
    *rows_out = rows;
    return 0;
}
