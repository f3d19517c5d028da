/* SPDX-License-Identifier: Apache-2.0 */
/* cpython_layout_rows.h - the layouts as constants, one for each version. Code that is compiled for one version does
 * not load its offsets from memory (frame_chain.c). */
#ifndef CPYTHON_LAYOUT_ROWS_H
#define CPYTHON_LAYOUT_ROWS_H

#include "cpython_layout.h"

/* This file is also compiled with wrong offsets. A test checks that such a provider disables itself (self_check.c). */
#ifdef CPYTHON_WRONG_LAYOUT
enum {
    WRONG = 8
};
#else
enum {
    WRONG = 0
};
#endif

/* clang-format off */
#define STRINGS_TO_3_11 .string_ascii = 48, .string_compact = 72
#define STRINGS_OF_3_12 .string_ascii = 40, .string_compact = 56

#define FRAME_OBJECTS \
    .chain = CPYTHON_FRAME_OBJECTS, .entry_mark = CPYTHON_EACH_IS_ENTRY, .thread_frame = 24, .frame_bytes = 128, \
    .frame_previous = 24 + WRONG, .frame_code = 32, .code_bytes = 176, .code_first_line = 40, .code_file = 104, .code_name = 112, \
    .code_lines = 120, STRINGS_TO_3_11, .runtime_gil = 352, .thread_interpreter = 16, .interpreter_collecting = 816, .thread_id = 176

#define CPYTHON_LAYOUT_3_9 \
    {.minor = 9, FRAME_OBJECTS, .line_table = CPYTHON_LNOTAB, .frame_instruction = 104, .unit_bytes = 1, \
     .frame_generator = 96}
#define CPYTHON_LAYOUT_3_10 \
    {.minor = 10, FRAME_OBJECTS, .line_table = CPYTHON_LINES, .frame_instruction = 96, .unit_bytes = 2, \
     .frame_generator = 88}
#define CPYTHON_LAYOUT_3_11 \
    {.minor = 11, .chain = CPYTHON_CFRAMES, .line_table = CPYTHON_LOCATIONS, .entry_mark = CPYTHON_IS_ENTRY, \
     .thread_frame = 56, .cframe_current = 8, .cframe_previous = 16, .thread_chunk = 296, \
     .frame_bytes = 72, .frame_previous = 48 + WRONG, .frame_code = 32, .frame_instruction = 56, .frame_owner = 69, .frame_is_entry = 68, \
     .code_bytes = 192, .code_first_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136, \
     .code_first_traceable = 168, .code_instructions = 184, STRINGS_TO_3_11, \
     .runtime_gil = 360, .thread_interpreter = 16, .interpreter_collecting = 848, .thread_native_id = 160, .thread_id = 152}
#define CPYTHON_LAYOUT_3_12 \
    {.minor = 12, .chain = CPYTHON_CFRAMES, .line_table = CPYTHON_LOCATIONS, .entry_mark = CPYTHON_SHIM, \
     .thread_frame = 56, .cframe_current = 0, .cframe_previous = 8, .thread_chunk = 232, \
     .frame_bytes = 72, .frame_previous = 8 + WRONG, .frame_code = 0, .frame_instruction = 56, .frame_owner = 70, \
     .code_bytes = 200, .code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136, \
     .code_first_traceable = 176, .code_instructions = 192, STRINGS_OF_3_12, \
     .thread_interpreter = 16, .interpreter_gil = 384, .interpreter_collecting = 312, .thread_native_id = 144, .thread_id = 136}
#define CPYTHON_LAYOUT_3_13 \
    {.minor = 13, .chain = CPYTHON_FRAMES, .line_table = CPYTHON_LOCATIONS, .entry_mark = CPYTHON_SHIM, \
     .thread_frame = 72, .thread_chunk = 232, \
     .frame_bytes = 72, .frame_previous = 8 + WRONG, .frame_code = 0, .frame_instruction = 56, .frame_owner = 70, \
     .code_bytes = 208, .code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136, \
     .code_first_traceable = 184, .code_instructions = 200, STRINGS_OF_3_12, \
     .thread_interpreter = 16, .interpreter_gil = 16, .interpreter_collecting = 7600, .thread_native_id = 160, .thread_id = 152}
/* clang-format on */

#endif
