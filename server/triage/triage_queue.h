/* SPDX-License-Identifier: Apache-2.0 */
/* triage_queue.h - which of the payloads that wait is triaged next.
 *
 * Those first that stand for a place not seen lately: a payload of a new problem says more than the thousandth of an old one. Among
 * equals the machines take turns, each with its oldest, so that no machine waits for the thousand payloads of another. And after
 * NEW_IN_A_ROW new ones comes one of the others, so that a sender that invents places does not delay the rest. Pure; the caller
 * locks. */
#ifndef SBX_TRIAGE_QUEUE_H
#define SBX_TRIAGE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot_id.h"

struct sbx_triage_queue;

struct sbx_waiting {
    uint8_t id[SBX_ID_BYTES];
    uint64_t machine; /* the sender: any number that is different for each */
    uint64_t place;   /* where it stalled, likewise; 0: not known, which is never new */
    unsigned tries;   /* the caller's own */
};

struct sbx_triage_queue *sbx_triage_queue_create(size_t max);  /* NULL without memory */
void sbx_triage_queue_destroy(struct sbx_triage_queue *queue); /* NULL is fine */

/* Returns 0, -EEXIST when it waits already, -ENOSPC when `max` wait, or -ENOMEM. */
int sbx_triage_queue_put(struct sbx_triage_queue *queue, const struct sbx_waiting *waiting);
/* The next one; false when none waits. */
bool sbx_triage_queue_take(struct sbx_triage_queue *queue, struct sbx_waiting *waiting_out);
size_t sbx_triage_queue_count(const struct sbx_triage_queue *queue);

/* How many milliseconds to rest behind a stall that was triaged anew because symbols came, when nothing else came for `quiet_ms`. Where
 * others use the server it is theirs, and some 20 a second are triaged anew; where nobody does, there is nobody to rest for. */
int64_t sbx_triage_anew_pause_ms(int64_t quiet_ms);

#endif
