/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - tables both sides are compiled with, so that a payload carries numbers where others would carry strings.
 *
 * Part of the wire contract: entries are appended, never moved. Index 0 means "none" or "other". */
#ifndef SBX_NAMES_H
#define SBX_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Names of the enums of recording_format.h as DESIGN.md and the JSON report spell them ("slow_message", "usleep",
 * "lock"); "unknown" for numbers this build does not know. Never NULL. */
const char *sbx_trigger_name(uint32_t kind);
const char *sbx_record_name(uint32_t kind);
const char *sbx_signal_name(uint32_t number); /* "SIGSEGV"; of real-time signals "SIGRT" */
const char *sbx_fault_text(uint32_t fault);   /* enum sbx_fault in a few words: "no memory at the address" */
const char *sbx_stall_end_name(uint32_t how); /* "answered", "died", "unseen" */
const char *sbx_op_name(uint32_t op);
const char *sbx_watch_kind_name(uint32_t kind);     /* "watch", "deadline" */
const char *sbx_watch_state_name(uint32_t state);   /* "open", "resting", "late" */
const char *sbx_runtime_name(uint32_t kind);        /* "Python" */
const char *sbx_runtime_state_name(uint32_t state); /* "its functions are named" */
const char *sbx_drop_name(uint32_t drop);
const char *sbx_point_name(uint32_t group); /* enum sbx_point_group */
const char *sbx_walk_end_name(uint32_t reason);
const char *sbx_fd_class_name(uint32_t fd_class);

/* By which number the name of an application's message kind is found beside a payload: the low 40 bits of FNV-1a, 64 bits, of
 * its build-id and the kind. 0 without a build-id: kinds of programs that cannot be told apart have no names. */
/* The number that stands for what an application is called: FNV-1a, folded to 40 bits. Never 0 for a name; 0 for "". */
uint64_t sbx_app_what(const char *name);

uint64_t sbx_message_kind_what(const uint8_t *app_build_id, size_t bytes, uint32_t kind);
/* The same of a scene. */
uint64_t sbx_scene_what(const uint8_t *app_build_id, size_t bytes, uint32_t scene);

/* Name of an x86-64 Linux system call ("futex"), or NULL. Only the blocking ones worth naming. */
const char *sbx_syscall_name(uint64_t number);

#endif
