/* SPDX-License-Identifier: Apache-2.0 */
/* policy_shelf.h - the signed policies that this server hands out: DATA/policy/APP, one file an application, or a table of the database that
 * several servers share.
 *
 * A file comes there by PUT, or by hand (write it aside and rename it). Into a database they come by PUT; files that lie in DATA/policy
 * when the server starts, of applications that the database has none of, are taken over. The server neither has keys nor looks into it: the
 * machines verify, so a server that is taken over can withhold a policy and not make one. Any thread. */
#ifndef SBX_POLICY_SHELF_H
#define SBX_POLICY_SHELF_H

#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "snapshot_id.h"

enum {
    SBX_POLICY_FILE_MAX = 65536, /* as much as a machine reads */
    SBX_POLICY_TAG_BYTES = 24,
};

struct sbx_policy_shelf;

/* Open DATA/policy, making it when missing; `database`: the URL of one whose store was opened before (store.h), or NULL. Returns 0 and a
 * shelf (given: close), or -errno with the reason. */
int sbx_policy_shelf_open(const char *data_dir, const char *database, struct sbx_policy_shelf **shelf_out, char *why,
                          size_t why_bytes);
void sbx_policy_shelf_close(struct sbx_policy_shelf *shelf); /* NULL is fine */

/* The file of an application, and a tag that changes with it ("\"...\"", for ETag). Returns 0, -ENOENT or another -errno. */
int sbx_policy_shelf_read(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                          struct sbx_byte_buffer *bytes_out, char tag_out[SBX_POLICY_TAG_BYTES]);

/* Replace it, durably: readers see the old or the new one. Returns 0, -EINVAL when these bytes begin no signed document,
 * -EFBIG, or another -errno. */
int sbx_policy_shelf_write(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES], const void *bytes,
                           size_t count);

#endif
