/* SPDX-License-Identifier: Apache-2.0 */
/* death.c - by which signal a process died, in which function, and why if functions on its stack tell that. */
#include "death.h"

#include <stdio.h>
#include <string.h>

#include "blame.h"
#include "names.h"
#include "verdict_words.h"

/* The dying thread's stack is recorded within microseconds of the trigger's end. */
#define CRASH_RECORD_NS INT64_C(1000000)

/* The stack of the thread when the signal arrived; 0: not recorded (the host's own handler had the signal). */
static uint32_t crash_stack(const struct sbx_stall *stall)
{
    const struct sbx_stall_thread *thread = &stall->threads[stall->trigger.thread];
    for (size_t i = thread->record_count; i-- > 0;) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->end_ns < -CRASH_RECORD_NS) {
            break;
        }
        if (record->stack != 0 && (record->flags & SBX_FLAG_AT_TRIGGER) != 0) {
            return record->stack;
        }
    }
    return 0;
}

static const char *signal_text(const struct sbx_stall *stall)
{
    return stall->trigger.signal != 0 ? sbx_signal_name(stall->trigger.signal) : "a fatal signal";
}

/* ---- why ---- */

enum {
    REASON_BYTES = 96
};

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "std::__throw_out_of_range_fmt(char const*, ...)" throws std::out_of_range. False: it is no such function. */
static bool exception_of_thrower(const char *function, char reason_out[REASON_BYTES])
{
    static const char prefix[] = "std::__throw_", checked[] = "::_M_range_check(";
    static const char *const types[] = {"bad_alloc",
                                        "bad_array_new_length",
                                        "bad_cast",
                                        "bad_exception",
                                        "bad_function_call",
                                        "bad_optional_access",
                                        "bad_typeid",
                                        "bad_variant_access",
                                        "bad_weak_ptr",
                                        "domain_error",
                                        "future_error",
                                        "invalid_argument",
                                        "ios_failure",
                                        "length_error",
                                        "logic_error",
                                        "out_of_range",
                                        "overflow_error",
                                        "range_error",
                                        "regex_error",
                                        "runtime_error",
                                        "system_error",
                                        "underflow_error",
                                        NULL};
    if (begins_with(function, "std::") && strstr(function, checked) != NULL) { /* std::vector::at() and the like */
        function = "std::__throw_out_of_range_fmt";
    }
    if (!begins_with(function, prefix)) {
        return false;
    }
    const char *name = function + sizeof prefix - 1;
    size_t bytes = strcspn(name, "(<[");
    for (size_t i = 0; types[i] != NULL; i++) {
        size_t type_bytes = strlen(types[i]);
        bool is_it = bytes >= type_bytes && strncmp(name, types[i], type_bytes) == 0 &&
                     (bytes == type_bytes || strncmp(name + type_bytes, "_fmt", bytes - type_bytes) == 0);
        if (is_it) {
            snprintf(reason_out, REASON_BYTES, "a C++ exception std::%s that nothing caught", types[i]);
            return true;
        }
    }
    return false;
}

/* What it means if a process ends in this function; NULL: nothing known. From the sources of glibc, libstdc++, Rust's
 * std, GLib, Qt and V8. */
