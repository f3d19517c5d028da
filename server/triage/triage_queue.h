/* SPDX-License-Identifier: Apache-2.0 */
/* triage_queue.h - decides which waiting payload is triaged next.
 *
 * Payloads of a place that was not seen recently come first, because the first payload of a new problem tells more than
 * the thousandth of an old one. Among equals the machines take turns, each with its oldest payload, so that no machine
 * waits for a thousand payloads of another. After NEW_IN_A_ROW new ones comes one of the others, so that a sender that
 * invents places does not delay the rest. Pure; the caller locks. */
#ifndef SBX_TRIAGE_QUEUE_H
#define SBX_TRIAGE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot_id.h"

struct sbx_triage_queue;

struct sbx_waiting {
    uint8_t id[SBX_ID_BYTES];
    uint64_t machine; /* the sender: a number that is different for each machine */
    uint64_t place;   /* where it stalled: a number that is different for each place; 0: unknown, which is never new */
    unsigned tries;   /* for the caller */
};

struct sbx_triage_queue *sbx_triage_queue_create(size_t max);  /* NULL without memory */
void sbx_triage_queue_destroy(struct sbx_triage_queue *queue); /* NULL is fine */

/* Returns 0, -EEXIST when it waits already, -ENOSPC when `max` payloads wait, or -ENOMEM. */
int sbx_triage_queue_put(struct sbx_triage_queue *queue, const struct sbx_waiting *waiting);
/* Take the next one; false when none waits. */
bool sbx_triage_queue_take(struct sbx_triage_queue *queue, struct sbx_waiting *waiting_out);
size_t sbx_triage_queue_count(const struct sbx_triage_queue *queue);

/* Milliseconds to rest after a stall that was triaged again because symbols came, when nothing else came for
 * `quiet_ms`. While others use the server, some 20 such stalls a second are triaged. Otherwise there is no rest. */
int64_t sbx_triage_anew_pause_ms(int64_t quiet_ms);

#endif
