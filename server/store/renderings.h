/* SPDX-License-Identifier: Apache-2.0 */
/* renderings.h - reports as they are served, once somebody has asked for them.
 *
 * Most stalls are never looked at, so nothing is rendered before someone asks (triager.h makes it); what was made lies here,
 * for whoever asks again. Kept in DATA/renderings.db, bounded, oldest out first. Disposable: the file may be deleted while no
 * server runs; another server version starts it anew. Any thread may call. */
#ifndef SBX_RENDERINGS_H
#define SBX_RENDERINGS_H

#include "byte_buffer.h"
#include "snapshot_id.h"

enum sbx_rendering {
    SBX_RENDERING_PAGE = 0, /* HTML, the part of a stall's page that never changes */
    SBX_RENDERING_JSON = 1,
    SBX_RENDERING_PERFETTO = 2,
    SBX_RENDERING_PPROF = 3,
    SBX_RENDERING_FOLDED = 4,
    SBX_RENDERING_ASYNC_FOLDED = 5,
    SBX_RENDERING_ASYNC_PPROF = 6,
    SBX_RENDERING_TIMELINE = 7, /* JSON, what the timeline of the page draws */
    SBX_RENDERING_KINDS = 8,
};

struct sbx_renderings;

/* `version` (copied) tells renderings of different programs apart. `bytes_max` 0: nothing is kept. Returns 0 or -errno with
 * the reason. */
int sbx_renderings_open(const char *data_dir, const char *version, uint64_t bytes_max,
                        struct sbx_renderings **renderings_out, char *why, size_t why_bytes);
void sbx_renderings_close(struct sbx_renderings *renderings);

/* Keep one rendering of `id` in place of an older one; borrowed; a failed or empty one is left out. Then the oldest of
 * others go until the bound holds. Returns 0 or -errno. */
int sbx_renderings_put(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind,
                       const struct sbx_byte_buffer *body);

/* Append one rendering to `body_out`. Returns 0, -ENOENT when it is not there (any more), -ENOMEM or -EIO. */
int sbx_renderings_get(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind,
                       struct sbx_byte_buffer *body_out);

/* Drop all renderings of `id`: what they say is no longer so. Returns 0 or -errno. */
int sbx_renderings_drop(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES]);
/* The same for good: nothing of them stays in the journal either. Returns 0 or -errno. */
int sbx_renderings_remove(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES]);

/* Remove those of payloads that are not there any more: `is_there` says 1, 0, or -errno when it does not know. Another server of the same
 * store takes payloads away without a word to this one. Returns how many payloads they were of, or -errno: what is not known stays. */
int sbx_renderings_sweep(struct sbx_renderings *renderings,
                         int (*is_there)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

uint64_t sbx_renderings_bytes(struct sbx_renderings *renderings);

#endif