static const char *reason_of_function(const char *function)
{
    static const struct {
        const char *prefix, *reason;
        bool is_whole; /* `prefix` is the whole name, not its beginning */
    } reasons[] = {
        {"__assert_fail", "an assertion failed", true},
        {"__assert_perror_fail", "an assertion failed", true},
        {"__stack_chk_fail", "a buffer on the stack overflowed", true},
        {"__chk_fail", "a buffer overflowed", true},
        {"malloc_printerr", "malloc found its memory damaged", true},
        {"std::terminate()", "std::terminate()", true},
        {"std::terminate", "std::terminate()", true},
        {"__cxa_throw", "a C++ exception that nothing caught", true},
        {"__cxa_rethrow", "a C++ exception that nothing caught", true},
        {"std::thread::~thread", "a std::thread that was neither joined nor detached", false},
        {"std::thread::operator=", "a std::thread that was neither joined nor detached", false},
        {"__cxa_pure_virtual", "a call of a pure virtual function", true},
        {"std::__glibcxx_assert_fail", "an assertion of the C++ library failed", false},
        {"std::__replacement_assert", "an assertion of the C++ library failed", false},
        {"rust_panic", "a panic of Rust", true},
        {"std::panicking::", "a panic of Rust", false},
        {"core::panicking::", "a panic of Rust", false},
        {"g_assertion_message", "an assertion failed", false},
        {"QMessageLogger::fatal", "a fatal message of Qt", false},
        {"qt_assert", "an assertion failed", false},
        {"v8::internal::V8::FatalProcessOutOfMemory", "no memory left for JavaScript", false},
        {"v8::Utils::ReportOOMFailure", "no memory left for JavaScript", false},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].is_whole ? strcmp(function, reasons[i].prefix) == 0 : begins_with(function, reasons[i].prefix)) {
            return reasons[i].reason;
        }
    }
    return NULL;
}

/* Why the process died: the kind of fault, or what the functions between the signal and the blamed function tell. The
 * outermost of these decides, because it leads to the others: a function that throws calls terminate(), which calls
 * abort(). */
static const char *reason_text(const struct sbx_report *report, uint32_t stack, const struct sbx_location *blamed,
                               char room[REASON_BYTES])
{
    const struct sbx_stall *stall = report->stall;
    const char *reason = sbx_fault_text(stall->trigger.fault);
    bool is_noexcept = false; /* the search for an exception handler came to a noexcept function */
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (location == blamed) {
                return is_noexcept ? "a C++ exception that left a noexcept function" : reason;
            }
            is_noexcept = is_noexcept || (location->named && strcmp(location->function, "__gxx_personality_v0") == 0);
            const char *told = location->named ? reason_of_function(location->function) : NULL;
            reason = told != NULL ? told : reason;
            reason = location->named && exception_of_thrower(location->function, room) ? room : reason;
        }
    }
    return reason;
}

/* ---- the verdict ---- */

/* Keep the evidence about a stall that the crash ended. If there was no stall, what the thread did before explains
 * nothing: drop it. */
static void drop_evidence(struct sbx_verdict *verdict)
{
    size_t kept = 0;
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        const char *kind = verdict->evidence[i].kind;
        if (strcmp(kind, "swap") == 0 || strcmp(kind, "pressure") == 0) {
            verdict->evidence[kept++] = verdict->evidence[i];
        }
    }
    verdict->evidence_count = kept;
}

/* Move the newest piece of evidence to place `at`. */
static void move_newest(struct sbx_verdict *verdict, size_t at)
{
    struct sbx_evidence newest = verdict->evidence[verdict->evidence_count - 1];
    memmove(&verdict->evidence[at + 1], &verdict->evidence[at],
            (verdict->evidence_count - 1 - at) * sizeof verdict->evidence[0]);
    verdict->evidence[at] = newest;
}

/* The function in which the signal arrived, if it is not the one to name. */
static void tell_leaf(const struct sbx_report *report, uint32_t stack, const struct sbx_location *blamed,
                      struct sbx_verdict *verdict)
{
    char leaf_name[SBX_SHORT_NAME_BYTES], name[SBX_SHORT_NAME_BYTES];
    const struct sbx_location *leaf =
        &report->locations[report->location_begin[report->stall->callstacks[stack].frame]];
    bool is_fault = report->stall->trigger.fault != SBX_FAULT_ABORT && report->stall->trigger.fault != SBX_FAULT_SENT;
    if (is_fault && leaf->named && leaf != blamed && strcmp(leaf->function, blamed->function) != 0) {
        sbx_evidence_add(verdict, "fault", 0, "the fault lies in %s, which %s called",
                         sbx_location_text(leaf, leaf_name), sbx_location_text(blamed, name));
    }
}

