/* SPDX-License-Identifier: Apache-2.0 */
/* recording_search.h - the recording of one running process, wherever it lies, and why there is none.
 *
 * The folders of this user are searched first. Then the process's own maps are asked, which also tells of a folder that
 * only its environment names, and of another user's process when we are root. */
#ifndef SBX_RECORDING_SEARCH_H
#define SBX_RECORDING_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "attachment.h"
#include "recording_file.h"

enum {
    SBX_FOUND_PATH_BYTES = SBX_RECORDING_PATH_MAX + 300
};

/* Attach to process `pid`. Returns 0, or -ESRCH with a sentence fragment in `why`, or another -errno; `path_out` is the file it
 * is about. */
SBX_MUST_CHECK int sbx_recording_search(uint32_t pid, struct sbx_attachment *attachment,
                                        char path_out[SBX_FOUND_PATH_BYTES], char *why, size_t why_bytes);

#endif
