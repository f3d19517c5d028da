/* SPDX-License-Identifier: Apache-2.0 */
/* uv_calls.c - a table of fixed size. An entry lies within PROBES places of the place to which its address hashes. */
#include "uv_calls.h"

#include <stddef.h>

#include "cache_line.h"
#include "order.h"

enum {
    CALLS = 1024, /* power of two; pending requests and handles that are followed */
    PROBES = 16,
};

static struct sbx_uv_call calls[CALLS]; /* a forked child keeps it: its copies of the loops call back through it */

/* The greatest distance of an entry from its own place: no search needs to go further. */
static uint32_t call_reach;

static struct sbx_uv_call *at(const void *of, uint32_t probe)
{
    uint32_t place = (uint32_t)((uint64_t)(uintptr_t)of * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    return &calls[(place + probe) % CALLS];
}

SBX_HOOK_SAFE struct sbx_uv_call *sbx_uv_call_find(const void *of)
{
    sbx_line_to_write(at(of, 0));
    for (uint32_t i = 0, end = sbx_load_relaxed(&call_reach); i <= end;
         i++) { /* relaxed: the thread that put the entry has handed `of` to this thread */
        struct sbx_uv_call *call = at(of, i);
        if (sbx_load_acquire(&call->of) == of) { /* order: acquire call.of - its fields are whole */
            return call;
        }
    }
    return NULL;
}

static void reach_out(uint32_t places)
{
    uint32_t known = sbx_load_relaxed(&call_reach); /* relaxed: it only grows */
    while (SBX_UNLIKELY(known < places) &&
           !sbx_cas_acq_rel(&call_reach, &known, places)) { /* order: acq_rel for nobody */
    }
}

SBX_HOOK_SAFE struct sbx_uv_call *sbx_uv_call_take(const void *of)
{
    struct sbx_uv_call *known = sbx_uv_call_find(of);
    for (uint32_t i = 0; i < PROBES && known == NULL; i++) {
        struct sbx_uv_call *call = at(of, i);
        const void *nobody = NULL;
        /* order: acq_rel call.of - the last user is done with it */
        if (sbx_load_relaxed(&call->of) == NULL && sbx_cas_acq_rel(&call->of, &nobody, (const void *)1)) {
            sbx_store_relaxed(&call->task, 0); /* relaxed: no thread finds it yet */
            reach_out(i);
            return call;
        }
    }
    return known;
}

SBX_HOOK_SAFE void sbx_uv_call_put(struct sbx_uv_call *call, const void *of)
{
    sbx_store_release(&call->of, of); /* order: release call.of - the fields are whole */
}

SBX_HOOK_SAFE void sbx_uv_call_let_go(struct sbx_uv_call *call)
{
    sbx_store_release(&call->of, NULL); /* order: release call.of - the next thread that takes it finds it unused */
}
