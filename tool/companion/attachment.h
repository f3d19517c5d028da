/* SPDX-License-Identifier: Apache-2.0 */
/* attachment.h - the control page of a running agent, mapped by a process of the same user, or of root: `ctl`, or the
 * companion with its policy.
 *
 * Several processes may give orders. Each takes a lock on the recording's file, and waits until the agent has taken the
 * previous order. */
#ifndef SBX_ATTACHMENT_H
#define SBX_ATTACHMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "marks.h"
#include "recording_file.h"
#include "recording_format.h"

struct sbx_attachment {
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    size_t bytes; /* mapped */
    int file;     /* descriptor */
};

/* Map the recording at `path` when it belongs to process `pid` and is live. Returns 0, -ESRCH when it belongs to
 * another process or is not live, -EPROTO when another version wrote it, or -errno. */
SBX_MUST_CHECK int sbx_attachment_open(struct sbx_attachment *attachment, const char *path, uint32_t pid);
/* The same for a file of user `owner`, who also runs the process; for root. The contents are untrusted. */
SBX_MUST_CHECK int sbx_attachment_open_of(struct sbx_attachment *attachment, const char *path, uint32_t pid,
                                          uid_t owner);
void sbx_attachment_close(struct sbx_attachment *attachment);

/* Wake the agent's watch thread. */
void sbx_attachment_ring(const struct sbx_attachment *attachment);

/* Wait until *word, on the control page, is `wanted`, for at most `timeout_ms`. */
bool sbx_attachment_wait(uint32_t *word, uint32_t wanted, uint32_t timeout_ms);

/* Tell the agent to use these settings. `timeout_ms`: how long to wait until the agent has taken the previous order;
 * this order is not waited for. Returns 0 and the generation of the order, -EAGAIN when the agent does not answer, or
 * -errno. */
SBX_MUST_CHECK int sbx_attachment_order(const struct sbx_attachment *attachment,
                                        const struct sbx_capture_settings *settings, uint32_t timeout_ms,
                                        uint32_t *generation_out);

#endif
