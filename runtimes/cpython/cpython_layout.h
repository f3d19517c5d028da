/* SPDX-License-Identifier: Apache-2.0 */
/* cpython_layout.h - where a version of CPython keeps what a walk reads, in bytes from the start of each structure.
 *
 * The offsets come from the internal headers of the versions that the tests run (3.9.18, 3.10.13, 3.11.2, 3.11.7,
 * 3.12.1 and 3.13.0, x86-64, with the interpreter lock). A version that is not in the table is not read, because a
 * wrong offset reads garbage, and not every wrong value can be detected. */
#ifndef CPYTHON_LAYOUT_H
#define CPYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How the frames of a thread are linked. */
enum cpython_chain {
    CPYTHON_FRAME_OBJECTS, /* 3.9, 3.10: frame objects; each runs in its own C function */
    CPYTHON_CFRAMES,       /* 3.11, 3.12: thread -> block of the C function -> frames in the thread's data stack */
    CPYTHON_FRAMES,        /* 3.13: thread -> frames */
};

enum cpython_line_table {
    CPYTHON_LNOTAB,    /* 3.9 */
    CPYTHON_LINES,     /* 3.10: PEP 626 */
    CPYTHON_LOCATIONS, /* 3.11 on: PEP 657 */
};

enum cpython_entry_mark {
    CPYTHON_EACH_IS_ENTRY, /* each frame is the outermost of an entry from native code */
    CPYTHON_IS_ENTRY,      /* 3.11: a byte in the frame tells */
    CPYTHON_SHIM,          /* 3.12 on: a shim frame, which belongs to the C stack, is outside of it */
};

struct cpython_layout {
    uint8_t minor; /* 3.MINOR */
    uint8_t chain, line_table, entry_mark;
    uint16_t thread_frame; /* the thread's innermost frame, or its C function's block (CFRAMES) */
    uint16_t cframe_current, cframe_previous;
    uint16_t thread_chunk; /* newest chunk of the thread's data stack; 0: frames are objects */
    uint16_t frame_bytes, frame_previous, frame_code, frame_instruction, frame_owner, frame_is_entry;
    uint16_t frame_generator; /* the frame's generator; 0: frame_owner tells */
    uint16_t code_bytes, code_first_line, code_file, code_name, code_lines;
    uint16_t code_first_traceable; /* 0: frames have no hidden instructions at their start */
    uint16_t code_instructions;    /* 0: frame_instruction is an index, in units of `unit_bytes` */
    uint8_t unit_bytes;
    uint16_t string_ascii, string_compact; /* where a string's characters begin */
    uint16_t runtime_gil;                  /* in _PyRuntime: the lock itself; 0: it is in the interpreter */
    uint16_t thread_interpreter, interpreter_gil;
    uint16_t interpreter_collecting; /* an int: 1 while garbage is collected */
    uint16_t thread_native_id;       /* its tid; 0: the version does not store it */
    uint16_t thread_id;              /* its pthread_t */
};

/* Returns the layout of 3.MINOR; NULL: not known. */
const struct cpython_layout *cpython_layout_of(unsigned minor);

#endif
