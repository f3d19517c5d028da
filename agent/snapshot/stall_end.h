/* SPDX-License-Identifier: Apache-2.0 */
/* stall_end.h - how a reported stall ended: the trigger and the id of this report. Used by the process itself, and by a
 * recoverer after its death. Pure. */
#ifndef SBX_STALL_END_H
#define SBX_STALL_END_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* The trigger of the snapshot that reports the end; `signal` ended the process, 0: none, or unknown. */
struct sbx_trigger_entry sbx_stall_end_trigger(const struct sbx_told *told, enum sbx_stall_end how, uint64_t end_ns,
                                               uint32_t signal);

/* The id of that snapshot. It is always the same for one stall, so that the snapshot is kept and sent once, however
 * often it is made. */
void sbx_stall_end_id(const uint8_t first_id[16], uint8_t id_out[16]);

/* The inverse: the id of the stall, if `id` is that of an end. */
void sbx_stall_end_first_id(const uint8_t id[16], uint8_t first_id_out[16]);

/* Was the stall of this note reported, even if it has ended since? */
bool sbx_stall_was_told(const struct sbx_recording_header *header, const struct sbx_note *note);

/* For a dead process's recording: how the stall in this entry is to be reported as ended. False: nothing is left to
 * report. `end_ns` is when the process died, or its last sign of life. */
bool sbx_stall_end_of_dead(const struct sbx_told *told, uint64_t end_ns, uint32_t signal,
                           struct sbx_trigger_entry *trigger_out);

#endif
