/* SPDX-License-Identifier: Apache-2.0 */
/* rows_cache.h - unwind rows kept on disk by build-id: built once a machine and user, read by every process after.
 *
 *   FOLDER/BUILD-ID-ENCODING.rows       0400, whole: written under another name, then renamed (rows_file.h draws it)
 *   FOLDER/.new-RANDOM                  being written, or left by a process that died doing so
 *
 * The walker reads the rows in signal handlers, so nothing is believed: the folder must be ours and writable by
 * nobody else, the file too, its checksum and every invariant must hold (libLLVM: 8 MB, 2 to 6 ms, against 30 to 80 to
 * build them). They are read into memory of our own, checked there, and used there: a file that is mapped is a file that
 * somebody can truncate (root, a full-disk clean-up, the user himself), and that would be SIGBUS in every program that has it.
 * What it costs is that processes do not share these pages: docs/LIMITS.md has the figures.
 *
 * No fd is held between calls: programs close what they did not open, and the number would soon be somebody else's.
 * No allocation, no stdio. One thread at a time; any number of processes. */
#ifndef SBX_ROWS_CACHE_H
#define SBX_ROWS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "rows_file.h"

enum {
    SBX_ROWS_FOLDER_MAX = 512,
    /* All files together. A desktop program maps some 5 MiB of rows, a whole Debian installation has 130; files are a
     * few per cent of the modules they describe. Above it the files unused for longest go. */
    SBX_ROWS_CACHE_BYTES = 64 << 20
};

struct sbx_rows_cache {
    char folder[SBX_ROWS_FOLDER_MAX]; /* "": there is no cache */
    uint64_t limit_bytes;             /* SBX_ROWS_CACHE_BYTES, unless a test says otherwise */
    bool may_write;                   /* false from the first failure that will not go away */
    uint32_t found, missing, written; /* counts */
    uint32_t refused;                 /* files that were damaged or not ours alone */
    int last_error;                   /* -errno of the last write that failed; 0: none */
};

/* Use `folder` (absolute; borrowed), which exists. NULL or "" is no cache. Returns 0; -ENOENT: no cache was named, or
 * there is no such folder; -EINVAL not absolute; -ENAMETOOLONG; -EPERM not ours alone; or what open said. Whatever it
 * returns, the cache may be asked: without a folder nothing is found and nothing written. */
int sbx_rows_cache_open(struct sbx_rows_cache *cache, const char *folder);

/* Find rows. 0: rows_out is to be given back with sbx_unwind_rows_release(). -ENOENT: not there, or not usable. */
SBX_MUST_CHECK int sbx_rows_cache_get(struct sbx_rows_cache *cache, const struct sbx_rows_key *key,
                                      struct sbx_unwind_rows *rows_out);

/* Keep rows that were built, which walks may be reading. Returns 0 or -errno; failing leaves no file behind. Takes as long as
 * the disk does. */
int sbx_rows_cache_put(struct sbx_rows_cache *cache, const struct sbx_rows_key *key,
                       const struct sbx_unwind_rows *rows);

/* Take out the files unused for longest until the limit holds, and what dead writers left. Lists the folder once; to
 * be called once a process, after it wrote. Returns the number of files taken out. */
uint32_t sbx_rows_cache_trim(struct sbx_rows_cache *cache);

#endif
