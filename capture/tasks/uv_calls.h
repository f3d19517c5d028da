/* SPDX-License-Identifier: Apache-2.0 */
/* uv_calls.h - what a program wants libuv to call back, by the address of its request or handle.
 *
 * libuv keeps callbacks in requests and handles, and calls them from inside: no slot is passed. So ours are given to it in their place, and call the
 * program's, which lies here from then on: of a request until it is called, of a handle until it is closed. Where there is no room the
 * program's own is given to libuv, and nothing is followed.
 *
 * Requests and handles are used by one thread at a time (their loop's, or the pool's while it works), but for uv_async_send(): so an entry is found, filled in and let go of by that
 * thread, and `task` alone is exchanged by several. */
#ifndef SBX_UV_CALLS_H
#define SBX_UV_CALLS_H

#include <stdint.h>

#include "marks.h"

struct sbx_uv_call {
    _Alignas(64) const void *of; /* the request or handle; NULL: free; (void *)1: being filled in */
    void (*callback)(void *);    /* of a handle, or of a request for a file */
    void (*work)(void *);        /* of work for the pool */
    void (*after)(void *, int);
    uint64_t task; /* that lies in its queue; of an async handle 1: about to; 0: none */
};

/* The entry of `of`: the one that it has, or a new one, whose fields are left for the caller. NULL: there is no room. */
SBX_HOOK_SAFE struct sbx_uv_call *sbx_uv_call_take(const void *of);

/* Its fields are whole. */
SBX_HOOK_SAFE void sbx_uv_call_put(struct sbx_uv_call *call, const void *of);

/* NULL: it has none. */
SBX_HOOK_SAFE struct sbx_uv_call *sbx_uv_call_find(const void *of);

SBX_HOOK_SAFE void sbx_uv_call_let_go(struct sbx_uv_call *call);

#endif
