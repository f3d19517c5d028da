/* SPDX-License-Identifier: Apache-2.0 */
/* whole_recording.h - a recording with an example of everything, for the tests of the reader. */
#ifndef SBX_WHOLE_RECORDING_H
#define SBX_WHOLE_RECORDING_H

#include "recording_builder.h"

/* The time of round `i`, in steps that a sample can represent exactly. */
#define ROUND_NS(i) (5000192 + (i)*2 * SBX_SAMPLE_UNIT_NS)

/* Threads, and the record that each puts per round: MAIN a sample, WORKER a wait for a lock, OBSERVER a look at
 * WORKER. */
enum {
    MAIN = 0,
    WORKER = 1,
    OBSERVER = 2,
    ROUNDS = 200
};

/* The frames of the deepest stack, leaf first. */
enum {
    DEEP_FRAMES = 4
};
extern const struct sbx_built_frame deep_frames[DEEP_FRAMES];

struct whole_recording {
    struct sbx_recording_builder *builder;
    uint32_t deep, shallow,
        broken_off; /* callstack ids: deep_frames, its last two, and a walk that ended after the first */
};

/* Set-up and tear-down of a cmocka test; *state is the struct whole_recording. */
int make_whole_recording(void **state);
int free_whole_recording(void **state);
#define WITH_RECORDING(test) cmocka_unit_test_setup_teardown(test, make_whole_recording, free_whole_recording)

#endif
