/* SPDX-License-Identifier: Apache-2.0 */
/* payloads.h - true payloads in a spool, told apart by a number, and small file systems to put them on. */
#ifndef SBX_TEST_PAYLOADS_H
#define SBX_TEST_PAYLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deliver.h"
#include "spool.h"

/* The payload `number` as bytes (given: free), and its id. Ends the program on failure, like the others here. */
uint8_t *sbx_test_payload(uint32_t number, uint8_t id_out[16], size_t *bytes_out);
/* Put it; returns what sbx_spool_put() says. */
int sbx_test_put(struct sbx_spool *spool, uint32_t number);
/* SPOOL/ID.sbx or SPOOL/sent/ID.sbx ..., as sbx_test_path(). */
const char *sbx_test_payload_path(const char *folder, uint32_t number);

/* Is the file the payload of that id, byte for byte? */
bool sbx_test_is_whole(const char *path, const uint8_t id[16]);

struct sbx_spool *sbx_test_spool(const char *path, const struct sbx_spool_limits *limits);

/* Step until the spool is empty, waiting as told, for at most `seconds`. Returns whether it is. */
bool sbx_test_deliver_all(struct sbx_deliverer *deliverer, unsigned seconds);
struct sbx_deliver_counts sbx_test_counts(const struct sbx_deliverer *deliverer);

/* Mount a tmpfs ("size=64k,...") on `path`, seen by this process and its children only; ends with umount(). False, and
 * it is said why, where that is not allowed. */
bool sbx_test_mount(const char *path, const char *options);

#endif
