/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - reads one recording into a value.
 *
 * This is the only reader of the recording format. It takes a live recording, a snapshot (*.raw) or what a killed
 * process left; all have the same bytes. It trusts none of them: every index, offset, count and string is checked, so
 * that a hostile or torn file results in an error or in fewer records, never in a crash. The value is plain memory,
 * owned by the caller.
 *
 * Runs in the companion and in tools, never in a hook or a signal handler. Any thread, but one thread at a time per
 * object. */
#ifndef SBX_SNAPSHOT_H
#define SBX_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

struct sbx_snapshot_thread {
    struct sbx_thread_entry entry; /* as recorded; name is NUL-terminated */
    uint32_t index;                /* entry index in the recording; UINT32_MAX: a former thread of an entry that
                                      was reused (state DEAD, no name, tid 0 when unknown), or another process's thread */
    uint32_t process;              /* 0: a thread of this process; else index of `processes` + 1 */
    bool leads_process;            /* it is the main thread of that process */
};

/* Another process that a thread waited for. */
struct sbx_snapshot_process {
    uint32_t pid;           /* local only */
    uint32_t role;          /* enum sbx_family_role; NONE: not recorded, only its pid is known */
    uint8_t session_id[16]; /* of its recording; zero if it was not recorded */
};

/* A stack of another process, in frame words of this snapshot. */
struct sbx_snapshot_guest_stack {
    size_t at; /* index into guest_words */
    uint32_t count;
};

struct sbx_snapshot {
    struct sbx_recording_header header;   /* checked copy; strings NUL-terminated */
    struct sbx_capture_settings settings; /* in force */
    struct sbx_module_entry *modules;     /* module_count */
    struct sbx_snapshot_thread *threads;  /* thread_count, at least 1: every entry ever used, then former threads;
                                                   header.main_thread and header.trigger.thread index it */
    struct sbx_record *records;           /* record_count, by end_ns, then as written; `thread` indexes `threads`;
                                                   `stack` is 0, SBX_STACK_OVERFLOW or valid for sbx_snapshot_stack() */
    struct sbx_watch_entry *watches;      /* watch_count: those that were open, in the order of the recording;
                                                   `thread` indexes `threads` or is UINT32_MAX; name NUL-terminated;
                                                   header.trigger.watch is 0 or one of them + 1 */
    uint32_t watch_count;
    struct sbx_kind_entry *kinds; /* kind_count, by kind: the application's names of its messages, terminated or "" */
    uint32_t kind_count;
    struct sbx_kind_entry *scenes; /* scene_count, by scene: the same for scenes. Within `kinds` */
    uint32_t scene_count;
    struct sbx_queue_entry *queues; /* queue_count: the queues into which something was put */
    uint32_t queue_count;
    uint32_t module_count;
    uint32_t thread_count;
    size_t record_count;
    uint64_t drops[SBX_DROP_COUNT]; /* the recording's, plus what this reader dropped */
    /* the callstack table, for sbx_snapshot_stack() */
    uint64_t *frames; /* SBX frame words by frame id */
    uint64_t *nodes;  /* both halves */
    uint32_t frame_count, node_count;
    uint64_t *ids; /* functions of providers, by index; 0: none */
    uint32_t id_count;
    /* Other processes for which threads of this one waited (guest_merge.h). Their threads are the last of `threads`,
     * their records are among `records`. */
    struct sbx_snapshot_process *processes;
    uint32_t process_count;
    struct sbx_snapshot_guest_stack *guest_stacks;
    uint64_t *guest_words;
    uint32_t guest_stack_count;
    size_t guest_word_count;
};

/* Read the `bytes` bytes at `data` (borrowed; a private copy, or a mapping that nobody truncates meanwhile). Returns 0
 * and a value in *snapshot_out (given: sbx_snapshot_destroy), or a negative errno: -EINVAL: no recording, or too
 * damaged; -EPROTO: another version or layout; -ENOMEM. `why` (may be NULL) gets a sentence fragment for the user. */
SBX_MUST_CHECK int sbx_snapshot_read(const void *data, size_t bytes, struct sbx_snapshot **snapshot_out, char *why,
                                     size_t why_bytes);

/* Like sbx_snapshot_read(), but for a file. Also returns -errno of open, fstat, read. */
SBX_MUST_CHECK int sbx_snapshot_read_file(const char *path, struct sbx_snapshot **snapshot_out, char *why,
                                          size_t why_bytes);

/* Write the frame words of callstack `stack`, leaf first, to frames_out[0..max). Logical frames are at the places of
 * the interpreter that runs them (logical_splice.h). Returns the total number of frames: if it is larger than max, the
 * outermost frames are missing; 0 for "no stack", for the overflow id, and for an id that does not resolve. The walk is
 * bounded whatever the bytes are. */
size_t sbx_snapshot_stack(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t *frames_out, size_t max);

/* Release; NULL is fine. */
void sbx_snapshot_destroy(struct sbx_snapshot *snapshot);

#endif
