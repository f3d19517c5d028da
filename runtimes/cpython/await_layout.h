/* SPDX-License-Identifier: Apache-2.0 */
/* await_layout.h - where a version of CPython keeps who awaits whom: tasks of the module _asyncio, and suspended coroutines.
 *
 * The numbers are of the same versions as those of cpython_layout.h. Of the tasks' they were seen with the interpreter's own answers
 * (tests/integration/python/awaiting.py); before they are used the sizes that the types tell of themselves are compared. */
#ifndef AWAIT_LAYOUT_H
#define AWAIT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum await_values {
    AWAIT_VALUES_APART,   /* 3.11: at the word before that of the dict */
    AWAIT_VALUES_OR_DICT, /* 3.12: at the same word, which says what it is */
    AWAIT_VALUES_INSIDE,  /* 3.13: in the object */
};

struct await_layout {
    uint8_t minor;
    /* asyncio's tasks and futures */
    uint16_t task_bytes, future_bytes; /* as their types tell */
    int16_t dict_offset;               /* likewise */
    uint16_t task_waits_for, task_coroutine;
    /* generators, coroutines and asynchronous generators */
    uint16_t generator_frame; /* the frame itself, or where it is an object its address */
    uint16_t generator_state; /* 0: the frame tells it */
    int8_t state_suspended_first, state_suspended_last;
    /* the frame of a suspended one: the top of its stack is what it awaits */
    uint16_t frame_depth;  /* an int: words in use; 0: see frame_top */
    uint16_t frame_values; /* the words, or where the frame is an object their address */
    uint16_t frame_top;    /* the address behind the last; 0: none, it is not suspended */
    uint16_t frame_state;  /* 0: the generator tells it */
    uint16_t function_closure;
    uint16_t type_keys; /* of a class: the names of its objects' attributes; 0: they have dicts */
    uint8_t values;     /* where the objects have their values */
};

/* Of futures: the callback that was added first, and a list of the others. */
enum {
    FUTURE_CALLBACK = 24,
    FUTURE_CALLBACKS = 40,
    FUTURE_BYTES = 48
};

/* The layout of 3.MINOR; NULL: not known. */
const struct await_layout *await_layout_of(unsigned minor);

#endif
