/* SPDX-License-Identifier: Apache-2.0 */
/* attached_recording.h - the test's process with a recording that capturing writes into, as the agent begins it, and nobody of the recorder's
 * threads. Group set-ups, once in a process: a thread's block stays with its entry for good. */
#ifndef ATTACHED_RECORDING_H
#define ATTACHED_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_builder.h"
#include "thread_registry.h"

extern struct sbx_recording_builder *attached_recording;
extern uint32_t attached_gate[2]; /* open */

/* 0, or what the registry returned. */
int attached_recording_begin(const struct sbx_thread_end *end);
/* The same, and the calling thread is registered: *self_out. 0 or -1. */
int attached_recording_begin_here(const struct sbx_thread_end *end, struct sbx_thread **self_out);
int attached_recording_end(void **state);

/* The same for tests that read it back: the module "application" is in it. Group or test set-up. */
int attached_recording_begin_with_module(const struct sbx_thread_end *end);

/* A stack of six frames in that module, other ones for each seed: its number in this epoch; whether a snapshot's stack is it. */
uint32_t attached_recording_intern(uint64_t seed);
bool attached_recording_is_stack_of(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t seed);

#endif
