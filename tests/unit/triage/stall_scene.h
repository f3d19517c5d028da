/* SPDX-License-Identifier: Apache-2.0 */
/* stall_scene.h - a stall with names that the test chooses, judged without any symbol file.
 *
 * A stack is written as text: "leaf < caller < main". Each function belongs to the application unless it has a prefix:
 * "libc:memcpy", "jemalloc:malloc", "agent:hook", "inlined:hash" (inlined into its caller). "?" is application code
 * without a name, "gen:" generated code, "end:" a walk that ended early, "cut:" frames that were left out;
 * "price#shop.py:12" is a function of a runtime, at that line. Thread 0 is the main thread. The trigger is a
 * slow_message of 1 s unless it is changed. */
#ifndef SBX_STALL_SCENE_H
#define SBX_STALL_SCENE_H

#include "payload_builder.h"
#include "report.h"

struct sbx_stall_scene;

/* With `thread_count` threads ("main", then "worker"s). */
struct sbx_stall_scene *sbx_scene_create(uint32_t thread_count, uint32_t trigger_kind, uint64_t duration_us);
void sbx_scene_destroy(struct sbx_stall_scene *scene);

uint32_t sbx_scene_stack(struct sbx_stall_scene *scene, const char *stack);
void sbx_scene_record(struct sbx_stall_scene *scene, struct sbx_build_record record);
void sbx_scene_call(struct sbx_stall_scene *scene, uint32_t thread, struct sbx_build_call call);
void sbx_scene_forget_stack(struct sbx_stall_scene *scene, uint32_t thread);
/* Another process, and the process of a thread: see payload_builder.h. */
/* The runtime of the program: see sbx_builder_runtime(). */
void sbx_scene_runtime(struct sbx_stall_scene *scene, uint32_t kind, uint32_t state, uint32_t major, uint32_t minor);
uint32_t sbx_scene_make_process(struct sbx_stall_scene *scene, uint32_t role);
void sbx_scene_set_process(struct sbx_stall_scene *scene, uint32_t thread, uint32_t process);
Stallbox__V1__Payload *sbx_scene_payload(struct sbx_stall_scene *scene);

/* Samples of one stack every `step_us` in [from_us, to_us), with the CPU time of a thread that runs for `cpu_permille`
 * of the time. The CPU clock continues from the earlier samples. */
void sbx_scene_samples(struct sbx_stall_scene *scene, uint32_t thread, uint8_t kind, const char *stack, int64_t from_us,
                       int64_t to_us, int64_t step_us, int64_t cpu_permille);

/* Decode the built payload. The scene owns the stall. */
const struct sbx_stall *sbx_scene_stall(struct sbx_stall_scene *scene);
/* Decode, symbolize and attribute. The scene owns the report. */
const struct sbx_report *sbx_scene_report(struct sbx_stall_scene *scene);

/* The text of the first evidence of that kind, NULL when there is none. */
const char *sbx_scene_evidence(const struct sbx_report *report, const char *kind);

#endif
