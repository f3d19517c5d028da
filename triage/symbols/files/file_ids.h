/* SPDX-License-Identifier: Apache-2.0 */
/* file_ids.h - the build-ids of a file: one of an ELF file, and for Mach-O the UUIDs of the images in it. */
#ifndef SBX_FILE_IDS_H
#define SBX_FILE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "build_id.h"

enum {
    SBX_FILE_IDS_MAX = 16
};

struct sbx_file_id {
    uint8_t bytes[SBX_BUILD_ID_BYTES_MAX];
    size_t byte_count;
};

/* The build-ids of the file behind `fd`; returns their number. If it is 0, *why_out (the argument may be NULL) tells
 * what the file is ("a Mach-O file that is cut short"), or is NULL for a file of a kind that has no build-ids. Takes a
 * few preads. */
size_t sbx_file_ids_read(int fd, struct sbx_file_id ids_out[SBX_FILE_IDS_MAX], const char **why_out);

/* Whether it is one of these build-ids. */
bool sbx_file_has_id(int fd, const uint8_t *build_id, size_t bytes);

#endif
