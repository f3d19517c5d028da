/* SPDX-License-Identifier: Apache-2.0 */
/* payload_ends.h - ends of stalls that were reported while they went on: finds them among payloads, and joins them to
 * their stalls. */
#ifndef SBX_PAYLOAD_ENDS_H
#define SBX_PAYLOAD_ENDS_H

#include <stddef.h>

#include "payload_list.h"

struct sbx_payload_ends {
    struct sbx_stall **ends;
    size_t count;
};

/* Move the ends out of the list. The remaining entries are stalls, or cannot be read. `ends` must be zero before.
 * Returns 0 or -ENOMEM. */
int sbx_payload_ends_take(struct sbx_payload_ends *ends, struct sbx_payload_list *list,
                          const struct sbx_unseal_keys *keys);

/* Complete the stall, if its end is among them. */
void sbx_payload_ends_complete(const struct sbx_payload_ends *ends, struct sbx_stall *stall);

void sbx_payload_ends_finish(struct sbx_payload_ends *ends);

#endif
