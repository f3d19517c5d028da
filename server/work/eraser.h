/* SPDX-License-Identifier: Apache-2.0 */
/* eraser.h - a thread that deletes what machines want forgotten and that is too much to be deleted while they wait for the answer. It begins with
 * what a server before, or another one of the same database, has left. */
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

/* 0 and an eraser (given: stop), or -errno. */
int sbx_eraser_start(const struct sbx_eraser_boxes *boxes, struct sbx_eraser **eraser_out);
void sbx_eraser_wake(struct sbx_eraser *eraser); /* there is something to delete (sbx_store_want_erased()) */
void sbx_eraser_stop(
    struct sbx_eraser *eraser); /* NULL is fine; ends within one removal: the rest is for the next one */

/* Whoever deletes: the reports of a payload that went, and the count of it. `context` is a struct sbx_eraser_boxes. */
void sbx_eraser_forget(void *context, const uint8_t id[SBX_ID_BYTES]);

#endif
