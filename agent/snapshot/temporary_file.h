/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_file.h - a file that is being written beside the one it is to become, and whether its writer lives.
 *
 * ".NAME-RANDOM.PID.tmp", and its writer holds a lock (flock) on it until it has its name or is closed. A sweep of the folder
 * decides by the lock only: a pid means another process in another pid namespace, and several containers may
 * share a spool. Without allocation, and nothing here waits: the agent's own threads write so too. */
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

/* Make one for `name` in `folder`, mode 0600, open for reading and writing, locked. No name that is there already is
 * opened, whatever it is. Returns a descriptor and the temporary name, or -errno. */
SBX_MUST_CHECK int sbx_temporary_create(int folder, const char *name, char temporary_out[SBX_TEMPORARY_NAME_BYTES]);

/* Does whoever writes the file live? Any number may ask at a time. */
enum sbx_writer sbx_temporary_writer(int folder, const char *name);

/* The same, and take the file away when he is gone; nobody can become its writer in between. */
enum sbx_writer sbx_temporary_sweep(int folder, const char *name);

/* Keep the lock of an open file for as long as this process lives, without its descriptor: a mapping keeps the file open, and a
 * forked child has none of it. Returns the mapping, to be given to sbx_lock_drop(), or NULL. */
void *sbx_lock_keep(int file);
void sbx_lock_drop(void *kept);

#endif
