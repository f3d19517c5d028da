/* SPDX-License-Identifier: Apache-2.0 */
/* recording_file.h - the recording as a file: its place, its creation, and how it is found. */
#ifndef SBX_RECORDING_FILE_H
#define SBX_RECORDING_FILE_H

#include <stdbool.h>
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

/* The spool when none is named: $XDG_STATE_HOME/stallbox/spool, else ~/.local/state/stallbox/spool, with the home of
 * the passwd entry or of $HOME. Returns 0 or -ENOENT, -ENAMETOOLONG. */
SBX_MUST_CHECK int sbx_spool_default_path(char *path_out, size_t path_bytes);

/* Where unwind rows are kept: $STALLBOX_ROWS if it is set (empty: they are not kept); else
 * $XDG_CACHE_HOME/stallbox/rows; else ~/.cache/stallbox/rows if $HOME is a folder of ours. Under sudo it may be another
 * user's, and we do not create folders of root there. Returns 0 or -ENOENT, -ENAMETOOLONG. */
SBX_MUST_CHECK int sbx_rows_default_folder(char *path_out, size_t path_bytes);

/* Is there room for a program's recording of the smallest size? A folder that is not ours has no room. */
bool sbx_recording_fits(const char *folder);

/* Create `folder`/PID-SESSION-SPOOL.rec (recording_name.h), sized, mapped, and with a complete header in state
 * STARTING. The folder is created when it is missing, and must be ours alone (-EPERM). Memory is reserved for what lies
 * before the callstack table (control page, modules, threads, watches). Nothing after that may be accessed before
 * sbx_recording_reserve(). Returns 0 or -errno; -ENOSPC when there is no room for the whole file. */
SBX_MUST_CHECK int sbx_recording_create(const char *folder, const char *spool_path,
                                        struct sbx_recording_file *file_out);

/* The same with a ring of `ring_kib` KiB; 0: the default. */
SBX_MUST_CHECK int sbx_recording_create_sized(const char *folder, const char *spool_path, uint32_t ring_kib,
                                              struct sbx_recording_file *file_out);

/* The same for a forked worker: an eighth of the size, in a folder that must exist. `modules`: how many modules its
 * parent had. The ring uses only the first part of its room at first; sbx_recording_grow() adds the rest. */
SBX_MUST_CHECK int sbx_recording_create_for_worker(const char *folder, const char *spool_path, uint32_t modules,
                                                   struct sbx_recording_file *file_out);

/* Is the ring shorter than the file has room for? */
bool sbx_recording_may_grow(const struct sbx_recording_file *file);

/* Reserve the whole ring of a worker's recording, and write its length into the header. The caller then tells the
 * ring's writers (sbx_ring_open_whole()). Returns 0 or -errno: then nothing has changed. */
SBX_MUST_CHECK int sbx_recording_grow(struct sbx_recording_file *file);

/* Reserve the rest of what the header names. The kernel zeroes the memory for one or two milliseconds, so no thread of
 * the application must call this. Returns 0 or -errno: then the callstack table and the ring must never be accessed. */
SBX_MUST_CHECK int sbx_recording_reserve(const struct sbx_recording_file *file);

/* Release what sbx_recording_reserve() reserved of the callstack table and of the ring. Both are zero then, and must
 * not be accessed before they are reserved again. False: the memory could not be reserved again, or the kernel cannot
 * release it; nothing has changed. */
bool sbx_recording_release(const struct sbx_recording_file *file);

/* After a release: reserve the memory once more, even if the file can no longer be opened. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_recording_reserve_again(const struct sbx_recording_file *file);

/* Is "/" still the same folder as when the recording was created? After a chroot each of our paths means another
 * file. */
bool sbx_root_is_unchanged(void);

/* Remove the file's name; the mapping stays. */
void sbx_recording_unlink(struct sbx_recording_file *file);

/* Start time of process `pid` in clock ticks (field 22 of its stat), 0 when there is no such process. */
uint64_t sbx_process_start_ticks(uint32_t pid);

#endif
