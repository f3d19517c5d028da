/* SPDX-License-Identifier: Apache-2.0 */
/* uv_calls.h - the functions that a program wants libuv to call back, by the address of the request or handle.
 *
 * libuv keeps callbacks in requests and handles and calls them from inside, without a slot. So functions of the agent
 * are given to it in their place. They call the program's functions, which are kept here: those of a request until it
 * is called, those of a handle until it is closed. If there is no room, the program's own function is given to libuv,
 * and nothing is followed.
 *
 * Requests and handles are used by one thread at a time (their loop's, or the pool's while it works), except in
 * uv_async_send(). So that thread finds, fills in and releases an entry, and only `task` is exchanged by several
 * threads. */
#ifndef SBX_UV_CALLS_H
#define SBX_UV_CALLS_H

#include <stdint.h>

#include "marks.h"

struct sbx_uv_call {
    _Alignas(64) const void *of; /* the request or handle; NULL: free; (void *)1: being filled in */
    void (*callback)(void *);    /* of a handle, or of a request for a file */
    void (*work)(void *);        /* of work for the pool */
    void (*after)(void *, int);
    uint64_t task; /* the task in its queue; of an async handle 1: about to be queued; 0: none */
};

/* The entry of `of`: the one that it has, or a new one, whose fields the caller must fill in. NULL: there is no
 * room. */
SBX_HOOK_SAFE struct sbx_uv_call *sbx_uv_call_take(const void *of);

/* The entry's fields are whole. */
SBX_HOOK_SAFE void sbx_uv_call_put(struct sbx_uv_call *call, const void *of);

/* NULL: `of` has no entry. */
SBX_HOOK_SAFE struct sbx_uv_call *sbx_uv_call_find(const void *of);

SBX_HOOK_SAFE void sbx_uv_call_let_go(struct sbx_uv_call *call);

#endif
