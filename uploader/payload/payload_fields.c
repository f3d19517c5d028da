/* SPDX-License-Identifier: Apache-2.0 */
/* payload_fields.c - the table. The limits are as small as real payloads allow. */
#include "payload_fields.h"

#include "envelope_format.h"
#include "function_starts.h"
#include "payload_numbers.h"
#include "redacted.h"

enum {
    ROWS_MAX = SBX_PAYLOAD_BYTES_MAX, /* a row takes at least one byte */
    MILLISECONDS_MAX = 86400000,
    MICROSECONDS_MAX = 1000000000,
    COST_MS_MAX = 1000,
    SHARE_MAX = 1000000000, /* a thousand times what the program used itself */
    FLAGS_MAX = SBX_FD_LAST << 8 | SBX_FLAG_AT_TRIGGER | SBX_FLAG_FAILED | SBX_FLAG_USAGE | SBX_FLAG_IN_CALL |
                SBX_FLAG_OPEN | SBX_FLAG_CANCELLED | SBX_FLAG_MERGED,
    SBX_BURST_MAX = 32, /* frames that are searched for a burst */
    NAMES_MAX = 4095,   /* room for more names in names.c; the verifier also looks up the index */
};

#define NUMBER(message, number, name, max, meaning)                          \
    {                                                                        \
        message, number, SBX_FIELD_UINT, 0, false, false, max, name, meaning \
    }
#define FLAG(message, number, name, meaning)                               \
    {                                                                      \
        message, number, SBX_FIELD_BOOL, 0, false, false, 1, name, meaning \
    }
#define COLUMN(message, number, type, name, max, meaning)        \
    {                                                            \
        message, number, type, 0, true, true, max, name, meaning \
    }
#define LIST(message, number, name, max, meaning)                           \
    {                                                                       \
        message, number, SBX_FIELD_UINT, 0, true, false, max, name, meaning \
    }
#define CHILD(number, child, name, meaning)                                              \
    {                                                                                    \
        SBX_IN_PAYLOAD, number, SBX_FIELD_MESSAGE, child, false, false, 0, name, meaning \
    }

