/* SPDX-License-Identifier: Apache-2.0 */
/* recording_file.h - the recording as a file: where it lies, how it is made, how it is found. */
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

/* The spool when none is named: $XDG_STATE_HOME/stallbox/spool, else ~/.local/state/stallbox/spool, home as the passwd
 * entry or $HOME has it. Returns 0 or -ENOENT, -ENAMETOOLONG. */
SBX_MUST_CHECK int sbx_spool_default_path(char *path_out, size_t path_bytes);

/* Where unwind rows are kept: $STALLBOX_ROWS when it is set, and empty means nowhere; else $XDG_CACHE_HOME/stallbox/rows;
 * else ~/.cache/stallbox/rows, when $HOME is a folder of ours (under sudo it may be somebody else's, and we do not leave
 * folders of root there). Returns 0 or -ENOENT, -ENAMETOOLONG. */
SBX_MUST_CHECK int sbx_rows_default_folder(char *path_out, size_t path_bytes);

/* Is there room for a program's recording, as small as they get? A folder that is not ours has none. */
bool sbx_recording_fits(const char *folder);

/* Create `folder`/PID-SESSION-SPOOL.rec (recording_name.h), sized, mapped and with a whole header in state STARTING. The folder is made when
 * missing and must be ours alone (-EPERM). Memory is reserved for what lies before the callstack table (control page,
 * modules, threads, watches); nothing behind it may be touched before sbx_recording_reserve(). Returns 0 or -errno, -ENOSPC
 * when there is no room for all of it. */
SBX_MUST_CHECK int sbx_recording_create(const char *folder, const char *spool_path,
                                        struct sbx_recording_file *file_out);

/* The same with a ring of `ring_kib` KiB; 0: the default. */
SBX_MUST_CHECK int sbx_recording_create_sized(const char *folder, const char *spool_path, uint32_t ring_kib,
                                              struct sbx_recording_file *file_out);

/* The same for a forked worker: an eighth of the size, and the folder has to be there. `modules`: how many its parent had. Its ring is the
 * beginning of what there is room for, and sbx_recording_grow() adds the rest. */
SBX_MUST_CHECK int sbx_recording_create_for_worker(const char *folder, const char *spool_path, uint32_t modules,
                                                   struct sbx_recording_file *file_out);

/* Is its ring shorter than the file has room for? */
bool sbx_recording_may_grow(const struct sbx_recording_file *file);

/* Reserve the whole ring of a worker's recording, and say in its header how long it is, which who opened the ring then says to its writers
 * (sbx_ring_open_whole()). Returns 0 or -errno: then all is as it was. */
SBX_MUST_CHECK int sbx_recording_grow(struct sbx_recording_file *file);

/* Reserve the rest of what its header names: one or two milliseconds of the kernel's zeroing, so not by a thread of the application. Returns 0 or
 * -errno: then the callstack table and the ring may never be touched. */
SBX_MUST_CHECK int sbx_recording_reserve(const struct sbx_recording_file *file);

/* Give back what sbx_recording_reserve() reserved of the callstack table and of the ring: both are zeroes then, and may not be touched before they
 * are reserved again. False: it could not be had again, or the kernel does not take it; nothing has changed. */
bool sbx_recording_release(const struct sbx_recording_file *file);

/* After that: reserve it once more, also where the file may not be opened any more. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_recording_reserve_again(const struct sbx_recording_file *file);

/* Does "/" still lead where it led when the recording was created? After a chroot every path of ours means another file. */
bool sbx_root_is_unchanged(void);

/* Take the file's name away; the mapping stays. */
void sbx_recording_unlink(struct sbx_recording_file *file);

/* Start time of process `pid` in clock ticks (field 22 of its stat), 0 when there is no such process. */
uint64_t sbx_process_start_ticks(uint32_t pid);

#endif
