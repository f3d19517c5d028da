/* SPDX-License-Identifier: Apache-2.0 */
/* spool_folders.h - the inside of a spool, for the files of this folder that work on it.
 *
 * All accesses go through the descriptors that were opened and checked once. If a folder is later renamed, or replaced
 * by a link, this has no effect. */
#ifndef SBX_SPOOL_FOLDERS_H
#define SBX_SPOOL_FOLDERS_H

#include <dirent.h>

#include "envelope_format.h"
#include "spool.h"

enum {
    SBX_SPOOL_NAME_BYTES = 2 * SBX_PAYLOAD_ID_BYTES + 5, /* 32 hex digits, ".sbx" or ".raw", NUL */
};

struct sbx_spool_modules; /* spool_modules.c */

struct sbx_spool {
    char *path;               /* as given, without trailing slashes */
    int root, raw, sent, bad; /* directory descriptors */
    struct sbx_spool_limits limits;
    uint64_t dropped;                  /* waiting payloads removed to make room, by this object */
    struct sbx_spool_modules *modules; /* noted and not yet saved; NULL: none */
};

/* ID in lower hex, followed by `suffix`. */
void sbx_spool_name(const uint8_t id[SBX_PAYLOAD_ID_BYTES], const char *suffix, char name_out[SBX_SPOOL_NAME_BYTES]);

/* Begin to list `folder`, one of the spool's, whose own descriptor stays open. Returns 0 and a listing (given:
 * closedir), or -errno. */
int sbx_spool_list(int folder, DIR **listing_out);

/* Read a waiting payload, like sbx_durable_file_read(). */
int sbx_spool_read(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES], uint8_t **envelope_out,
                   size_t *bytes_out);

/* Move `name` from `folder` (one of spool's) to bad/, and keep bad/ within its limits. Durable. Returns 0 or -errno. */
int sbx_spool_move_to_bad(struct sbx_spool *spool, int folder, const char *name);

void sbx_spool_modules_destroy(struct sbx_spool_modules *modules);

#endif
