/* SPDX-License-Identifier: Apache-2.0 */
#include "whole_recording.h"

#include <stdlib.h>

const struct sbx_built_frame deep_frames[DEEP_FRAMES] = {
    {1, 0x4000, 0}, {0, 0x1100, 0}, {0, 0x1200, 0}, {0, 0x1300, 0}};

int make_whole_recording(void **state)
{
    struct whole_recording *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL) {
        return -1;
    }
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    fixture->builder = builder;
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x10000, SBX_MODULE_MAIN);
    sbx_recording_add_module(builder, "/usr/lib/libc.so.6", 0x7f0000000000, 0x20000, 0);
    sbx_recording_add_thread(builder, 4000, "application", 1);
    sbx_recording_add_thread(builder, 4001, "worker", 0);
    sbx_recording_add_thread(builder, 4002, "observer", 0);
    fixture->deep = sbx_recording_add_stack(builder, deep_frames, DEEP_FRAMES, SBX_WALK_COMPLETE);
    fixture->shallow = sbx_recording_add_stack(builder, deep_frames + 2, 2, SBX_WALK_COMPLETE);
    fixture->broken_off = sbx_recording_add_stack(builder, deep_frames, 1, SBX_WALK_NO_ROW);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct sbx_record sample = {.kind = SBX_RECORD_ALLOC,
                                    .op = SBX_OP_MALLOC,
                                    .thread = MAIN,
                                    .stack = fixture->deep,
                                    .begin_ns = ROUND_NS(i),
                                    .end_ns = ROUND_NS(i),
                                    .cpu_ns = SBX_SAMPLE_UNIT_NS * (9 + i),
                                    .alloc_count = i,
                                    .alloc_bytes = i * 64,
                                    .message = 1 + i / 50};
        struct sbx_record wait = {.kind = SBX_RECORD_LOCK,
                                  .op = SBX_OP_MUTEX_LOCK,
                                  .thread = WORKER,
                                  .stack = fixture->shallow,
                                  .begin_ns = ROUND_NS(i) - 768,
                                  .end_ns = ROUND_NS(i) + 256,
                                  .object = 0x7ffe00001000,
                                  .peer = 4000};
        struct sbx_record seen = {.kind = SBX_RECORD_BLOCKED,
                                  .op = SBX_OP_SYSCALL,
                                  .thread = WORKER,
                                  .amount = 202,
                                  .stack = fixture->broken_off,
                                  .begin_ns = ROUND_NS(i) + 512,
                                  .end_ns = ROUND_NS(i) + 512,
                                  .flags = SBX_FLAG_AT_TRIGGER};
        sbx_recording_put(builder, &sample);
        sbx_recording_put(builder, &wait);
        sbx_recording_put_observed(builder, OBSERVER, &seen);
    }
    *state = fixture;
    return 0;
}

int free_whole_recording(void **state)
{
    struct whole_recording *fixture = *state;
    sbx_recording_builder_destroy(fixture->builder);
    free(fixture);
    return 0;
}
