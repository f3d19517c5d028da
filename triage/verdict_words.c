/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.c - a verdict in sentences for a person.
 *
 * Every sentence carries the number it rests on, and says whether that was measured or concluded. */
#include "verdict_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "names.h"

void sbx_duration_text(double ns, char out[SBX_DURATION_TEXT_BYTES])
{
    if (ns >= 1e9) {
        snprintf(out, SBX_DURATION_TEXT_BYTES, "%.2f s", ns / 1e9);
    } else if (ns >= 10e6) {
        snprintf(out, SBX_DURATION_TEXT_BYTES, "%.0f ms", ns / 1e6);
    } else if (ns >= 1e6) {
        snprintf(out, SBX_DURATION_TEXT_BYTES, "%.1f ms", ns / 1e6);
    } else {
        snprintf(out, SBX_DURATION_TEXT_BYTES, "%.0f us", ns / 1e3);
    }
}

void sbx_thread_text(const struct sbx_stall *stall, uint32_t thread, char out[SBX_THREAD_TEXT_BYTES])
{
    if (stall->threads[thread].is_main) {
        snprintf(out, SBX_THREAD_TEXT_BYTES, "main thread");
    } else {
        snprintf(out, SBX_THREAD_TEXT_BYTES, "thread %u (%.40s)", thread, stall->threads[thread].name);
    }
}

void sbx_evidence_add(struct sbx_verdict *verdict, const char *kind, double value, const char *format, ...)
{
    if (verdict->evidence_count == sizeof verdict->evidence / sizeof verdict->evidence[0]) {
        return;
    }
    struct sbx_evidence *evidence = &verdict->evidence[verdict->evidence_count++];
    evidence->kind = kind;
    evidence->value = value;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(evidence->text, sizeof evidence->text, format, arguments);
    va_end(arguments);
}

