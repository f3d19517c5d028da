/* SPDX-License-Identifier: Apache-2.0 */
/* attached_recording.c - creates a recording, attaches it, and releases it. */
#include "attached_recording.h"

#include "the_capture.h"

struct sbx_recording_builder *attached_recording;
uint32_t attached_gate[2];

enum {
    FRAMES = 6
};

static int attach(const struct sbx_thread_end *end)
{
    sbx_capture_attach(attached_recording->header);
    attached_gate[0] = attached_gate[1] = 1;
    sbx_the_capture.gate = attached_gate;
    return sbx_thread_registry_start(attached_recording->header, attached_recording->threads, end);
}

int attached_recording_begin(const struct sbx_thread_end *end)
{
    attached_recording = sbx_recording_builder_create(SBX_RECORDING_SHAPE_FULL, NULL);
    return attach(end);
}

int attached_recording_begin_with_module(const struct sbx_thread_end *end)
{
    attached_recording = sbx_recording_builder_create(SBX_RECORDING_SHAPE_FULL, NULL);
    sbx_recording_add_module(attached_recording, "/usr/bin/application", 0x550000000000, 0x100000, SBX_MODULE_MAIN);
    return attach(end);
}

int attached_recording_begin_here(const struct sbx_thread_end *end, struct sbx_thread **self_out)
{
    if (attached_recording_begin(end) != 0) {
        return -1;
    }
    *self_out = sbx_thread_register_self();
    return *self_out != NULL ? 0 : -1;
}

int attached_recording_end(void **state)
{
    (void)state;
    sbx_thread_registry_stop();
    sbx_recording_builder_destroy(attached_recording);
    return 0;
}

static uint64_t frame_of(uint64_t seed, uint32_t number)
{
    return sbx_frame_word(0, 0x100 + seed * 64 + number, 0);
}

uint32_t attached_recording_intern(uint64_t seed)
{
    uint32_t ids[FRAMES], epoch = sbx_callstack_epoch(&sbx_the_capture.table);
    for (uint32_t i = 0; i < FRAMES; i++) {
        ids[i] = sbx_frame_intern(&sbx_the_capture.table, epoch, frame_of(seed, i));
    }
    return sbx_callstack_intern(&sbx_the_capture.table, epoch, ids, FRAMES);
}

bool attached_recording_is_stack_of(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t seed)
{
    uint64_t frames[FRAMES];
    bool is_it = sbx_snapshot_stack(snapshot, stack, frames, FRAMES) == FRAMES;
    for (uint32_t i = 0; i < FRAMES && is_it; i++) {
        is_it = frames[i] == frame_of(seed, i);
    }
    return is_it;
}
