/* SPDX-License-Identifier: Apache-2.0 */
/* rows_cache.h - unwind rows kept on disk by build-id: built once per machine and user, and read by every later
 * process.
 *
 *   FOLDER/BUILD-ID-ENCODING.rows       0400, whole: written under another name, then renamed (rows_file.h draws it)
 *   FOLDER/.new-RANDOM                  being written, or left by a process that died while writing
 *
 * The walker reads the rows in signal handlers, so nothing is trusted. The folder and the file must belong to this
 * user, and no other user may have write permission. The checksum and every invariant must hold (libLLVM: 8 MB, 2 to 6
 * ms; building the rows takes 30 to 80 ms). The file is read into memory of this process, checked there, and used
 * there. It is not mapped, because another process could truncate it (root, a full-disk clean-up, the same user), and
 * every program that maps it would then get SIGBUS. The cost is that processes do not share these pages: docs/LIMITS.md
 * has the figures.
 *
 * No descriptor is kept open between calls, because some programs close descriptors that they did not open, and the
 * number is then reused for another file. No allocation, no stdio. One thread at a time; any number of processes. */
#ifndef SBX_ROWS_CACHE_H
#define SBX_ROWS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "rows_file.h"

enum {
    SBX_ROWS_FOLDER_MAX = 512,
    /* Limit for all files together. A desktop program maps some 5 MiB of rows, and a whole Debian installation has 130.
     * Row files have a few per cent of the size of the modules they describe. Above the limit, the files unused for
     * longest are removed. */
    SBX_ROWS_CACHE_BYTES = 64 << 20
};

struct sbx_rows_cache {
    char folder[SBX_ROWS_FOLDER_MAX]; /* "": there is no cache */
    uint64_t limit_bytes;             /* SBX_ROWS_CACHE_BYTES, unless a test says otherwise */
    bool may_write;                   /* false after the first failure that will not go away */
    uint32_t found, missing, written; /* counts */
    uint32_t refused;                 /* files that were damaged, or that others could write */
    int last_error;                   /* -errno of the last write that failed; 0: none */
};

/* Use `folder` (absolute; borrowed), which must exist. NULL or "" means no cache. Returns 0; -ENOENT: no folder was
 * named, or it does not exist; -EINVAL: not absolute; -ENAMETOOLONG; -EPERM: others own it or can write to it; or the
 * error of open. The cache may be used after any of these results: without a folder it finds nothing and writes
 * nothing. */
int sbx_rows_cache_open(struct sbx_rows_cache *cache, const char *folder);

/* Find rows. Returns 0: the caller gives rows_out back with sbx_unwind_rows_release(); or -ENOENT: not there, or not
 * usable. */
SBX_MUST_CHECK int sbx_rows_cache_get(struct sbx_rows_cache *cache, const struct sbx_rows_key *key,
                                      struct sbx_unwind_rows *rows_out);

/* Store rows that were built. Walks may be reading them meanwhile. Returns 0 or -errno; a failure leaves no file
 * behind. May take as long as the disk needs. */
int sbx_rows_cache_put(struct sbx_rows_cache *cache, const struct sbx_rows_key *key,
                       const struct sbx_unwind_rows *rows);

/* Remove the files unused for longest until the limit holds, and the files that dead writers left. Lists the folder
 * once. To be called once per process, after it wrote. Returns the number of files removed. */
uint32_t sbx_rows_cache_trim(struct sbx_rows_cache *cache);

#endif
