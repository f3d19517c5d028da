/* SPDX-License-Identifier: Apache-2.0 */
/* attached_recording.h - attaches a recording to the test's process, as the agent does, but without the recorder's
 * threads. Group set-ups, once per process, because a thread's block stays with its entry for good. */
#ifndef ATTACHED_RECORDING_H
#define ATTACHED_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_builder.h"
#include "thread_registry.h"

extern struct sbx_recording_builder *attached_recording;
extern uint32_t attached_gate[2]; /* open gates */

/* 0, or what the registry returned. */
int attached_recording_begin(const struct sbx_thread_end *end);
/* The same, and the calling thread is registered: *self_out. Returns 0 or -1. */
int attached_recording_begin_here(const struct sbx_thread_end *end, struct sbx_thread **self_out);
int attached_recording_end(void **state);

/* The same for tests that read the recording back: it contains the module "application". Group or test set-up. */
int attached_recording_begin_with_module(const struct sbx_thread_end *end);

/* Intern a stack of six frames in that module; each seed gives another stack. Returns its number in this epoch. The
 * second function: whether a snapshot's stack is that of the seed. */
uint32_t attached_recording_intern(uint64_t seed);
bool attached_recording_is_stack_of(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t seed);

#endif
