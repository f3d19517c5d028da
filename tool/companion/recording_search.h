/* SPDX-License-Identifier: Apache-2.0 */
/* recording_search.h - finds the recording of one running process wherever it is, or the reason why there is none. It
 * searches the folders of this user first, and then the maps of the process. These also tell a folder that only the
 * environment of the process names, and recordings of other users when we are root. */
#ifndef SBX_RECORDING_SEARCH_H
#define SBX_RECORDING_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "attachment.h"
#include "recording_file.h"

enum {
    SBX_FOUND_PATH_BYTES = SBX_RECORDING_PATH_MAX + 300
};

/* Attach to process `pid`. Returns 0, or -ESRCH with a part of a sentence in `why`, or another -errno. `path_out` is
 * the file. */
SBX_MUST_CHECK int sbx_recording_search(uint32_t pid, struct sbx_attachment *attachment,
                                        char path_out[SBX_FOUND_PATH_BYTES], char *why, size_t why_bytes);

#endif
