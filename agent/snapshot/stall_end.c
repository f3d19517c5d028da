/* SPDX-License-Identifier: Apache-2.0 */
/* stall_end.c - how a reported stall ended. */
#include "stall_end.h"

#include <string.h>

struct sbx_trigger_entry sbx_stall_end_trigger(const struct sbx_told *told, enum sbx_stall_end how, uint64_t end_ns,
                                               uint32_t signal)
{
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_END,
                                        .thread = told->thread,
                                        .begin_ns = told->begin_ns,
                                        .end_ns = end_ns > told->begin_ns ? end_ns : told->begin_ns,
                                        .ended = (uint32_t)how,
                                        .signal = how == SBX_END_DIED ? signal : 0};
    memcpy(trigger.first_id, told->snapshot_id, sizeof trigger.first_id);
    return trigger;
}

/* The first id, rotated by TURN bytes and changed in a fixed way: each id follows from the other one, and the two
 * always differ. */
enum {
    TURN = 5
};
static const uint8_t ended[16] = {'t', 'h', 'i', 's', ' ', 's', 't', 'a', 'l', 'l', ' ', 'e', 'n', 'd', 'e', 'd'};

void sbx_stall_end_id(const uint8_t first_id[16], uint8_t id_out[16])
{
    for (unsigned i = 0; i < sizeof ended; i++) {
        id_out[i] = first_id[(i + TURN) % sizeof ended] ^ ended[i];
    }
}

void sbx_stall_end_first_id(const uint8_t id[16], uint8_t first_id_out[16])
{
    for (unsigned i = 0; i < sizeof ended; i++) {
        first_id_out[(i + TURN) % sizeof ended] = id[i] ^ ended[i];
    }
}

bool sbx_stall_was_told(const struct sbx_recording_header *header, const struct sbx_note *note)
{
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        const struct sbx_told *told = &header->told[i];
        if (told->state != SBX_TOLD_FREE && told->kind == SBX_TRIGGER_ANR && told->thread == note->thread &&
            told->message == note->message && told->begin_ns == note->begin_ns) {
            return true;
        }
    }
    return false;
}

bool sbx_stall_end_of_dead(const struct sbx_told *told, uint64_t end_ns, uint32_t signal,
                           struct sbx_trigger_entry *trigger_out)
{
    if (told->state == SBX_TOLD_ENDED && told->ended > SBX_END_NONE && told->ended < SBX_END_KINDS) {
        *trigger_out = sbx_stall_end_trigger(told, (enum sbx_stall_end)told->ended, told->end_ns, signal);
        return true;
    }
    if (told->state == SBX_TOLD_STANDS) {
        *trigger_out = sbx_stall_end_trigger(told, SBX_END_DIED, end_ns, signal);
        return true;
    }
    return false;
}
