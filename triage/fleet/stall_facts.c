/* SPDX-License-Identifier: Apache-2.0 */
/* stall_facts.c - facts about a stall, in a few words each. */
#include "stall_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "names.h"
#include "stall_before.h"

struct facts {
    struct sbx_stall_fact *rows;
    size_t count;
};

__attribute__((format(printf, 4, 5))) static void add(struct facts *facts, enum sbx_fact_kind kind, double ms,
                                                      const char *format, ...)
{
    if (facts->count == SBX_STALL_FACTS_MAX) {
        return;
    }
    struct sbx_stall_fact *fact = &facts->rows[facts->count++];
    va_list arguments;
    fact->kind = kind;
    fact->us = ms > 0 && ms < 3.6e9 ? (int64_t)(ms * 1000) : 0;
    va_start(arguments, format);
    vsnprintf(fact->word, sizeof fact->word, format, arguments);
    va_end(arguments);
}

/* ---- cause ---- */

/* The call at the leaf, if it tells more than the cause does: "fsync". */
static bool name_call(const struct sbx_report *report, char out[SBX_STABLE_NAME_BYTES])
{
    const struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_location *leaf;
    if (sbx_report_callstack(report, verdict->stack, &leaf, 1) == 0 || !leaf->named || leaf->app) {
        return false;
    }
    const char *name = leaf->function + strspn(leaf->function, "_");
    sbx_stable_name(strncmp(name, "GI_", 3) == 0 ? name + 3 + strspn(name + 3, "_") : name, out);
    return out[0] != '\0';
}

static void add_causes(struct facts *facts, const struct sbx_report *report, double interval_ms)
{
    const struct sbx_verdict *verdict = &report->verdict;
    const char *cause = sbx_cause_name(verdict->cause);
    char detail[SBX_STABLE_NAME_BYTES];
    bool has_culprit = verdict->culprit_function[0] != '\0';
    add(facts, SBX_FACT_CAUSE, interval_ms, "%s", cause);
    switch (verdict->cause) {
    case SBX_CAUSE_LOCK:
    case SBX_CAUSE_DEADLOCK:
    case SBX_CAUSE_WAIT:
    case SBX_CAUSE_CPU_CONTENTION:
        if (has_culprit) {
            sbx_stable_name(verdict->culprit_function, detail);
            add(facts, SBX_FACT_DETAIL, interval_ms, "%s > %s", cause, detail);
            return;
        }
        break;
    case SBX_CAUSE_IO:
    case SBX_CAUSE_NETWORK:
    case SBX_CAUSE_IPC:
    case SBX_CAUSE_SLEEP:
    case SBX_CAUSE_MEMORY:
        if (verdict->class_ == SBX_CLASS_OFF_CPU && name_call(report, detail)) {
            add(facts, SBX_FACT_DETAIL, interval_ms, "%s > %s", cause, detail);
            return;
        }
        break;
    default:
        break;
    }
    add(facts, SBX_FACT_DETAIL, interval_ms, "%s", cause);
}

/* ---- functions and threads that had a part ---- */

static void add_who(struct facts *facts, const struct sbx_verdict *verdict, double interval_ms)
{
    char function[SBX_STABLE_NAME_BYTES] = "", culprit[SBX_STABLE_NAME_BYTES] = "";
    sbx_stable_name(verdict->location.function, function);
    sbx_stable_name(verdict->culprit_function, culprit);
    if (function[0] != '\0') {
        add(facts, SBX_FACT_FUNCTION, interval_ms, "%s", function);
    }
    if (culprit[0] == '\0') {
        return;
    }
    if (verdict->cause == SBX_CAUSE_CPU_CONTENTION) {
        add(facts, SBX_FACT_RIVAL, verdict->runnable_ms, "%s", culprit);
        return;
    }
    bool is_lock = verdict->cause == SBX_CAUSE_LOCK || verdict->cause == SBX_CAUSE_DEADLOCK;
    double waited_ms = verdict->off_cpu_by_ms[verdict->cause];
    if (verdict->cause == SBX_CAUSE_DEADLOCK && waited_ms <= 0) {
        waited_ms = verdict->off_cpu_by_ms[SBX_CAUSE_LOCK];
    }
    if (is_lock || verdict->cause == SBX_CAUSE_WAIT) {
        add(facts, is_lock ? SBX_FACT_HOLDER : SBX_FACT_WAKER, waited_ms, "%s", culprit);
        add(facts, SBX_FACT_PAIR, waited_ms, "%s < %s", function[0] != '\0' ? function : "?", culprit);
    }
}