const struct sbx_payload_field sbx_payload_fields[] = {
    NUMBER(SBX_IN_PAYLOAD, 1, "format", 1, "version of this list of fields"),
    {SBX_IN_PAYLOAD, 2, SBX_FIELD_ID, 0, false, false, 0, "payload_id", "random, one a snapshot: to store it once"},
    {SBX_IN_PAYLOAD, 3, SBX_FIELD_ID, 0, false, false, 0, "session_id", "random, one a run of the program"},
    {SBX_IN_PAYLOAD, 4, SBX_FIELD_BUILD_ID, 0, false, false, 0, "app_build_id", "which build of the program it is"},
    NUMBER(SBX_IN_PAYLOAD, 5, "created_day", 99999, "the UTC day, counted from 1970-01-01"),
    NUMBER(SBX_IN_PAYLOAD, 6, "uptime_bucket", 4, "process age: <1 min, <10 min, <1 h, <1 d, longer"),
    CHILD(7, SBX_IN_PLATFORM, "platform", "framing of the group below"),
    NUMBER(SBX_IN_PLATFORM, 1, "os", 15, "distribution, by number"),
    NUMBER(SBX_IN_PLATFORM, 2, "os_major", 9999, "its major version"),
    NUMBER(SBX_IN_PLATFORM, 3, "kernel_major", 999, "Linux version, first number"),
    NUMBER(SBX_IN_PLATFORM, 4, "kernel_minor", 999, "Linux version, second number"),
    NUMBER(SBX_IN_PLATFORM, 5, "arch", 15, "processor family, by number"),
    NUMBER(SBX_IN_PLATFORM, 6, "log2_cores", 40, "processors, to a power of two"),
    NUMBER(SBX_IN_PLATFORM, 7, "log2_ram_gib", 40, "memory, to a power of two GiB"),
    CHILD(8, SBX_IN_POLICY, "policy", "framing of the group below"),
    NUMBER(SBX_IN_POLICY, 1, "epoch", UINT32_MAX, "which policy was in force"),
    NUMBER(SBX_IN_POLICY, 2, "seq", SBX_NUMBER_MAX, "which policy was in force"),
    NUMBER(SBX_IN_POLICY, 3, "points", SBX_POINTS_KNOWN, "which kinds of calls were observed, as bits"),
    NUMBER(SBX_IN_POLICY, 4, "interval_us", MICROSECONDS_MAX, "sampling interval"),
    NUMBER(SBX_IN_POLICY, 5, "gap_us", MICROSECONDS_MAX, "gap after which a running thread is sampled"),
    NUMBER(SBX_IN_POLICY, 6, "wait_min_us", MICROSECONDS_MAX, "shortest wait that is recorded"),
    NUMBER(SBX_IN_POLICY, 7, "anr_ms", MILLISECONDS_MAX, "limit of an unanswered message"),
    NUMBER(SBX_IN_POLICY, 8, "slow_message_ms", MILLISECONDS_MAX, "limit of a slow message"),
    NUMBER(SBX_IN_POLICY, 9, "slow_frame_ms", MILLISECONDS_MAX, "limit of a slow frame"),
    NUMBER(SBX_IN_POLICY, 10, "detail_level", 2, "how much redaction leaves"),
    NUMBER(SBX_IN_POLICY, 11, "async_interval_us", MICROSECONDS_MAX, "sampling interval really achieved"),
    CHILD(9, SBX_IN_TRIGGER, "trigger", "framing of the group below"),
    NUMBER(SBX_IN_TRIGGER, 1, "kind", SBX_TRIGGER_KINDS - 1, "why the snapshot was made"),
    NUMBER(SBX_IN_TRIGGER, 2, "thread", ROWS_MAX, "which thread did not answer, by order"),
    NUMBER(SBX_IN_TRIGGER, 3, "duration_us", SBX_LONGEST_US, "how long it had not; an hour at most"),
    NUMBER(SBX_IN_TRIGGER, 4, "threshold_ms", UINT32_MAX, "the limit that was crossed"),
    FLAG(SBX_IN_TRIGGER, 5, "in_progress", "whether it still went on"),
    NUMBER(SBX_IN_TRIGGER, 6, "message", SBX_NUMBER_MAX, "which message, from the oldest here"),
    NUMBER(SBX_IN_TRIGGER, 7, "history_us", 60000000, "how far back the records reach"),
    NUMBER(SBX_IN_TRIGGER, 8, "signal", SBX_SIGNAL_MAX, "which signal ended the process"),
    NUMBER(SBX_IN_TRIGGER, 9, "fault", SBX_FAULT_KINDS - 1, "what kind of fault that was, never where"),
    NUMBER(SBX_IN_TRIGGER, 10, "watch", SBX_WATCHES_MAX, "which watch or deadline was not kept, by order"),
    NUMBER(SBX_IN_TRIGGER, 11, "after_ms", MILLISECONDS_MAX, "how long recording went on afterwards"),
    NUMBER(SBX_IN_TRIGGER, 12, "frames", SBX_BURST_MAX, "how many frames were dropped"),
    NUMBER(SBX_IN_TRIGGER, 13, "message_kind", SBX_OP_MAX - 1, "number the program gives such messages"),
    NUMBER(SBX_IN_TRIGGER, 14, "ended", SBX_END_KINDS - 1, "how a stall ended that was told before"),
    NUMBER(SBX_IN_TRIGGER, 15, "scene", SBX_SCENES - 1, "number of the page or state that the program said it was in"),
    CHILD(10, SBX_IN_MODULES, "modules", "framing of the group below"),
    COLUMN(SBX_IN_MODULES, 1, SBX_FIELD_UINT, "kind", 6, "app, system, agent, vdso, other, runtime"),
    COLUMN(SBX_IN_MODULES, 2, SBX_FIELD_BUILD_ID, "build_id", 0, "which build of a library, or which kind of runtime"),
    COLUMN(SBX_IN_MODULES, 3, SBX_FIELD_UINT, "name", NAMES_MAX, "its place in a public table of library names"),
    CHILD(11, SBX_IN_THREADS, "threads", "framing of the group below"),
    COLUMN(SBX_IN_THREADS, 1, SBX_FIELD_UINT, "name", NAMES_MAX, "its place in a public table of thread names"),
    COLUMN(SBX_IN_THREADS, 2, SBX_FIELD_UINT, "flags", 7, "main, runs a loop, has ended"),
    COLUMN(SBX_IN_THREADS, 3, SBX_FIELD_UINT, "call_kind", SBX_RECORD_KINDS - 1, "kind of call it was blocked in"),
    COLUMN(SBX_IN_THREADS, 4, SBX_FIELD_UINT, "call_op", SBX_OP_MAX - 1, "function it was blocked in, by number"),
    COLUMN(SBX_IN_THREADS, 5, SBX_FIELD_UINT, "call_us", SBX_LONGEST_US, "for how long; an hour at most"),
    COLUMN(SBX_IN_THREADS, 6, SBX_FIELD_UINT, "call_peer", ROWS_MAX, "which thread it waited for, by order"),
    COLUMN(SBX_IN_THREADS, 7, SBX_FIELD_UINT, "call_object", ROWS_MAX, "which lock or descriptor, by order"),
    COLUMN(SBX_IN_THREADS, 8, SBX_FIELD_UINT, "last_stack", ROWS_MAX, "its newest stack: a row of callstacks"),
    NUMBER(SBX_IN_PAYLOAD, 32, "moment", SBX_NUMBER_MAX, "random; the same for stalls of the family that overlapped"),
    LIST(SBX_IN_THREADS, 9, "process", ROWS_MAX, "whose it is: 0 this process's, else a row of processes"),
    CHILD(29, SBX_IN_PROCESSES, "processes", "framing of the group below"),
    COLUMN(SBX_IN_PROCESSES, 1, SBX_FIELD_UINT, "role", SBX_ROLE_WORKER, "main, worker, or not recorded"),
    COLUMN(SBX_IN_PROCESSES, 2, SBX_FIELD_ID, "session_id", 0, "a random number of that process's life"),
    CHILD(12, SBX_IN_FRAMES, "frames", "framing of the group below"),
    COLUMN(SBX_IN_FRAMES, 1, SBX_FIELD_UINT, "module", ROWS_MAX, "a row of modules"),
    COLUMN(SBX_IN_FRAMES, 2, SBX_FIELD_SINT, "offset", SBX_NUMBER_MAX,
           "place in that module's file; a runtime's function, line"),
    COLUMN(SBX_IN_FRAMES, 3, SBX_FIELD_BOOL, "exact", 1, "whether it is the interrupted instruction"),
    LIST(SBX_IN_FRAMES, 4, "function", SBX_FUNCTION_BYTES_MAX + SBX_FUNCTION_BEGINS,
         "how far before it its function begins in that file"),
    CHILD(13, SBX_IN_CALLSTACKS, "callstacks", "framing of the group below"),
    COLUMN(SBX_IN_CALLSTACKS, 1, SBX_FIELD_UINT, "frame", ROWS_MAX, "a row of frames"),
    COLUMN(SBX_IN_CALLSTACKS, 2, SBX_FIELD_UINT, "parent", ROWS_MAX, "its caller: so many rows back"),
    CHILD(14, SBX_IN_RECORDS, "records", "framing of the group below"),
    LIST(SBX_IN_RECORDS, 1, "thread_rows", ROWS_MAX, "how many records each thread has"),
    COLUMN(SBX_IN_RECORDS, 2, SBX_FIELD_UINT, "kind", SBX_RECORD_KINDS - 1, "sample or kind of wait"),
    COLUMN(SBX_IN_RECORDS, 3, SBX_FIELD_UINT, "op", SBX_OP_MAX - 1, "function observed, by number"),
    COLUMN(SBX_IN_RECORDS, 4, SBX_FIELD_UINT, "flags", FLAGS_MAX,
           "at the trigger, failed, has usage, not over, cancelled, merged, descriptor class"),
    COLUMN(SBX_IN_RECORDS, 5, SBX_FIELD_SINT, "end_us", SBX_LONGEST_US, "when, relative to the trigger"),
    COLUMN(SBX_IN_RECORDS, 6, SBX_FIELD_UINT, "duration_us", SBX_LONGEST_US, "how long; an hour at most"),
    COLUMN(SBX_IN_RECORDS, 7, SBX_FIELD_SINT, "cpu_us", SBX_NUMBER_MAX, "CPU time since the thread's first record"),
    COLUMN(SBX_IN_RECORDS, 8, SBX_FIELD_BOOL, "has_cpu", 1, "whether CPU time was read"),
    COLUMN(SBX_IN_RECORDS, 9, SBX_FIELD_SINT, "alloc_count", SBX_NUMBER_MAX, "allocations since then"),
    COLUMN(SBX_IN_RECORDS, 10, SBX_FIELD_SINT, "alloc_bytes", SBX_NUMBER_MAX, "bytes allocated since then"),
    COLUMN(SBX_IN_RECORDS, 11, SBX_FIELD_UINT, "stack", ROWS_MAX, "a row of callstacks"),
    COLUMN(SBX_IN_RECORDS, 12, SBX_FIELD_SINT, "message", SBX_NUMBER_MAX, "which message, from the oldest here"),
    COLUMN(SBX_IN_RECORDS, 13, SBX_FIELD_UINT, "object", ROWS_MAX, "which lock or descriptor, by order"),
    COLUMN(SBX_IN_RECORDS, 14, SBX_FIELD_UINT, "amount", SBX_NUMBER_MAX,
           "bytes moved, messages merged, system call, tasks before it"),
    COLUMN(SBX_IN_RECORDS, 15, SBX_FIELD_UINT, "peer", ROWS_MAX,
           "which thread it waited for, or that queued it, by order"),
    COLUMN(SBX_IN_RECORDS, 16, SBX_FIELD_UINT, "repeats", UINT32_MAX, "how often the same was seen again"),
    COLUMN(SBX_IN_RECORDS, 17, SBX_FIELD_UINT, "wait", ROWS_MAX, "which wait and who ended it, which task, by order"),
    LIST(SBX_IN_RECORDS, 18, "minor_faults", UINT32_MAX, "page faults since the last reading"),
    LIST(SBX_IN_RECORDS, 19, "major_faults", UINT32_MAX, "page faults that read a disk"),
    LIST(SBX_IN_RECORDS, 20, "voluntary_switches", UINT32_MAX, "times the thread waited"),
    LIST(SBX_IN_RECORDS, 21, "involuntary_switches", UINT32_MAX, "times it was put off the processor"),
    LIST(SBX_IN_PAYLOAD, 15, "drops", SBX_NUMBER_MAX, "what was lost, counted by kind"),
    CHILD(16, SBX_IN_REDACTIONS, "redactions", "framing of the group below"),
    NUMBER(SBX_IN_REDACTIONS, 1, "modules_hidden", UINT32_MAX, "modules folded into \"other\""),
    NUMBER(SBX_IN_REDACTIONS, 2, "frames_hidden", UINT32_MAX, "frames whose offset was dropped"),
    NUMBER(SBX_IN_REDACTIONS, 3, "thread_names_hidden", UINT32_MAX, "thread names not in the public table"),
    NUMBER(SBX_IN_REDACTIONS, 4, "objects_renumbered", UINT32_MAX, "addresses and descriptors made ordinals"),
    NUMBER(SBX_IN_REDACTIONS, 5, "records_cut", SBX_NUMBER_MAX, "records outside the history or over the size"),
    CHILD(18, SBX_IN_FUNCTIONS, "functions", "framing of the group below"),
    COLUMN(SBX_IN_FUNCTIONS, 1, SBX_FIELD_FUNCTION, "function_id", 0, "functions of a script or the like, by a hash"),
    CHILD(19, SBX_IN_WATCHES, "watches", "framing of the group below"),
    COLUMN(SBX_IN_WATCHES, 1, SBX_FIELD_UINT, "kind", SBX_WATCH_DEADLINE, "watch or deadline"),
    COLUMN(SBX_IN_WATCHES, 2, SBX_FIELD_UINT, "state", SBX_WATCH_LATE, "open, resting, kept too late"),
    COLUMN(SBX_IN_WATCHES, 3, SBX_FIELD_UINT, "thread", ROWS_MAX, "whose it is, by order"),
    COLUMN(SBX_IN_WATCHES, 4, SBX_FIELD_UINT, "what", SBX_NUMBER_MAX, "40 bits of a hash of its name"),
    COLUMN(SBX_IN_WATCHES, 5, SBX_FIELD_UINT, "timeout_ms", MILLISECONDS_MAX, "its limit"),
    COLUMN(SBX_IN_WATCHES, 6, SBX_FIELD_UINT, "age_us", SBX_LONGEST_US, "how long it was open; an hour at most"),
    CHILD(20, SBX_IN_OVERHEAD, "overhead", "framing of the group below"),
    NUMBER(SBX_IN_OVERHEAD, 1, "budget_permille", 1000, "share of the program's CPU time that recording may cost"),
    NUMBER(SBX_IN_OVERHEAD, 2, "cost_ppm", SHARE_MAX, "the share it cost"),
    NUMBER(SBX_IN_OVERHEAD, 3, "window_ppm", SHARE_MAX, "the same of the last second"),
    NUMBER(SBX_IN_OVERHEAD, 4, "modules_ppm", SHARE_MAX, "the same of reading modules at the start"),
    NUMBER(SBX_IN_OVERHEAD, 5, "interval_us", MICROSECONDS_MAX, "sampling interval it came to"),
    NUMBER(SBX_IN_OVERHEAD, 6, "gap_us", MICROSECONDS_MAX, "gap it came to"),
    NUMBER(SBX_IN_OVERHEAD, 7, "shed", SBX_POINTS_KNOWN, "kinds of calls no longer observed, as bits"),
    NUMBER(SBX_IN_OVERHEAD, 8, "changes", UINT32_MAX, "how often one of these was changed"),
    CHILD(31, SBX_IN_QUEUES, "queues", "framing of the group below"),
    COLUMN(SBX_IN_QUEUES, 1, SBX_FIELD_UINT, "object", ROWS_MAX, "which queue, by order"),
    COLUMN(SBX_IN_QUEUES, 2, SBX_FIELD_UINT, "op", SBX_OP_MAX - 1, "how tasks come into it: a function, by number"),
    COLUMN(SBX_IN_QUEUES, 3, SBX_FIELD_UINT, "pending", SBX_NUMBER_MAX, "tasks that lay in it"),
    COLUMN(SBX_IN_QUEUES, 4, SBX_FIELD_UINT, "queued", SBX_NUMBER_MAX, "tasks that came in the last seconds"),
    COLUMN(SBX_IN_QUEUES, 5, SBX_FIELD_UINT, "begun", SBX_NUMBER_MAX, "tasks that were begun in the last seconds"),
    COLUMN(SBX_IN_QUEUES, 6, SBX_FIELD_UINT, "window_ms", MILLISECONDS_MAX, "how many seconds those are"),
    CHILD(21, SBX_IN_SAMPLING, "sampling", "framing of the group below"),
    NUMBER(SBX_IN_SAMPLING, 1, "weight", SBX_WEIGHT_MAX, "how many stalls this one stands for"),
    NUMBER(SBX_IN_SAMPLING, 2, "one_in", SBX_WEIGHT_MAX, "it was picked with the chance of one in so many"),
    {SBX_IN_PAYLOAD, 30, SBX_FIELD_ID, 0, false, false, 0, "rotating_id",
     "a machine's for 90 days: to count machines, and to delete what carries it on request"},
    NUMBER(SBX_IN_PAYLOAD, 23, "app_name", SBX_NUMBER_MAX, "40 bits of a hash of the name that --app gave the program"),
    NUMBER(SBX_IN_OVERHEAD, 10, "budget_tenths", 9, "tenths of a thousandth besides budget_permille"),
    NUMBER(SBX_IN_OVERHEAD, 9, "cost_ms", COST_MS_MAX, "the CPU time it cost, in steps; 0 when that is over a second"),
    {SBX_IN_PAYLOAD, 22, SBX_FIELD_ID, 0, false, false, 0, "completes",
     "of the end of a stall: payload_id of the snapshot that told it"},
    NUMBER(SBX_IN_PAYLOAD, 24, "family_role", 2, "2: a process that was forked from another of the same program"),
    NUMBER(SBX_IN_PAYLOAD, 25, "stalled_beside", 64, "how many others of them stalled at the same time"),
    {SBX_IN_PAYLOAD, 26, SBX_FIELD_ID, 0, false, false, 0, "family_id",
     "of such a process: session_id of the first of them"},
    {SBX_IN_PAYLOAD, 27, SBX_FIELD_ID, 0, false, false, 0, "parent_session",
     "of such a process: session_id of the one that forked it"},
    NUMBER(SBX_IN_PAYLOAD, 28, "program", SBX_NUMBER_MAX,
           "40 bits of a hash of the executable's file name, where --app gave no other"),
    CHILD(33, SBX_IN_RUNTIMES, "runtimes", "framing of the group below"),
    COLUMN(SBX_IN_RUNTIMES, 1, SBX_FIELD_UINT, "kind", 15, "an embedded runtime, by number: Python, Java, JavaScript"),
    COLUMN(SBX_IN_RUNTIMES, 2, SBX_FIELD_UINT, "state", 15, "are its functions named, and why not, by number"),
    COLUMN(SBX_IN_RUNTIMES, 3, SBX_FIELD_UINT, "major", 9999, "its version, first number"),
    COLUMN(SBX_IN_RUNTIMES, 4, SBX_FIELD_UINT, "minor", 9999, "its version, second number"),
    LIST(SBX_IN_PAYLOAD, 17, "app_version", 999999, "version the program told: major, minor, patch"),
};

