/* SPDX-License-Identifier: Apache-2.0 */
/* eraser.h - a thread that erases what machines asked to erase, when that is too much for the time of one answer. It
 * begins with what an earlier server, or another one of the same database, has left. */
#ifndef SBX_ERASER_H
#define SBX_ERASER_H

#include "metrics.h"
#include "operator_log.h"
#include "renderings.h"
#include "store.h"

struct sbx_eraser;

struct sbx_eraser_boxes { /* all borrowed until stop */
    struct sbx_store *store;
    struct sbx_renderings *renderings;
    struct sbx_metrics *metrics;
    const struct sbx_operator_log *log; /* NULL: silent */
};

/* Returns 0 and an eraser (given: stop), or -errno. */
int sbx_eraser_start(const struct sbx_eraser_boxes *boxes, struct sbx_eraser **eraser_out);
void sbx_eraser_wake(struct sbx_eraser *eraser); /* there is data to erase (sbx_store_want_erased()) */
void sbx_eraser_stop(
    /* NULL is fine; waits for one removal at most, and the rest is left to the next start */
    struct sbx_eraser *eraser);

/* For any code that erases: remove the reports of an erased payload, and count it. `context` is a struct
 * sbx_eraser_boxes. */
void sbx_eraser_forget(void *context, const uint8_t id[SBX_ID_BYTES]);

#endif
