/* SPDX-License-Identifier: Apache-2.0 */
/* redacted.h - the parts of a snapshot that are left after redaction: rows of numbers, ready for the columns.
 *
 *   snapshot -> records in time -> threads as ordinals -> stacks as a forest -> modules folded -> objects as ordinals
 *
 * After this step there is no address, no path, no name, and no process or thread id left that could leak. encode.c
 * only copies. All numbers are as in payload.proto, but plain: the encoder computes the deltas. */
#ifndef SBX_REDACTED_H
#define SBX_REDACTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "redaction.h"
#include "snapshot.h"

struct sbx_redacted_module {
    uint32_t kind; /* payload.proto, Modules.kind */
    uint32_t name;
    uint32_t build_id_bytes; /* 0 or 8..32 */
    uint8_t build_id[SBX_BUILD_ID_MAX];
};

struct sbx_redacted_thread {
    uint32_t name, flags, call_kind, call_op, call_peer, call_object, last_stack;
    uint32_t process; /* row + 1; 0: the recorded process */
    uint64_t call_us;
    uint32_t record_count; /* number of its rows */
};

struct sbx_redacted_process {
    uint32_t role;       /* enum sbx_family_role */
    uint8_t session[16]; /* zero where the role is NONE */
};

struct sbx_redacted_frame {
    uint32_t module;   /* row; module_count: end marker; + 1: generated code; + 2: frames left out */
    uint64_t offset;   /* of a runtime: function + 1 and line, as in payload.proto */
    uint64_t function; /* where its function begins, from the module's unwind data; 0: not known (function_starts.h) */
    bool exact;
};

struct sbx_redacted_function {
    uint8_t id[8]; /* big endian */
};

struct sbx_redacted_callstack {
    uint32_t frame;  /* row */
    uint32_t parent; /* callstack number (row + 1), smaller than its own; 0: outermost */
};

struct sbx_redacted_watch {
    uint32_t kind, state, thread, timeout_ms; /* thread: ordinal + 1; 0 unknown */
    uint64_t what, age_us;
};

struct sbx_redacted_queue {
    uint32_t object, op, window_ms; /* object: ordinal + 1; 0 none */
    uint64_t pending, queued, begun;
};

struct sbx_redacted_record {
    int64_t end_us;
    uint64_t duration_us;
    int64_t cpu_us;                   /* since the first row of its thread with CPU time */
    int64_t alloc_count, alloc_bytes; /* since the first row of its thread */
    uint64_t message, amount;
    uint32_t thread, stack, object, peer, wait;
    uint32_t repeats;
    uint32_t minor_faults, major_faults, voluntary_switches, involuntary_switches; /* growth; with SBX_FLAG_USAGE */
    uint32_t kind, op, flags;
    bool has_cpu;
};

struct sbx_redacted {
    struct sbx_redacted_module *modules;
    struct sbx_redacted_thread *threads;
    struct sbx_redacted_process *processes;
    uint32_t process_count;
    struct sbx_redacted_frame *frames;
    struct sbx_redacted_function *functions;
    struct sbx_redacted_callstack *callstacks;
    struct sbx_redacted_record *records; /* by thread, then by end */
    struct sbx_redacted_watch *watches;
    struct sbx_redacted_queue *queues;
    uint32_t watch_count, queue_count;
    uint32_t module_count, thread_count, frame_count, function_count, callstack_count;
    size_t record_count;
    uint64_t drops[SBX_DROP_COUNT];
    struct {
        uint32_t kind, thread, threshold_ms, signal, fault;
        uint32_t ended; /* enum sbx_stall_end */
        bool in_progress;
        uint64_t duration_us, message, history_us;
        uint32_t watch, after_ms, frames, message_kind, scene; /* watch: row + 1; 0 none */
    } trigger;
    uint32_t app_module; /* row + 1 of the executable; 0: not known */
    uint32_t created_day, uptime_bucket;
    bool has_rotating_id;
    uint8_t rotating_id[16];
    struct {
        uint32_t modules_hidden, frames_hidden, thread_names_hidden, objects_renumbered, records_cut;
    } redactions;
};

/* Bounds that hold whatever the recording contains. No number that leaves is above the first one, because user-space
 * addresses are. No duration is longer than the second one, an hour, because an exact duration would show the process's
 * age. */
#define SBX_NUMBER_MAX ((UINT64_C(1) << 40) - 1)
#define SBX_LONGEST_US (UINT64_C(3600) * 1000000)

/* Apply `redaction`. For the end of a stall (SBX_TRIGGER_END), only the trigger, the program and the day are kept.
 * Otherwise the newest `records_max` records are kept, in addition to those taken at the trigger. Returns 0 and a value
 * (given: sbx_redacted_destroy), -EPERM if the rules allow nothing to leave, -ENOMEM, or -EOVERFLOW if a stack or a
 * table is larger than any in a recording. */
SBX_MUST_CHECK int sbx_redacted_create(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction,
                                       size_t records_max, struct sbx_redacted **redacted_out);
void sbx_redacted_destroy(struct sbx_redacted *redacted);

#endif
