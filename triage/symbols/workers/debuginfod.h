/* SPDX-License-Identifier: Apache-2.0 */
/* debuginfod.h - fetches debug files by build-id from a debuginfod server, as distributions run them.
 *
 * A server is asked only if its URL was given here; DEBUGINFOD_URLS is ignored. libdebuginfod is loaded when it is
 * needed. It runs in a process of its own with limits of time and size, because it has an HTTP client that reads data
 * from strangers. The fetched file is a stranger's file, too: sbx_symbol_worker_make() reads it behind its filter, and
 * it is used only if its build-id is the right one. */
#ifndef SBX_DEBUGINFOD_H
#define SBX_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol_image.h"
#include "symbol_store.h"

struct sbx_debuginfod {
    const char *url;          /* http:// or https:// */
    const char *cache_folder; /* where libdebuginfod keeps fetched files; made if it does not exist */
    uint64_t max_bytes;       /* of one file; 0: 2 GiB */
    unsigned max_s;           /* for one request; 0: 120 */
};

/* Whether `url` is allowed: http or https, and only one URL. */
bool sbx_debuginfod_is_url(const char *url);

/* Fetch the debug file of a build-id, else the program: a descriptor in *fd_out (given). Returns 0; -ENOENT if the
 * server has neither; -EFBIG and -ETIME beyond the limits; -ENOSYS without libdebuginfod; or -errno; with a text in
 * `why`. Call it only in a process with one thread. */
int sbx_debuginfod_fetch(const struct sbx_debuginfod *server, const uint8_t *build_id, size_t bytes, int *fd_out,
                         char *why, size_t why_bytes);

/* The same, parsed completely and stored in `store` (NULL, or if it cannot be written to: in memory); *image_out is
 * given. Returns also as sbx_symbol_worker_make(). */
int sbx_debuginfod_image(const struct sbx_debuginfod *server, const uint8_t *build_id, size_t bytes, size_t cache_bytes,
                         struct sbx_symbol_store *store, struct sbx_symbol_image **image_out, char *why,
                         size_t why_bytes);

#endif
