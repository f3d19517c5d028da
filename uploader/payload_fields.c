/* SPDX-License-Identifier: Apache-2.0 */
/* payload_fields.c - the table. Limits are the smallest that true payloads fit in. */
#include "payload_fields.h"

#include "envelope_format.h"
#include "payload_numbers.h"
#include "redacted.h"

enum {
    ROWS_MAX = SBX_PAYLOAD_BYTES_MAX, /* a row takes a byte at least */
    MILLISECONDS_MAX = 86400000,
    MICROSECONDS_MAX = 1000000000,
    FLAGS_MAX = SBX_FD_OTHER << 8 | SBX_FLAG_AT_TRIGGER | SBX_FLAG_FAILED | SBX_FLAG_USAGE,
    NAMES_MAX = 4095, /* room for the tables of names.c to grow; the verifier looks the index up besides */
};

#define NUMBER(message, number, name, max, meaning)                                                                    \
    {message, number, SBX_FIELD_UINT, 0, false, false, max, name, meaning}
#define FLAG(message, number, name, meaning) {message, number, SBX_FIELD_BOOL, 0, false, false, 1, name, meaning}
#define COLUMN(message, number, type, name, max, meaning) {message, number, type, 0, true, true, max, name, meaning}
#define LIST(message, number, name, max, meaning)                                                                      \
    {message, number, SBX_FIELD_UINT, 0, true, false, max, name, meaning}
#define CHILD(number, child, name, meaning)                                                                            \
    {SBX_IN_PAYLOAD, number, SBX_FIELD_MESSAGE, child, false, false, 0, name, meaning}

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
    CHILD(10, SBX_IN_MODULES, "modules", "framing of the group below"),
    COLUMN(SBX_IN_MODULES, 1, SBX_FIELD_UINT, "kind", 5, "app, system, agent, vdso, other"),
    COLUMN(SBX_IN_MODULES, 2, SBX_FIELD_BUILD_ID, "build_id", 0, "which build of a library; none for \"other\""),
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
    CHILD(12, SBX_IN_FRAMES, "frames", "framing of the group below"),
    COLUMN(SBX_IN_FRAMES, 1, SBX_FIELD_UINT, "module", ROWS_MAX, "a row of modules"),
    COLUMN(SBX_IN_FRAMES, 2, SBX_FIELD_SINT, "offset", SBX_NUMBER_MAX, "place in the file of that module"),
    COLUMN(SBX_IN_FRAMES, 3, SBX_FIELD_BOOL, "exact", 1, "whether it is the interrupted instruction"),
    CHILD(13, SBX_IN_CALLSTACKS, "callstacks", "framing of the group below"),
    COLUMN(SBX_IN_CALLSTACKS, 1, SBX_FIELD_UINT, "frame", ROWS_MAX, "a row of frames"),
    COLUMN(SBX_IN_CALLSTACKS, 2, SBX_FIELD_UINT, "parent", ROWS_MAX, "its caller: so many rows back"),
    CHILD(14, SBX_IN_RECORDS, "records", "framing of the group below"),
    LIST(SBX_IN_RECORDS, 1, "thread_rows", ROWS_MAX, "how many records each thread has"),
    COLUMN(SBX_IN_RECORDS, 2, SBX_FIELD_UINT, "kind", SBX_RECORD_KINDS - 1, "sample or kind of wait"),
    COLUMN(SBX_IN_RECORDS, 3, SBX_FIELD_UINT, "op", SBX_OP_MAX - 1, "function observed, by number"),
    COLUMN(SBX_IN_RECORDS, 4, SBX_FIELD_UINT, "flags", FLAGS_MAX, "at the trigger, failed, has usage, descriptor class"),
    COLUMN(SBX_IN_RECORDS, 5, SBX_FIELD_SINT, "end_us", SBX_LONGEST_US, "when, relative to the trigger"),
    COLUMN(SBX_IN_RECORDS, 6, SBX_FIELD_UINT, "duration_us", SBX_LONGEST_US, "how long; an hour at most"),
    COLUMN(SBX_IN_RECORDS, 7, SBX_FIELD_SINT, "cpu_us", SBX_NUMBER_MAX, "CPU time since the thread's first record"),
    COLUMN(SBX_IN_RECORDS, 8, SBX_FIELD_BOOL, "has_cpu", 1, "whether CPU time was read"),
    COLUMN(SBX_IN_RECORDS, 9, SBX_FIELD_SINT, "alloc_count", SBX_NUMBER_MAX, "allocations since then"),
    COLUMN(SBX_IN_RECORDS, 10, SBX_FIELD_SINT, "alloc_bytes", SBX_NUMBER_MAX, "bytes allocated since then"),
    COLUMN(SBX_IN_RECORDS, 11, SBX_FIELD_UINT, "stack", ROWS_MAX, "a row of callstacks"),
    COLUMN(SBX_IN_RECORDS, 12, SBX_FIELD_SINT, "message", SBX_NUMBER_MAX, "which message, from the oldest here"),
    COLUMN(SBX_IN_RECORDS, 13, SBX_FIELD_UINT, "object", ROWS_MAX, "which lock or descriptor, by order"),
    COLUMN(SBX_IN_RECORDS, 14, SBX_FIELD_UINT, "amount", SBX_NUMBER_MAX, "bytes moved, messages merged, system call"),
    COLUMN(SBX_IN_RECORDS, 15, SBX_FIELD_UINT, "peer", ROWS_MAX, "which thread it waited for, by order"),
    COLUMN(SBX_IN_RECORDS, 16, SBX_FIELD_UINT, "repeats", UINT32_MAX, "how often the same was seen again"),
    COLUMN(SBX_IN_RECORDS, 17, SBX_FIELD_UINT, "wait", ROWS_MAX, "which wait and who ended it, by order"),
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
        [SBX_IN_PAYLOAD] = "payload",       [SBX_IN_PLATFORM] = "platform", [SBX_IN_POLICY] = "policy",
        [SBX_IN_TRIGGER] = "trigger",       [SBX_IN_MODULES] = "modules",   [SBX_IN_THREADS] = "threads",
        [SBX_IN_FRAMES] = "frames",         [SBX_IN_CALLSTACKS] = "callstacks", [SBX_IN_RECORDS] = "records",
        [SBX_IN_REDACTIONS] = "redactions",
    };
    return names[message];
}
