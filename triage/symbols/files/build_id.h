/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.h - the build-id note of an ELF file, read without any ELF library. */
#ifndef SBX_BUILD_ID_H
#define SBX_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

enum {
    SBX_BUILD_ID_BYTES_MAX = 32
};

/* Reads the build-id. Returns its number of bytes; 0 if the file behind `fd` is not an ELF64 file of this byte order,
 * is damaged, or has no build-id. Takes only a few preads, so that folders of thousands of files can be searched. */
size_t sbx_build_id_read(int fd, uint8_t build_id_out[SBX_BUILD_ID_BYTES_MAX]);

/* Pure: the same for a note section or segment in memory. */
size_t sbx_build_id_of_notes(const uint8_t *notes, size_t bytes, uint8_t build_id_out[SBX_BUILD_ID_BYTES_MAX]);

/* Hex digits to bytes; also in the form of a UUID (8-4-4-4-12). Returns the number of bytes; 0 if `hex` (of `digits`
 * characters) is neither a UUID nor 1..32 pairs of hex digits. */
size_t sbx_build_id_parse(const char *hex, size_t digits, uint8_t build_id_out[SBX_BUILD_ID_BYTES_MAX]);

/* Lower-case hex, NUL-terminated. */
void sbx_build_id_format(const uint8_t *build_id, size_t bytes, char hex_out[2 * SBX_BUILD_ID_BYTES_MAX + 1]);

#endif