static const char *function_of(const struct sbx_location *location)
{
    return location == NULL ? "an unknown function" : location->function;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void tell_pauses(const struct sbx_judgement *judgement, struct sbx_verdict *verdict)
{
    char duration[SBX_DURATION_TEXT_BYTES], call[48];
    sbx_duration_text(judgement->function_ns, duration);
    sbx_call_name(judgement->wait.kind, judgement->wait.op, judgement->wait.amount, call, sizeof call);
    const char *how = judgement->is_exact ? (judgement->wait.open ? "measured, not ended yet" : "measured")
                                          : "concluded from samples of the blocked thread";
    sbx_evidence_add(verdict, "blocked", judgement->function_ns / 1e6,
                     "%s in %s, called by %.80s: %.0f %% of the interval, %zu call%s, %s", duration, call,
                     function_of(judgement->location), percent(judgement->function_ns, judgement->split.wall_ns),
                     judgement->calls, judgement->calls == 1 ? "" : "s", how);
    if (judgement->bytes > 0) {
        sbx_evidence_add(verdict, "bytes", (double)judgement->bytes, "%.1f KiB were moved by these calls",
                         (double)judgement->bytes / 1024);
    }
    if (judgement->wait.fd_class != SBX_FD_UNKNOWN) {
        sbx_evidence_add(verdict, "descriptor", (double)judgement->wait.fd_class, "the descriptor was a %s",
                         judgement->wait.fd_class == SBX_FD_REGULAR ? "regular file"
                                                                    : sbx_fd_class_name(judgement->wait.fd_class));
    }
}

static void tell_samples(const struct sbx_judgement *judgement, struct sbx_verdict *verdict)
{
    const struct sbx_blame_path *path = &judgement->path;
    if (path->location == NULL) {
        return;
    }
    sbx_evidence_add(verdict, "samples", (double)judgement->samples,
                     "%zu stacks; %.0f %% of their time goes through %.100s", judgement->samples, path->share * 100,
                     path->location->function);
    if (path->callers[0] != NULL) {
        sbx_evidence_add(verdict, "callers", 0, "%.70s was called by %.70s%s%.70s", path->location->function,
                         path->callers[0]->function, path->callers[1] != NULL ? ", that by " : "",
                         path->callers[1] != NULL ? path->callers[1]->function : "");
    }
    if (path->unnamed_share > 0.5) {
        sbx_evidence_add(verdict, "unnamed", path->unnamed_share,
                         "the functions nearest the leaf have no names in %.60s; %.80s is their nearest named caller",
                         path->unnamed_module, path->location->function);
    }
}

void sbx_evidence_of_judgement(const struct sbx_report *report, const struct sbx_judgement *judgement,
                               struct sbx_verdict *verdict)
{
    const struct sbx_time_split *split = &judgement->split;
    char duration[SBX_DURATION_TEXT_BYTES], wall[SBX_DURATION_TEXT_BYTES], thread[SBX_THREAD_TEXT_BYTES];
    sbx_duration_text(split->wall_ns, wall);
    sbx_thread_text(report->stall, report->stall->trigger.thread, thread);
    if (judgement->class_ == SBX_CLASS_OFF_CPU) {
        tell_pauses(judgement, verdict);
    }
    sbx_duration_text(split->on_cpu_ns, duration);
    if (split->cpu_measured) {
        sbx_evidence_add(verdict, "cpu", split->on_cpu_ns / 1e6, "%s used %s of CPU time in %s, by its own CPU clock",
                         thread, duration, wall);
    } else if (split->on_cpu_ns > 0) {
        sbx_evidence_add(verdict, "cpu", split->on_cpu_ns / 1e6, "%s ran for about %s of %s, judging by samples only",
                         thread, duration, wall);
    }
    if (judgement->class_ == SBX_CLASS_ON_CPU || judgement->class_ == SBX_CLASS_RUNNABLE) {
        tell_samples(judgement, verdict);
    }
    if (split->cpu_measured && split->runnable_ns * 20 > split->wall_ns) {
        sbx_duration_text(split->runnable_ns, duration);
        sbx_evidence_add(verdict, "runnable", split->runnable_ns / 1e6,
                         "%s was neither CPU time nor in a known call: ready, but not running", duration);
    }
    if (judgement->class_ == SBX_CLASS_ON_CPU && judgement->alloc_count > 0) {
        sbx_evidence_add(verdict, "allocations", (double)judgement->alloc_count, "%lld allocations of %.1f MiB in all",
                         (long long)judgement->alloc_count, (double)judgement->alloc_bytes / (1024 * 1024));
    }
}

/* ---- headline ---- */

/* Writes the sentence, cut visibly when names are too long for it. */
__attribute__((format(printf, 2, 3))) static void say(struct sbx_verdict *verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(verdict->headline, sizeof verdict->headline, format, arguments);
    va_end(arguments);
    if (bytes >= (int)sizeof verdict->headline) {
        memcpy(verdict->headline + sizeof verdict->headline - 4, "...", 4);
    }
}

/* "in lua_pcall under luaCallFunction, evalGenericCommand" */
static void write_place(const struct sbx_judgement *judgement, char *out, size_t bytes)
{
    const struct sbx_blame_path *path = &judgement->path;
    if (judgement->location == NULL) {
        snprintf(out, bytes, "in an unknown function");
    } else if (path->location == judgement->location && path->callers[0] != NULL) {
        snprintf(out, bytes, "in %.60s under %.40s%s%.40s", path->location->function, path->callers[0]->function,
                 path->callers[1] != NULL ? ", " : "", path->callers[1] != NULL ? path->callers[1]->function : "");
    } else {
        snprintf(out, bytes, "in %.100s", judgement->location->function);
    }
}

static void say_unknown(const struct sbx_judgement *judgement, const char *thread, const char *wall,
                        struct sbx_verdict *verdict)
{
    const struct sbx_time_split *split = &judgement->split;
    if (split->idle_ns > 0 && split->idle_ns * 2 >= split->wall_ns) {
        say(verdict, "%s waited for work most of the %s before the trigger: no stall in it", thread, wall);
    } else if (judgement->class_ == SBX_CLASS_OFF_CPU) {
        say(verdict, "%s was blocked for most of %s in a call that does not tell why", thread, wall);
    } else {
        say(verdict, "%s did not answer for %s; why is not established", thread, wall);
    }
}

void sbx_headline_write(const struct sbx_report *report, const struct sbx_judgement *judgement,
                        struct sbx_verdict *verdict)
{
    char thread[SBX_THREAD_TEXT_BYTES], wall[SBX_DURATION_TEXT_BYTES], spent[SBX_DURATION_TEXT_BYTES];
    char place[180], call[48], culprit[SBX_THREAD_TEXT_BYTES] = "";
    sbx_thread_text(report->stall, report->stall->trigger.thread, thread);
    if (verdict->culprit_thread >= 0) {
        sbx_thread_text(report->stall, (uint32_t)verdict->culprit_thread, culprit);
    }
    sbx_duration_text(judgement->split.wall_ns, wall);
    sbx_duration_text(judgement->location == NULL ? judgement->cause_ns : judgement->function_ns, spent);
    sbx_call_name(judgement->wait.kind, judgement->wait.op, judgement->wait.amount, call, sizeof call);
    write_place(judgement, place, sizeof place);
    const char *so_far = judgement->wait.open ? " so far" : "";
    switch (verdict->cause) {
    case SBX_CAUSE_CPU:
        say(verdict, "%s computed for %s %s", thread, spent, place);
        break;
    case SBX_CAUSE_HIGH_FREQUENCY:
        say(verdict, "%s handled %llu messages in %s, mostly %s", thread, (unsigned long long)verdict->messages, wall,
            place);
        break;
    case SBX_CAUSE_MEMORY:
        say(verdict, "%s spent %s on memory %s", thread, spent, place);
        break;
    case SBX_CAUSE_SLEEP:
        say(verdict, "%s slept %s%s %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_LOCK:
        say(verdict, "%s waited %s%s for a lock %s%s%s%s%.60s", thread, spent, so_far, place,
            culprit[0] != '\0' ? "; held by " : "", culprit, verdict->culprit_function[0] != '\0' ? " in " : "",
            verdict->culprit_function);
        break;
    case SBX_CAUSE_DEADLOCK:
        say(verdict, "deadlock: %s waits for a lock %s, and the holder waits for it", thread, place);
        break;
    case SBX_CAUSE_IO:
        say(verdict, "%s waited %s%s for file I/O %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_NETWORK:
        say(verdict, "%s waited %s%s for the network %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_IPC:
        say(verdict, "%s waited %s%s for another process %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_WAIT:
    case SBX_CAUSE_GC:
        say(verdict, "%s waited %s%s %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_CPU_CONTENTION:
        say(verdict, "%s was ready for %s but did not get a CPU%s%s", thread, spent,
            culprit[0] != '\0' ? "; most was used by " : "", culprit);
        break;
    case SBX_CAUSE_UNKNOWN:
        say_unknown(judgement, thread, wall, verdict);
        break;
    }
}
