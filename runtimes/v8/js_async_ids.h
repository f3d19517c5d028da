/* SPDX-License-Identifier: Apache-2.0 */
/* js_async_ids.h - the numbers by which node tells apart what its event loop runs (async_hooks.executionAsyncId()).
 *
 * node gives each timer, immediate, tick and request a number, counting up, whether or not anybody asks: the item's number and that of the item
 * in whose run it was made are set while it runs. JavaScript and C++ share the four numbers in memory that stays where it is while
 * their Environment lives:
 *
 *     context of a frame -> its map -> native context -> array of the embedder -> node::Environment -> AsyncHooks: three arrays, the last of four doubles
 *
 * Where in an Environment these arrays lie differs between versions, and is found by what they look like; that is done once. */
#ifndef JS_ASYNC_IDS_H
#define JS_ASYNC_IDS_H

#include "js_heap.h"
#include "js_layout.h"

/* Where Environments keep them: learned from the first. */
struct js_environments {
    uint32_t at, tries; /* at: 0, not known yet */
};

struct js_async_ids {
    uint64_t environment; /* whose numbers these are: each worker counts for itself */
    uint64_t running;     /* what runs; 1: the main script; 0: nothing of the loop's */
    uint64_t queued_in;   /* what ran when that was queued; 0: nothing, or it is not known */
    uint64_t newest;      /* the last one that was given out */
};

/* Those of the environment that `context` (tagged) belongs to, in `isolate`. `mark` is what node puts beside its Environments. False: it belongs to none. */
bool js_async_ids_read(struct js_environments *environments, const struct js_layout *layout, struct js_pages *pages,
                       uint64_t isolate, uint64_t context, uint64_t mark, struct js_async_ids *ids_out);

#endif
