/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_file.h - a temporary file that is written beside the final file, and a test whether its writer lives.
 *
 * Its name is ".NAME-RANDOM.PID.tmp". Its writer holds a lock (flock) on it until the file gets its final name or is
 * closed. A sweep of the folder decides only by the lock, because a pid means another process in another pid namespace,
 * and several containers may share a spool. No allocation, and nothing here waits, because the agent's own threads use
 * it as well. */
#ifndef SBX_TEMPORARY_FILE_H
#define SBX_TEMPORARY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "marks.h"

enum {
    SBX_TEMPORARY_NAME_BYTES = 256
};

enum sbx_writer {
    SBX_WRITER_LIVES,
    SBX_WRITER_IS_GONE,
    SBX_WRITER_UNKNOWN, /* no regular file, not ours to open, or a file system without locks */
};

/* Create a temporary file for `name` in `folder`, mode 0600, open for reading and writing, locked. An existing name is
 * never opened, whatever it is. Returns a descriptor and the temporary name, or -errno. */
SBX_MUST_CHECK int sbx_temporary_create(int folder, const char *name, char temporary_out[SBX_TEMPORARY_NAME_BYTES]);

/* Is the writer of the file alive? Any number of callers at a time. */
enum sbx_writer sbx_temporary_writer(int folder, const char *name);

/* The same, and remove the file if its writer has ended; no process can become its writer in between. */
enum sbx_writer sbx_temporary_sweep(int folder, const char *name);

/* Keep the lock of an open file while this process lives, without a descriptor: a mapping keeps the file open, and a
 * forked child does not inherit it. Returns the mapping, for sbx_lock_drop(), or NULL. */
void *sbx_lock_keep(int file);
void sbx_lock_drop(void *kept);

#endif
