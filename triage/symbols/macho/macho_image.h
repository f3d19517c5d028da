/* SPDX-License-Identifier: Apache-2.0 */
/* macho_image.h - a Mach-O program, library or dSYM: the positions of its parts, checked against the file's size.
 *
 * A universal file has one image for each processor. Each image has a UUID, which is its build-id and selects the
 * image. */
#ifndef SBX_MACHO_IMAGE_H
#define SBX_MACHO_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SBX_MACHO_UUID_BYTES = 16,
    SBX_MACHO_IMAGES_MAX = 16, /* images in one file */
    SBX_MACHO_SECTIONS_MAX = 255
};
#define SBX_MACHO_REACH UINT64_C(4294967296) /* maximum distance of code from the image's base */

struct sbx_macho_section {
    char name[17], segment[17];
    uint64_t address, bytes;
    uint64_t offset; /* offset in the file; only for debug information, whose `bytes` bytes are in the file */
    bool is_code;    /* is_code: it lies within SBX_MACHO_REACH of the base */
    bool is_debug;
};

struct sbx_macho_image {
    uint8_t uuid[SBX_MACHO_UUID_BYTES];
    uint32_t cpu;       /* enum sbx_macho_cpu */
    uint32_t file_type; /* enum sbx_macho_file_type, or another number */
    uint64_t base;      /* the address of its first byte in memory, chosen by the linker: that of __TEXT */
    size_t section_count;
    struct sbx_macho_section sections[SBX_MACHO_SECTIONS_MAX]; /* section i of a symbol is [i - 1] */
    /* Positions in the whole file, as offsets from its begin: */
    uint64_t symbols_offset, strings_offset, starts_offset;
    uint64_t symbol_count, string_bytes, starts_bytes; /* 0: none */
};

/* The UUIDs of the images of arm64 and x86-64 in the file behind `fd`. Returns their number. Images of other processors
 * and images without a UUID are skipped. If there is damage anywhere in the file, it has none. If the result is 0 and
 * the file is a Mach-O file, *why_out is the reason, else NULL. */
size_t sbx_macho_uuids_read(int fd, uint8_t uuids_out[SBX_MACHO_IMAGES_MAX][SBX_MACHO_UUID_BYTES],
                            const char **why_out);

/* The first image with that UUID. Returns 0, or -ENOENT if there is none or the file is damaged. */
int sbx_macho_image_read(int fd, const uint8_t uuid[SBX_MACHO_UUID_BYTES], struct sbx_macho_image *image_out);

/* Read `bytes` bytes at `at`, with as many reads as needed. Returns 0, or -EIO if there are fewer. */
int sbx_macho_bytes_read(int fd, void *into, uint64_t bytes, uint64_t at);

#endif
