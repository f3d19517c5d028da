/* SPDX-License-Identifier: Apache-2.0 */
/* await_layout.h - where a version of CPython stores which task awaits which: tasks of the module _asyncio, and
 * suspended coroutines.
 *
 * The offsets are of the same versions as those of cpython_layout.h. Those of tasks were checked against the
 * interpreter's own answers (tests/integration/python/awaiting.py). Before they are used, the object sizes that the
 * types give are compared. */
#ifndef AWAIT_LAYOUT_H
#define AWAIT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum await_values {
    AWAIT_VALUES_APART,   /* 3.11: their address is in the word before the dict's */
    AWAIT_VALUES_OR_DICT, /* 3.12: one word for both; its low bit tells which */
    AWAIT_VALUES_INSIDE,  /* 3.13: in the object itself */
};

struct await_layout {
    uint8_t minor;
    /* asyncio's tasks and futures */
    uint16_t task_bytes, future_bytes; /* as the types give them */
    int16_t dict_offset;               /* as the type gives it */
    uint16_t task_waits_for, task_coroutine;
    /* generators, coroutines and asynchronous generators */
    uint16_t generator_frame; /* the frame itself, or its address where the frame is an object */
    uint16_t generator_state; /* 0: the state is in the frame */
    int8_t state_suspended_first, state_suspended_last;
    /* the frame of a suspended generator: the object that it awaits is on top of its stack */
    uint16_t frame_depth;  /* an int: words in use on the stack; 0: use frame_top */
    uint16_t frame_values; /* the words, or their address where the frame is an object */
    uint16_t frame_top;    /* the address behind the top word; 0: the generator is not suspended */
    uint16_t frame_state;  /* 0: the state is in the generator */
    uint16_t function_closure;
    uint16_t type_keys; /* of a class: its table of attribute names; 0: objects have dicts */
    uint8_t values;     /* where objects keep their attribute values */
};

/* Of a future: the callback that was added first, and the list of the other callbacks. */
enum {
    FUTURE_CALLBACK = 24,
    FUTURE_CALLBACKS = 40,
    FUTURE_BYTES = 48
};

/* Returns the layout of 3.MINOR; NULL: not known. */
const struct await_layout *await_layout_of(unsigned minor);

#endif
