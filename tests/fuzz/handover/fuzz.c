/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - a recording's header and control page, written by an untrusted process, as its companion reads them.
 *
 * The fields that only say "ours, and of this version" are set right, so that mutations get past them. Property: what
 * is served stays within its bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "handover_snapshot.h"

enum {
    KEY = 4711
};

static void check(const struct sbx_recording_header *header, const struct sbx_control_page *control, uint64_t bytes)
{
    struct sbx_handovers handovers;
    sbx_handovers_init(&handovers, "/spool", KEY, 1000);
    if (sbx_handover_check(&handovers, header, control, bytes, 1000) == 1) {
        const struct sbx_trigger_entry *trigger = &control->handover.trigger;
        MUST(bytes == header->file_bytes && bytes <= (uint64_t)SBX_HANDOVER_MIB_MAX << 20);
        MUST(trigger->begin_ns <= trigger->end_ns && trigger->kind != SBX_TRIGGER_CRASH &&
             trigger->kind != SBX_TRIGGER_KILLED);
        MUST(trigger->thread == UINT32_MAX || trigger->thread < header->threads.count);
        MUST(header->consent == SBX_CONSENT_GRANTED && control->handover.key == KEY);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct sbx_recording_header header;
    static struct sbx_control_page control;
    memset(&header, 0, sizeof header);
    memset(&control, 0, sizeof control);
    /* The deciding fields come first, so that small inputs reach them. */
    size_t control_bytes = bytes < sizeof control.handover ? bytes : sizeof control.handover;
    memcpy(&control.handover, data, control_bytes);
    size_t header_bytes = bytes - control_bytes < sizeof header ? bytes - control_bytes : sizeof header;
    memcpy(&header, data + control_bytes, header_bytes);
    check(&header, &control, bytes);
    control.handover.key = KEY;
    memcpy(header.magic, SBX_RECORDING_MAGIC, sizeof header.magic);
    header.version = SBX_RECORDING_VERSION;
    header.layout_hash = sbx_layout_hash();
    check(&header, &control, header.file_bytes);
    strcpy(header.spool_path, "/spool");
    header.consent = SBX_CONSENT_GRANTED;
    header.state = SBX_STATE_LIVE;
    control.handover.until_ns |= 1u << 20;
    check(&header, &control, header.file_bytes);
    return 0;
}