const size_t sbx_payload_field_count = sizeof sbx_payload_fields / sizeof sbx_payload_fields[0];
_Static_assert(sizeof sbx_payload_fields / sizeof sbx_payload_fields[0] <= SBX_PAYLOAD_FIELDS_MAX, "surveys have room");

int sbx_payload_field_find(enum sbx_payload_message message, uint64_t number)
{
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        if (sbx_payload_fields[i].message == message && sbx_payload_fields[i].number == number) {
            return (int)i;
        }
    }
    return -1;
}

const char *sbx_payload_message_name(enum sbx_payload_message message)
{
    static const char *const names[SBX_PAYLOAD_MESSAGES] = {
        [SBX_IN_PAYLOAD] = "payload",       [SBX_IN_PLATFORM] = "platform",     [SBX_IN_POLICY] = "policy",
        [SBX_IN_TRIGGER] = "trigger",       [SBX_IN_MODULES] = "modules",       [SBX_IN_THREADS] = "threads",
        [SBX_IN_FRAMES] = "frames",         [SBX_IN_CALLSTACKS] = "callstacks", [SBX_IN_RECORDS] = "records",
        [SBX_IN_REDACTIONS] = "redactions", [SBX_IN_WATCHES] = "watches",       [SBX_IN_FUNCTIONS] = "functions",
        [SBX_IN_OVERHEAD] = "overhead",     [SBX_IN_SAMPLING] = "sampling",     [SBX_IN_PROCESSES] = "processes",
        [SBX_IN_QUEUES] = "queues",         [SBX_IN_RUNTIMES] = "runtimes",
    };
    return names[message];
}
