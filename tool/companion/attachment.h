/* SPDX-License-Identifier: Apache-2.0 */
/* attachment.h - the control page of a running agent, held by a process of the same user, or of root: `ctl` and the policy's companion.
 *
 * Several may give orders; each waits until the one before was taken over, under a lock on the recording's file. */
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

/* Map the recording at `path` when it is process `pid`'s and live. Returns 0, -ESRCH when it is somebody else's or not
 * live, -EPROTO when another version wrote it, or -errno. */
SBX_MUST_CHECK int sbx_attachment_open(struct sbx_attachment *attachment, const char *path, uint32_t pid);
/* The same for a file of user `owner`, whose process it is: for root. What is in it is that user's word. */
SBX_MUST_CHECK int sbx_attachment_open_of(struct sbx_attachment *attachment, const char *path, uint32_t pid,
                                          uid_t owner);
void sbx_attachment_close(struct sbx_attachment *attachment);

/* Wake the agent's watch thread. */
void sbx_attachment_ring(const struct sbx_attachment *attachment);

/* Wait until *word, on the control page, is `wanted`; at most `timeout_ms`. */
bool sbx_attachment_wait(uint32_t *word, uint32_t wanted, uint32_t timeout_ms);

/* Have the agent take these settings over. `timeout_ms` is how long an order before it may take to be taken; this one is
 * not waited for. Returns 0 and the order's generation, or -EAGAIN when the agent does not answer, or -errno. */
SBX_MUST_CHECK int sbx_attachment_order(const struct sbx_attachment *attachment,
                                        const struct sbx_capture_settings *settings, uint32_t timeout_ms,
                                        uint32_t *generation_out);

#endif