/* ---- where time went, and on what machine ---- */

static void add_times(struct facts *facts, const struct sbx_verdict *verdict)
{
    if (verdict->on_cpu_ms > 0) {
        add(facts, SBX_FACT_TIME, verdict->on_cpu_ms, "on CPU");
    }
    if (verdict->runnable_ms > 0) {
        add(facts, SBX_FACT_TIME, verdict->runnable_ms, "waiting for a CPU");
    }
    for (int cause = 0; cause < SBX_CAUSE_COUNT; cause++) {
        if (verdict->off_cpu_by_ms[cause] > 0) {
            add(facts, SBX_FACT_TIME, verdict->off_cpu_by_ms[cause], "off CPU: %s",
                sbx_cause_name((enum sbx_cause)cause));
        }
    }
    if (verdict->idle_ms > 0) {
        add(facts, SBX_FACT_TIME, verdict->idle_ms, "idle");
    }
    if (verdict->unknown_ms > 0) {
        add(facts, SBX_FACT_TIME, verdict->unknown_ms, "not known");
    }
}

static void add_machine(struct facts *facts, const struct sbx_stall *stall)
{
    static const char *const systems[] = {"other",       "Debian", "Ubuntu", "Fedora",
                                          "RHEL family", "SUSE",   "Arch",   "Alpine"};
    uint32_t os = stall->platform.os < sizeof systems / sizeof systems[0] ? stall->platform.os : 0;
    if (stall->platform.os_major != 0) {
        add(facts, SBX_FACT_OS, 0, "%s %u", systems[os], stall->platform.os_major);
    } else {
        add(facts, SBX_FACT_OS, 0, "%s", systems[os]);
    }
    add(facts, SBX_FACT_KERNEL, 0, "%u.%u", stall->platform.kernel_major, stall->platform.kernel_minor);
    add(facts, SBX_FACT_CORES, 0, "%u", 1u << (stall->platform.log2_cores & 31));
    add(facts, SBX_FACT_MEMORY, 0, "%u GiB", 1u << (stall->platform.log2_ram_gib & 31));
}

static void add_before(struct facts *facts, const struct sbx_report *report)
{
    struct sbx_stall_before rows[SBX_BEFORE_ROWS];
    size_t count = sbx_stall_before(report, rows);
    for (size_t i = 0; i < count; i++) {
        add(facts, SBX_FACT_BEFORE, (double)rows[i].us / 1e3, "%s", rows[i].function);
    }
}

size_t sbx_stall_facts(const struct sbx_report *report, struct sbx_stall_fact facts_out[SBX_STALL_FACTS_MAX])
{
    const struct sbx_verdict *verdict = &report->verdict;
    struct facts facts = {.rows = facts_out};
    double interval_ms = (double)(verdict->interval_end_ns - verdict->interval_begin_ns) / 1e6;
    add_causes(&facts, report, interval_ms);
    add_who(&facts, verdict, interval_ms);
    add(&facts, SBX_FACT_TRIGGER, interval_ms, "%s", sbx_trigger_name(report->stall->trigger.kind));
    add_machine(&facts, report->stall);
    char scene[SBX_KIND_TEXT_BYTES];
    sbx_report_scene_text(report, scene);
    if (scene[0] != '\0') {
        add(&facts, SBX_FACT_SCENE, 0, "%s", scene);
    }
    add_before(&facts, report);
    add_times(&facts, verdict);
    return facts.count;
}
