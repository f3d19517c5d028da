/* SPDX-License-Identifier: Apache-2.0 */
/* policy_shelf.h - the signed policies that this server offers: one file per application at DATA/policy/APP, or a table
 * of the database that several servers share.
 *
 * A file comes by PUT, or by hand (write it under another name and rename it). Into a database policies come by PUT.
 * When the server starts, it also takes over files in DATA/policy of applications without a policy in the database. The
 * server has no keys and does not read policies; the machines verify them. So an attacker who controls the server can
 * withhold a policy, but cannot make one. Any thread. */
#ifndef SBX_POLICY_SHELF_H
#define SBX_POLICY_SHELF_H

#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "snapshot_id.h"

enum {
    SBX_POLICY_FILE_MAX = 65536, /* the most that a machine reads */
    SBX_POLICY_TAG_BYTES = 24,
};

struct sbx_policy_shelf;

/* Open DATA/policy, and make it when it is missing. `database`: URL of a database whose store is open already
 * (store.h), or NULL. Returns 0 and a shelf (given: close), or -errno with the reason. */
int sbx_policy_shelf_open(const char *data_dir, const char *database, struct sbx_policy_shelf **shelf_out, char *why,
                          size_t why_bytes);
void sbx_policy_shelf_close(struct sbx_policy_shelf *shelf); /* NULL is fine */

/* Read the policy of an application, and a tag that changes with it ("\"...\"", for ETag). Returns 0, -ENOENT or
 * another -errno. */
int sbx_policy_shelf_read(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                          struct sbx_byte_buffer *bytes_out, char tag_out[SBX_POLICY_TAG_BYTES]);

/* Replace it durably; readers see the old or the new one. Returns 0, -EINVAL when the bytes do not begin like a signed
 * document, -EFBIG, or another -errno. */
int sbx_policy_shelf_write(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES], const void *bytes,
                           size_t count);

#endif
