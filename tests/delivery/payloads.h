/* SPDX-License-Identifier: Apache-2.0 */
/* payloads.h - valid payloads in a spool, distinguished by a number, and small file systems for them. */
#ifndef SBX_TEST_PAYLOADS_H
#define SBX_TEST_PAYLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deliver.h"
#include "spool.h"

/* The bytes of payload `number` (given: free), and its id. Ends the program on failure, like the other functions
 * here. */
uint8_t *sbx_test_payload(uint32_t number, uint8_t id_out[16], size_t *bytes_out);
/* Put it; returns the result of sbx_spool_put(). */
int sbx_test_put(struct sbx_spool *spool, uint32_t number);
/* The path SPOOL/ID.sbx or SPOOL/sent/ID.sbx ..., in a buffer like that of sbx_test_path(). */
const char *sbx_test_payload_path(const char *folder, uint32_t number);

/* Is the file the payload of that id, byte for byte? */
bool sbx_test_is_whole(const char *path, const uint8_t id[16]);

struct sbx_spool *sbx_test_spool(const char *path, const struct sbx_spool_limits *limits);

/* Step and wait as the deliverer says, until the spool is empty or `seconds` are over. Returns whether it is empty. */
bool sbx_test_deliver_all(struct sbx_deliverer *deliverer, unsigned seconds);
struct sbx_deliver_counts sbx_test_counts(const struct sbx_deliverer *deliverer);

/* Mount a tmpfs ("size=64k,...") on `path`, visible only to this process and its children; ends with umount(). False,
 * with a message, if it is not allowed. */
bool sbx_test_mount(const char *path, const char *options);

#endif
