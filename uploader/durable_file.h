/* SPDX-License-Identifier: Apache-2.0 */
/* durable_file.h - a file that is whole or absent, whatever happens while it is written.
 *
 * Apart from the spool because it is the one place that has to be right about partial writes: after a short write on a
 * full disk, fsync, close and rename all still succeed, so each count is checked before the name is published. */
#ifndef SBX_DURABLE_FILE_H
#define SBX_DURABLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* Write `bytes` bytes as `name` into the folder `folder` (a directory descriptor), replacing what has that name: a
 * temporary file ".NAME-RANDOM.PID.tmp", every write counted, fsync, rename, fsync of the folder. Durable when it
 * returns 0; else -errno, and nothing of it is left. Mode 0600. Any thread, any process. */
SBX_MUST_CHECK int sbx_durable_file_write(int folder, const char *name, const void *content, size_t bytes);

/* Read a regular file whole, at most `bytes_max` bytes; follows no link and waits for no FIFO. Returns 0 and malloc'ed
 * bytes (given: free; never NULL, also when the file is empty), or -errno: -EFBIG over the limit, -EINVAL not a regular
 * file. */
SBX_MUST_CHECK int sbx_durable_file_read(int folder, const char *name, size_t bytes_max, uint8_t **content_out,
                                         size_t *bytes_out);

/* Is `name` a temporary name of sbx_durable_file_write(), or of the agent's writer, which uses the same shape? Gives
 * the process id in it. */
bool sbx_durable_file_is_temporary(const char *name, int *pid_out);

/* Remove what writers that are dead have left in `folder`, and anything temporary older than an hour: no write takes
 * that long, so its number belongs to another process by now. Errors are ignored: the next open tries again. */
void sbx_durable_file_sweep(int folder);

#endif
