/* SPDX-License-Identifier: Apache-2.0 */
/* renderings.h - reports as they are served, kept after the first request for them.
 *
 * Most stalls are never looked at, so nothing is rendered before the first request (triager.h makes it). The result is
 * kept here for later requests.
 *
 * The file is DATA/renderings.db. It has a bound, and the oldest renderings are dropped first. It is disposable: it may
 * be deleted while no server runs, and another server version starts a new one. Any thread may call. */
#ifndef SBX_RENDERINGS_H
#define SBX_RENDERINGS_H

#include "byte_buffer.h"
#include "snapshot_id.h"

enum sbx_rendering {
    SBX_RENDERING_PAGE = 0, /* HTML, the fixed part of a stall's page */
    SBX_RENDERING_JSON = 1,
    SBX_RENDERING_PERFETTO = 2,
    SBX_RENDERING_PPROF = 3,
    SBX_RENDERING_FOLDED = 4,
    SBX_RENDERING_ASYNC_FOLDED = 5,
    SBX_RENDERING_ASYNC_PPROF = 6,
    SBX_RENDERING_TIMELINE = 7, /* JSON, the data that the page's timeline draws */
    SBX_RENDERING_KINDS = 8,
};

struct sbx_renderings;

/* `version` (copied): renderings of other versions are dropped. `bytes_max` 0: nothing is kept. Returns 0 or -errno
 * with the reason. */
int sbx_renderings_open(const char *data_dir, const char *version, uint64_t bytes_max,
                        struct sbx_renderings **renderings_out, char *why, size_t why_bytes);
void sbx_renderings_close(struct sbx_renderings *renderings);

/* Keep a rendering of `id` in place of an older one. The body is borrowed; a failed or empty one is not kept. Then drop
 * the oldest others until the size is within the bound. Returns 0 or -errno. */
int sbx_renderings_put(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind,
                       const struct sbx_byte_buffer *body);

/* Append a rendering to `body_out`. Returns 0, -ENOENT when it is not kept (any more), -ENOMEM or -EIO. */
int sbx_renderings_get(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind,
                       struct sbx_byte_buffer *body_out);

/* Drop all renderings of `id`, because they are out of date. Returns 0 or -errno. */
int sbx_renderings_drop(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES]);
/* The same, but also overwrite them in the journal. Returns 0 or -errno. */
int sbx_renderings_remove(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES]);

/* Remove renderings whose payload no longer exists. `is_there` returns 1, 0, or -errno when it does not know. Another
 * server of the same store may have removed payloads without a notice. Returns the number of such payloads, or -errno.
 * Renderings of which nothing is known stay. */
int sbx_renderings_sweep(struct sbx_renderings *renderings,
                         int (*is_there)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

uint64_t sbx_renderings_bytes(struct sbx_renderings *renderings);

#endif
