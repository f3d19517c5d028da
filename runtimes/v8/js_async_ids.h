/* SPDX-License-Identifier: Apache-2.0 */
/* js_async_ids.h - the ids by which node distinguishes what its event loop runs (async_hooks.executionAsyncId()).
 *
 * node gives each timer, immediate, tick and request an increasing id, even if the program uses no hooks. While an item
 * runs, two of the ids are set: the item's own, and that of the item in whose run it was created. JavaScript and C++
 * share the four ids in memory that does not move while their Environment exists:
 *
 *     context of a frame -> its map -> native context -> array of the embedder -> node::Environment
 *         -> AsyncHooks: three arrays, the last of four doubles
 *
 * The offset of these arrays in an Environment differs between versions. It is found once, by the arrays' contents. */
#ifndef JS_ASYNC_IDS_H
#define JS_ASYNC_IDS_H

#include "js_heap.h"
#include "js_layout.h"

/* The offset of the arrays in Environments, learned from the first one. */
struct js_environments {
    uint32_t at, tries; /* at: 0, not known yet */
};

struct js_async_ids {
    uint64_t environment; /* the Environment that counts these ids: each worker has its own */
    uint64_t running;     /* the item that runs; 1: the main script; 0: no item of the loop */
    uint64_t queued_in;   /* the item that ran when this one was queued; 0: none, or not known */
    uint64_t newest;      /* the last id that was given */
};

/* Reads the ids of the environment to which `context` (tagged) belongs, in `isolate`. `mark` is the value that node
 * stores beside its Environments. Returns false if `context` belongs to none. */
bool js_async_ids_read(struct js_environments *environments, const struct js_layout *layout, struct js_pages *pages,
                       uint64_t isolate, uint64_t context, uint64_t mark, struct js_async_ids *ids_out);

#endif
