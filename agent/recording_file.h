/* SPDX-License-Identifier: Apache-2.0 */
/* recording_file.h - the recording as a file: where it lies, how it is made, how it is found. */
#ifndef SBX_RECORDING_FILE_H
#define SBX_RECORDING_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum {
    SBX_RECORDING_PATH_MAX = 512
};

struct sbx_recording_file {
    struct sbx_recording_header *header; /* the mapping; never unmapped once capture is attached to it */
    size_t bytes;
    char path[SBX_RECORDING_PATH_MAX];
};

/* The folder of recordings when none is named: /dev/shm/stallbox-UID, else /tmp/stallbox-UID. Returns 0 or
 * -ENAMETOOLONG. */
SBX_MUST_CHECK int sbx_recordings_default_folder(char *path_out, size_t path_bytes);

/* The spool when none is named: $XDG_STATE_HOME/stallbox/spool, else ~/.local/state/stallbox/spool, home as the passwd
 * entry or $HOME has it. Returns 0 or -ENOENT, -ENAMETOOLONG. */
SBX_MUST_CHECK int sbx_spool_default_path(char *path_out, size_t path_bytes);

/* Where unwind rows are kept: $STALLBOX_ROWS when it is set, and empty means nowhere; else $XDG_CACHE_HOME/stallbox/rows;
 * else ~/.cache/stallbox/rows, when $HOME is a folder of ours (under sudo it may be somebody else's, and we do not leave
 * folders of root there). Returns 0 or -ENOENT, -ENAMETOOLONG. */
SBX_MUST_CHECK int sbx_rows_default_folder(char *path_out, size_t path_bytes);

/* Make every missing folder of `path`, 0700. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_make_folders(const char *path);

/* Create `folder`/PID-SESSION.rec, sized, mapped and with a whole header in state STARTING. The folder is made when
 * missing and must be ours alone (-EPERM). Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_recording_create(const char *folder, const char *spool_path,
                                        struct sbx_recording_file *file_out);

/* Take the file's name away; the mapping stays. */
void sbx_recording_unlink(struct sbx_recording_file *file);

/* Start time of process `pid` in clock ticks (field 22 of its stat), 0 when there is no such process. */
uint64_t sbx_process_start_ticks(uint32_t pid);

#endif
