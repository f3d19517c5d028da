/* SPDX-License-Identifier: Apache-2.0 */
/* await_layout.c - the table. */
#include "await_layout.h"

#include <stddef.h>

/* clang-format off */
#define EMBEDDED_FRAMES \
    .state_suspended_last = -1, .frame_depth = 64, .frame_values = 72, .function_closure = 72

static const struct await_layout layouts[] = {
    {.minor = 9, .task_bytes = 184, .future_bytes = 144, .dict_offset = 96, .task_waits_for = 144, .task_coroutine = 152,
     .generator_frame = 16, .frame_top = 72, .function_closure = 48},
    {.minor = 10, .task_bytes = 192, .future_bytes = 152, .dict_offset = 104, .task_waits_for = 152, .task_coroutine = 160,
     .generator_frame = 16, .state_suspended_first = -1, .state_suspended_last = -1, .frame_depth = 80, .frame_values = 64,
     .frame_state = 108, .function_closure = 72},
    {.minor = 11, .task_bytes = 176, .future_bytes = 128, .dict_offset = 104, .task_waits_for = 128, .task_coroutine = 136,
     .generator_frame = 80, .generator_state = 75, .state_suspended_first = -1, EMBEDDED_FRAMES,
     .type_keys = 872, .values = AWAIT_VALUES_APART},
    {.minor = 12, .task_bytes = 176, .future_bytes = 128, .dict_offset = 104, .task_waits_for = 128, .task_coroutine = 136,
     .generator_frame = 72, .generator_state = 67, .state_suspended_first = -1, EMBEDDED_FRAMES,
     .type_keys = 880, .values = AWAIT_VALUES_OR_DICT},
    {.minor = 13, .task_bytes = 144, .future_bytes = 104, .dict_offset = -1, .task_waits_for = 112, .task_coroutine = 120,
     .generator_frame = 72, .generator_state = 67, .state_suspended_first = -2, EMBEDDED_FRAMES,
     .type_keys = 880, .values = AWAIT_VALUES_INSIDE},
};
/* clang-format on */

const struct await_layout *await_layout_of(unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].minor == minor) {
            return &layouts[i];
        }
    }
    return NULL;
}
