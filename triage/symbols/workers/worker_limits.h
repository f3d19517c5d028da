/* SPDX-License-Identifier: Apache-2.0 */
/* worker_limits.h - what a process may do that reads strangers' files: it is forked for that, and does nothing else. */
#ifndef SBX_WORKER_LIMITS_H
#define SBX_WORKER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* A sanitizer's runtime takes terabytes of addresses and opens files: then this is false, and the limits are its own. */
extern const bool sbx_worker_has_limits;

/* Memory, the descriptors it has, and its end; whatever else it asks for is refused, so that libdw goes on without the
 * files it would open by names that stand in the file. Returns 0 or -errno. */
int sbx_worker_close_doors(void);

/* Set RLIMIT_...; one that is narrower already stays. */
bool sbx_worker_limit(int resource, uint64_t limit);

#endif
