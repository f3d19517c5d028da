/* SPDX-License-Identifier: Apache-2.0 */
/* redis_store.h - images by build-id, in Redis or Redis Cluster (redis_keys.h has the keys).
 *
 * A writer writes the chunks first and the head last, with a compare-and-set in the server. So no reader sees half an
 * image, and of two writers one sees the image of the other. The chunks of a replaced image stay for an hour, for
 * current readers. Unused images expire. */
#ifndef SBX_REDIS_STORE_H
#define SBX_REDIS_STORE_H

#include "redis_url.h"
#include "symbol_store.h"

/* `url` is copied. Sends nothing to Redis yet. Returns 0, -EINVAL for an invalid tenant, or -ENOMEM. */
int sbx_redis_store_open(const struct sbx_redis_url *url, const char *name, const char *tenant,
                         struct sbx_symbol_store **store_out);

#endif
