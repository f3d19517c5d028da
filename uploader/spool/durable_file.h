/* SPDX-License-Identifier: Apache-2.0 */
/* durable_file.h - a file that is complete or absent, whatever happens while it is written.
 *
 * It is separate from the spool because partial writes must be handled right in one place. After a short write on a
 * full disk, fsync, close and rename all still succeed. So each count is checked before the name is published. */
#ifndef SBX_DURABLE_FILE_H
#define SBX_DURABLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* Write `bytes` bytes as `name` into the folder `folder` (a directory descriptor), and replace any file with that name.
 * Steps: a temporary file (agent/snapshot/temporary_file.h), counted writes, fsync, rename, fsync of the folder. If it
 * returns 0, the file is durable. Else it returns -errno, and nothing of it is left. Mode 0600. Any thread, any
 * process. */
SBX_MUST_CHECK int sbx_durable_file_write(int folder, const char *name, const void *content, size_t bytes);

/* Read a whole regular file of at most `bytes_max` bytes. Follows no link and does not wait for a FIFO. Returns 0 and
 * malloc'ed bytes (given: free; never NULL, even if the file is empty), or -errno: -EFBIG above the limit, -EINVAL not
 * a regular file. */
SBX_MUST_CHECK int sbx_durable_file_read(int folder, const char *name, size_t bytes_max, uint8_t **content_out,
                                         size_t *bytes_out);

/* Is `name` a temporary name of agent/snapshot/temporary_file.h, or of an older version, ".NAME.PID.tmp"? */
bool sbx_durable_file_is_temporary(const char *name);

/* Remove files of writers that have ended from `folder`. A living writer holds a lock, in any pid namespace. If locks
 * do not work (no regular file, a file system without locks), files older than an hour are removed. A snapshot that a
 * dying process may have completed stays a week for the process that finds its recording. Errors are ignored: the next
 * open tries again. */
void sbx_durable_file_sweep(int folder);

#endif