static void tell_signal(const struct sbx_report *report, const struct sbx_location *location, const char *reason,
                        struct sbx_verdict *verdict)
{
    const struct sbx_stall *stall = report->stall;
    const char *signal = signal_text(stall);
    char thread[SBX_THREAD_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
    sbx_thread_text(stall, stall->trigger.thread, thread);
    if (location != NULL) {
        snprintf(verdict->headline, sizeof verdict->headline, "%s died by %s in %s: %s", thread, signal,
                 sbx_location_text(location, function), reason);
        sbx_evidence_add(verdict, "signal", stall->trigger.signal, "the process died by %s (%s): %s was in %s", signal,
                         reason, thread, function);
    } else if (stall->trigger.fault == SBX_FAULT_NO_MEMORY) {
        snprintf(verdict->headline, sizeof verdict->headline,
                 "the kernel killed the process because its control group or the machine had no memory left");
        sbx_evidence_add(verdict, "signal", stall->trigger.signal,
                         "the process died by %s, and the kernel counted a kill for lack of memory meanwhile", signal);
    } else if (stall->trigger.fault == SBX_FAULT_UNKNOWN) {
        snprintf(verdict->headline, sizeof verdict->headline, "the process died by %s; where is not known", signal);
        sbx_evidence_add(verdict, "signal", stall->trigger.signal,
                         "the process died by %s; on which thread and where is not known: the handler was not ours",
                         signal);
    } else {
        snprintf(verdict->headline, sizeof verdict->headline, "the process died by %s (%s); where is not known", signal,
                 reason);
        sbx_evidence_add(verdict, "signal", stall->trigger.signal,
                         "the process died by %s (%s); its stack could not be recorded", signal, reason);
    }
}

void sbx_death_tell(struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    if (stall->trigger.kind == SBX_TRIGGER_KILLED && stall->trigger.signal != 0) {
        sbx_evidence_add(&report->verdict, "signal", stall->trigger.signal, "the process was ended by %s",
                         signal_text(stall));
    }
}

void sbx_death_judge(struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    if (stall->trigger.kind != SBX_TRIGGER_CRASH) {
        return;
    }
    char meanwhile[sizeof verdict->headline], open[SBX_DURATION_TEXT_BYTES], room[REASON_BYTES];
    bool was_stalled = stall->trigger.duration_ns > 0 && verdict->cause != SBX_CAUSE_UNKNOWN;
    memcpy(meanwhile, verdict->headline, sizeof meanwhile);
    if (!was_stalled) {
        drop_evidence(verdict);
    } else if (verdict->evidence_count > sizeof verdict->evidence / sizeof verdict->evidence[0] - 3) {
        verdict->evidence_count = sizeof verdict->evidence / sizeof verdict->evidence[0] - 3; /* drop the weakest */
    }
    uint32_t stack = crash_stack(stall);
    const struct sbx_location *location = sbx_blame_leaf(report, stack);
    const char *reason = reason_text(report, stack, location, room);
    size_t told = 0;
    tell_signal(report, location, reason, verdict);
    move_newest(verdict, told++);
    size_t before = verdict->evidence_count;
    if (location != NULL) {
        tell_leaf(report, stack, location, verdict);
    }
    if (verdict->evidence_count > before) {
        move_newest(verdict, told++);
    }
    if (was_stalled) {
        sbx_duration_text((double)stall->trigger.duration_ns, open);
        sbx_evidence_add(verdict, "meanwhile", (double)stall->trigger.duration_ns / 1e6,
                         "its message was open for %s: %s", open, meanwhile);
        move_newest(verdict, told);
    }
    verdict->cause = SBX_CAUSE_CRASH;
    verdict->class_ = 0;
    verdict->stack = location != NULL ? stack : 0;
    verdict->location = location != NULL ? *location : (struct sbx_location){.function = "", .module = ""};
    verdict->culprit_thread = -1;
    verdict->culprit_function = "";
    verdict->culprit_at = (struct sbx_location){.function = "", .module = ""};
    verdict->culprit_doing[0] = '\0';
    verdict->cycle_count = 0;
    verdict->confidence = location == NULL || !location->named                       ? 0.6
                          : sbx_blame_unnamed_below(report, stack, location) != NULL ? 0.95
                                                                                     : 0.99;
}
