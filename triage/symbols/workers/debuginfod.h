/* SPDX-License-Identifier: Apache-2.0 */
/* debuginfod.h - debug files by build-id from a debuginfod server, as distributions run them.
 *
 * A server is asked only when its URL was given here; what DEBUGINFOD_URLS says is not obeyed. libdebuginfod is loaded when
 * it is needed, and runs in a process of its own with limits of time and size, because it brings an HTTP client along that
 * reads what strangers send. What came is a stranger's file: sbx_symbol_worker_make() reads it behind its filter, and it
 * counts only with the right build-id. */
#ifndef SBX_DEBUGINFOD_H
#define SBX_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol_image.h"
#include "symbol_store.h"

struct sbx_debuginfod {
    const char *url;          /* http:// or https:// */
    const char *cache_folder; /* where libdebuginfod keeps what it fetched; made when it is not there */
    uint64_t max_bytes;       /* of a file; 0: 2 GiB */
    unsigned max_s;           /* for a question; 0: 120 */
};

/* Whether `url` is one that may be asked: http or https, and one alone. */
bool sbx_debuginfod_is_url(const char *url);

/* The debug file of a build-id, else the program: a descriptor in *fd_out (given). Returns 0; -ENOENT when the server has
 * neither; -EFBIG and -ETIME past the limits; -ENOSYS without libdebuginfod; or -errno; with words in `why`. To be called
 * by a process with one thread. */
int sbx_debuginfod_fetch(const struct sbx_debuginfod *server, const uint8_t *build_id, size_t bytes, int *fd_out,
                         char *why, size_t why_bytes);

/* The same, parsed completely, and put into `store` as what is added there (NULL, or where it cannot be written: into memory);
 * *image_out is given. Returns also as sbx_symbol_worker_make(). */
int sbx_debuginfod_image(const struct sbx_debuginfod *server, const uint8_t *build_id, size_t bytes, size_t cache_bytes,
                         struct sbx_symbol_store *store, struct sbx_symbol_image **image_out, char *why,
                         size_t why_bytes);

#endif
