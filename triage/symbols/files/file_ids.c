/* SPDX-License-Identifier: Apache-2.0 */
/* file_ids.c - the build-ids of a file. */
#include "file_ids.h"

#include <string.h>

#include "macho_image.h"

_Static_assert((int)SBX_FILE_IDS_MAX >= (int)SBX_MACHO_IMAGES_MAX, "all images of a file have room");

size_t sbx_file_ids_read(int fd, struct sbx_file_id ids_out[SBX_FILE_IDS_MAX], const char **why_out)
{
    uint8_t uuids[SBX_MACHO_IMAGES_MAX][SBX_MACHO_UUID_BYTES];
    const char *why = NULL;
    ids_out[0].byte_count = sbx_build_id_read(fd, ids_out[0].bytes);
    size_t count = 1;
    if (ids_out[0].byte_count == 0) {
        count = sbx_macho_uuids_read(fd, uuids, &why);
        for (size_t i = 0; i < count; i++) {
            memcpy(ids_out[i].bytes, uuids[i], SBX_MACHO_UUID_BYTES);
            ids_out[i].byte_count = SBX_MACHO_UUID_BYTES;
        }
    }
    if (why_out != NULL) {
        *why_out = why;
    }
    return count;
}

bool sbx_file_has_id(int fd, const uint8_t *build_id, size_t bytes)
{
    struct sbx_file_id ids[SBX_FILE_IDS_MAX];
    size_t count = sbx_file_ids_read(fd, ids, NULL);
    for (size_t i = 0; i < count; i++) {
        if (ids[i].byte_count == bytes && memcmp(ids[i].bytes, build_id, bytes) == 0) {
            return true;
        }
    }
    return false;
}
