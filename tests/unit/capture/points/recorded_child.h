/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_child.h - a child process with the recorder in it, and what its snapshot tells of waits and wakes. */
#ifndef RECORDED_CHILD_H
#define RECORDED_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

/* ---- in the child ---- */

/* Last in a function: its last call is then no tail call, and its frame stays on the stack. */
#define KEEP_FRAME() __asm__ volatile("")

void pause_ms(long ms);

/* Ends the child with a message when it does not hold. */
void expect(bool holds, const char *what);

/* Threads that are about to wait say so; who lets them go waits for `count` of them, and then long enough for them to
 * be asleep, and for their waits to be worth a record. */
void say_about_to_wait(void);
void let_them_wait(int count);

/* Take all hooks out, or put them in again, as `stallbox ctl` would; returns when it is done. */
void set_recording(bool enabled);

/* Put in force another mask of point groups. */
void set_points(uint32_t points);

/* ---- in the parent ---- */

/* Run `body` in a child between start and snapshot; fails the test when the child does not end in order. Destroy what
 * is returned. */
struct sbx_snapshot *run_recorded(void (*body)(void));

/* Does the stack of `record` pass through `function` of this executable, whose code is less than 512 bytes, and end
 * where threads begin? */
bool passes_through(const struct sbx_snapshot *snapshot, const struct sbx_record *record, void *function);

/* A wait and who ended it. */
struct expected_wait {
    uint8_t kind, op, wake_op;
    void *waiter, *waker; /* functions on their stacks; waker NULL: not asked */
};

/* Count the waits as expected, each with a WAKE record of the same id: of another thread, for the same object, naming
 * the waiter. Fails the test where such a pair contradicts itself. */
int count_pairs(const struct sbx_snapshot *snapshot, const struct expected_wait *expected);

/* The only record of this kind and operation that passes through `function`; fails the test when there is not one. */
const struct sbx_record *only_record(const struct sbx_snapshot *snapshot, uint8_t kind, uint8_t op, void *function);

uint32_t tid_of_record(const struct sbx_snapshot *snapshot, const struct sbx_record *record);

#endif
