/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - tables with which both sides are compiled, so that a payload can carry numbers instead of strings.
 *
 * They are part of the wire contract: entries are appended, never moved. Index 0 means "none" or "other". */
#ifndef SBX_NAMES_H
#define SBX_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Names of the enums of recording_format.h, as in the docs and in the JSON report ("slow_message", "usleep", "lock");
 * "unknown" for numbers that this build does not know. Never NULL. */
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

/* Three numbers that stand for a name, or under which a name is stored. sbx_app_what(): for an application's name,
 * FNV-1a folded to 40 bits; never 0 for a name, and 0 for "". sbx_message_kind_what(): for a kind of message, the low
 * 40 bits of 64-bit FNV-1a over the application's build-id and the kind; 0 without a build-id, because kinds of
 * programs that cannot be distinguished have no names. sbx_scene_what(): the same for a scene. */
uint64_t sbx_app_what(const char *name);

uint64_t sbx_message_kind_what(const uint8_t *app_build_id, size_t bytes, uint32_t kind);
uint64_t sbx_scene_what(const uint8_t *app_build_id, size_t bytes, uint32_t scene);

/* Name of an x86-64 Linux system call ("futex"), or NULL. Only important blocking calls have names. */
const char *sbx_syscall_name(uint64_t number);

#endif
