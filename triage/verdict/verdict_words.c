/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.c - a verdict in sentences for a person.
 *
 * Every sentence has the number that it rests on, and tells whether that was measured or concluded. */
#include "verdict_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "known_names.h"
#include "names.h"
#include "node_handlers.h"
#include "record_kinds.h"
#include "short_name.h"

enum {
    EVIDENCE_NAME = 80,                            /* bytes of a function's name in a sentence */
    CALLER_NAME = 60,                              /* the same, if a sentence has three names */
    BYTES_WORTH_TELLING = 1024,                    /* of calls that took so long; fewer bytes explain nothing */
    NS_WORTH_TELLING = 1000,                       /* shorter times are printed as 0 us */
    SPENT_BYTES = 2 * SBX_DURATION_TEXT_BYTES + 4, /* "one duration of another" */
};

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

/* The text of a thread of another process that held what a thread of this process waited for. */
static void other_thread_text(const struct sbx_stall *stall, uint32_t thread, char out[SBX_THREAD_TEXT_BYTES])
{
    uint32_t number = stall->threads[thread].process;
    const struct sbx_stall_process *process = &stall->processes[number - 1];
    const char *name = stall->threads[thread].name;
    const char *role = process->is_worker ? "a worker" : "the main one";
    if (!process->is_recorded) {
        if (stall->process_count == 1) {
            snprintf(out, SBX_THREAD_TEXT_BYTES, "another process (not recorded)");
        } else { /* numbers within this stall, because a payload has no pids */
            snprintf(out, SBX_THREAD_TEXT_BYTES, "other process no. %u (not recorded)", number);
        }
    } else if (strcmp(name, "main") == 0) {
        snprintf(out, SBX_THREAD_TEXT_BYTES, "main thread of process %u (%s)", number, role);
    } else if (strcmp(name, "other") == 0) {
        snprintf(out, SBX_THREAD_TEXT_BYTES, "thread %u of process %u (%s)", thread, number, role);
    } else {
        snprintf(out, SBX_THREAD_TEXT_BYTES, "thread %u (%.40s) of process %u (%s)", thread, name, number, role);
    }
}

void sbx_thread_text(const struct sbx_stall *stall, uint32_t thread, char out[SBX_THREAD_TEXT_BYTES])
{
    if (stall->threads[thread].process != 0) {
        other_thread_text(stall, thread, out);
    } else if (stall->threads[thread].is_main) {
        snprintf(out, SBX_THREAD_TEXT_BYTES, "main thread");
    } else if (strcmp(stall->threads[thread].name, "other") == 0) { /* not a public name: it is not sent */
        snprintf(out, SBX_THREAD_TEXT_BYTES, "thread %u", thread);
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

bool sbx_has_evidence_value(const struct sbx_verdict *verdict, const char *kind)
{
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        if (strcmp(verdict->evidence[i].kind, kind) == 0 && verdict->evidence[i].value != 0) {
            return true;
        }
    }
    return false;
}

const char *sbx_location_text(const struct sbx_location *location, char out[SBX_SHORT_NAME_BYTES])
{
    return location == NULL ? "an unknown function" : sbx_short_name(location->function, EVIDENCE_NAME, out);
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void tell_pauses(const struct sbx_judgement *judgement, struct sbx_verdict *verdict)
{
    char duration[SBX_DURATION_TEXT_BYTES], call[48], name[SBX_SHORT_NAME_BYTES];
    sbx_duration_text(judgement->function_ns, duration);
    sbx_call_name(judgement->wait.kind, judgement->wait.op, judgement->wait.amount, call, sizeof call);
    const char *how = judgement->is_exact ? (judgement->wait.open ? "measured, not ended yet" : "measured")
                                          : "concluded from samples of the blocked thread";
    sbx_evidence_add(verdict, "blocked", judgement->function_ns / 1e6,
                     "%s in %s, called by %s: %.0f %% of the interval, %zu call%s, %s", duration, call,
                     sbx_location_text(judgement->location, name),
                     percent(judgement->function_ns, judgement->split.wall_ns), judgement->calls,
                     judgement->calls == 1 ? "" : "s", how);
    if (judgement->bytes >= BYTES_WORTH_TELLING) {
        sbx_evidence_add(verdict, "bytes", (double)judgement->bytes, "%.1f KiB were moved by these calls",
                         (double)judgement->bytes / 1024);
    }
    if (judgement->unnamed_module != NULL && judgement->location != NULL) {
        sbx_evidence_add(verdict, "unnamed", 0,
                         "the functions nearest the leaf have no names in %.60s; %s is their nearest named caller",
                         judgement->unnamed_module, sbx_location_text(judgement->location, name));
    }
    if (judgement->wait.fd_class != SBX_FD_UNKNOWN) {
        const char *class_ = judgement->wait.fd_class == SBX_FD_REGULAR ? "a regular file"
                             : judgement->wait.fd_class == SBX_FD_OTHER
                                 ? "neither file, pipe nor socket: an event counter, a timer, an epoll set"
                                 : sbx_fd_class_name(judgement->wait.fd_class);
        bool has_article = strchr(class_, ' ') != NULL && strcmp(class_, "local socket") != 0;
        sbx_evidence_add(verdict, "descriptor", (double)judgement->wait.fd_class, "the descriptor was %s%s",
                         has_article ? "" : "a ", class_);
    }
}

static void tell_samples(const struct sbx_judgement *judgement, struct sbx_verdict *verdict)
{
    const struct sbx_blame_path *path = &judgement->path;
    char name[SBX_SHORT_NAME_BYTES], caller[SBX_SHORT_NAME_BYTES], outer[SBX_SHORT_NAME_BYTES];
    if (path->location == NULL) {
        return;
    }
    sbx_location_text(path->location, name);
    if (judgement->samples > 0) {
        sbx_evidence_add(verdict, "samples", (double)judgement->samples,
                         "%zu stacks; %.0f %% of their time goes through %s", judgement->samples, path->share * 100,
                         name);
    }
    if (path->callers[0] != NULL) {
        sbx_evidence_add(verdict, "callers", 0, "%s was called by %s%s%s",
                         sbx_short_name(path->location->function, CALLER_NAME, name),
                         sbx_short_name(path->callers[0]->function, CALLER_NAME, caller),
                         path->callers[1] != NULL ? ", that by " : "",
                         path->callers[1] != NULL ? sbx_short_name(path->callers[1]->function, CALLER_NAME, outer)
                                                  : "");
        sbx_location_text(path->location, name);
    }
    if (path->unnamed_share > 0.5) {
        sbx_evidence_add(verdict, "unnamed", path->unnamed_share,
                         "the functions nearest the leaf have no names in %.60s; %s is their nearest named caller",
                         path->unnamed_module, name);
    }
}

/* How long the thread was ready and did not run, and how that is known. */
static void tell_runnable(const struct sbx_time_split *split, struct sbx_verdict *verdict)
{
    char duration[SBX_DURATION_TEXT_BYTES], in_waits[SBX_DURATION_TEXT_BYTES];
    double ns = split->runnable_ns + split->delay_in_waits_ns;
    if (!split->cpu_measured || ns * 20 <= split->wall_ns) {
        return;
    }
    sbx_duration_text(ns, duration);
    if (!split->delay_known) {
        sbx_evidence_add(
            verdict, "runnable", ns / 1e6,
            "%s was neither CPU time nor in a known call: ready and not running (not counted by the kernel)", duration);
    } else if (split->delay_in_waits_ns > 0) {
        sbx_duration_text(split->delay_in_waits_ns, in_waits);
        sbx_evidence_add(verdict, "runnable", ns / 1e6,
                         "for %s it was ready and did not run, as the kernel counted; %s of that at the end of waits",
                         duration, in_waits);
    } else {
        sbx_evidence_add(verdict, "runnable", ns / 1e6, "for %s it was ready and did not run, as the kernel counted",
                         duration);
    }
}

/* The run-time whose interpreter lock was waited for; NULL: another lock, or none. Of the runtimes that tell it, only
 * CPython has such a lock. */
static const char *interpreter_lock_of(const struct sbx_judgement *judgement)
{
    return judgement->wait.op == SBX_OP_RUNTIME_LOCK ? "CPython"
           : judgement->location != NULL             ? sbx_interpreter_lock_of(judgement->location->function)
                                                     : NULL;
}

/* Runtimes of the program that could have named functions and did not: which runtime and version, and why. */
static bool tell_left_alone(const struct sbx_stall *stall, struct sbx_verdict *verdict)
{
    bool is_told = false;
    for (uint32_t i = 0; i < stall->runtime_count; i++) {
        uint32_t state = stall->runtimes[i].state;
        char version[32] = "";
        if (state != SBX_RUNTIME_LEFT_ALONE && state != SBX_RUNTIME_SWITCHED_OFF && state != SBX_RUNTIME_NO_PROVIDER) {
            continue;
        }
        if (stall->runtimes[i].minor != 0) {
            snprintf(version, sizeof version, " %u.%u", stall->runtimes[i].major, stall->runtimes[i].minor);
        } else if (stall->runtimes[i].major != 0) {
            snprintf(version, sizeof version, " %u", stall->runtimes[i].major);
        }
        sbx_evidence_add(
            verdict, "runtime", state, "functions of its %s%s are not shown: %s",
            sbx_runtime_name(stall->runtimes[i].kind), version,
            state == SBX_RUNTIME_SWITCHED_OFF ? "STALLBOX_RUNTIMES is off"
            : state == SBX_RUNTIME_NO_PROVIDER
                ? "its provider is not installed"
                : "this version is not known, or is not what it says; docs/RUNTIMES.md has those that are");
        is_told = true;
    }
    return is_told;
}

/* What the names of functions on the stack tell: a lock that all threads of a run-time share, a loop that asks for
 * another thread's lock, code whose functions only a provider could name. Each is told once. */
static void tell_known(const struct sbx_report *report, const struct sbx_judgement *judgement,
                       struct sbx_verdict *verdict)
{
    const struct sbx_stall *stall = report->stall;
    const char *language = NULL, *lock = NULL, *remark = NULL, *handler = NULL;
    bool is_named = false, is_direct_memory = false,
         is_lock = verdict->cause == SBX_CAUSE_LOCK || verdict->cause == SBX_CAUSE_DEADLOCK;
    if (verdict->cause == SBX_CAUSE_LOCK) {
        lock = interpreter_lock_of(judgement);
    }
    for (uint32_t id = judgement->stack; id != 0 && id <= stall->callstack_count; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        is_named = is_named || stall->frames[frame].kind == SBX_FRAME_LOGICAL;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            handler = handler != NULL ? handler : sbx_node_handler_of(location);
            is_direct_memory = is_direct_memory || sbx_is_direct_memory_wait(location);
            if (location->named) {
                remark = remark != NULL ? remark : sbx_remark_on_function(location->function);
                if (is_lock && !is_named && sbx_is_class_initialisation(location->function)) {
                    remark =
                        "it is a class of Java that the other thread initialises: its static fields are not ready yet";
                }
                language = language != NULL ? language : sbx_script_language_of(location->function);
            }
        }
    }
    if (lock != NULL) {
        sbx_evidence_add(verdict, "interpreter", 0,
                         "it is the one lock that all threads of %s share: they take turns, and only one runs", lock);
    }
    if (handler != NULL) {
        sbx_evidence_add(verdict, "handler", 0, "what the event loop ran is %s", handler);
    }
    if (remark != NULL) {
        sbx_evidence_add(verdict, "known", 0, "%s", remark);
    }
    if (is_direct_memory && verdict->cause == SBX_CAUSE_MEMORY && judgement->class_ == SBX_CLASS_OFF_CPU) {
        sbx_evidence_add(verdict, "direct_memory", judgement->function_ns / 1e6,
                         "no direct memory was left: java.nio.Bits.reserveMemory has the collector look for buffers "
                         "that nobody uses, and sleeps in "
                         "between; -XX:MaxDirectMemorySize is the limit, else the heap's");
    }
    if (!is_named && tell_left_alone(stall, verdict)) {
        return;
    }
    if (language != NULL && !is_named) {
        sbx_evidence_add(
            verdict, "script", 0,
            "it runs %s, whose own functions are not shown; docs/RUNTIMES.md lists the runtimes whose functions are",
            language);
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
    if (split->wall_ns <= 0) { /* a crash: no interval was judged */
    } else if (split->cpu_measured) {
        sbx_evidence_add(verdict, "cpu", split->on_cpu_ns / 1e6, "%s used %s%s CPU time in %s, by its own CPU clock",
                         thread, split->on_cpu_ns < NS_WORTH_TELLING ? "no" : duration,
                         split->on_cpu_ns < NS_WORTH_TELLING ? "" : " of", wall);
    } else if (split->on_cpu_ns >= NS_WORTH_TELLING) {
        sbx_evidence_add(verdict, "cpu", split->on_cpu_ns / 1e6, "%s ran for about %s of %s, judging by samples only",
                         thread, duration, wall);
    }
    if (judgement->class_ == SBX_CLASS_ON_CPU || judgement->class_ == SBX_CLASS_RUNNABLE) {
        tell_samples(judgement, verdict);
    }
    tell_known(report, judgement, verdict);
    tell_runnable(split, verdict);
    if (split->faulting_ns >= NS_WORTH_TELLING) {
        sbx_duration_text(split->faulting_ns, duration);
        sbx_evidence_add(verdict, "faulting", split->faulting_ns / 1e6,
                         "%s was neither CPU time, nor in a known call, nor ready: pages were read from a disk",
                         duration);
    }
}

/* ---- headline ---- */

/* Did the thread that is waited for wait itself? */
static bool is_chain(const struct sbx_verdict *verdict)
{
    size_t links = 0;
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        links += strcmp(verdict->evidence[i].kind, "holder") == 0;
    }
    return links > 1;
}

/* Writes the sentence. If names are too long for it, the cut is visible. */
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

enum { /* bytes of a function's name in a headline; the page and the JSON have the whole name */
    HEADLINE_NAME = 63,
    HEADLINE_CALLER = 40,
    LEAD_BYTES = 64 + SBX_DURATION_TEXT_BYTES
};

enum {
    LINE_BYTES = 80
};

/* " (shop.py:12)" of a function in a language whose programs are known by their files; else "". */
static const char *line_of(const struct sbx_location *location, char out[LINE_BYTES])
{
    const char *slash = location->file != NULL ? strrchr(location->file, '/') : NULL;
    out[0] = '\0';
    if (location->logical && location->file != NULL && location->file[0] != '\0' && location->line != 0) {
        snprintf(out, LINE_BYTES, " (%.60s:%u)", slash != NULL ? slash + 1 : location->file, location->line);
    }
    return out;
}

/* "in lua_pcall under luaCallFunction, evalGenericCommand" */
static void write_place(const struct sbx_judgement *judgement, char *out, size_t bytes)
{
    const struct sbx_blame_path *path = &judgement->path;
    char name[SBX_SHORT_NAME_BYTES], caller[SBX_SHORT_NAME_BYTES], outer[SBX_SHORT_NAME_BYTES], line[LINE_BYTES];
    if (judgement->location == NULL) {
        snprintf(out, bytes, "in an unknown function");
    } else if (path->location == judgement->location && path->callers[0] != NULL) {
        snprintf(out, bytes, "in %s%s under %s%s%s", sbx_short_name(path->location->function, HEADLINE_NAME, name),
                 line_of(judgement->location, line),
                 sbx_short_name(path->callers[0]->function, HEADLINE_CALLER, caller),
                 path->callers[1] != NULL ? ", " : "",
                 path->callers[1] != NULL ? sbx_short_name(path->callers[1]->function, HEADLINE_CALLER, outer) : "");
    } else {
        snprintf(out, bytes, "in %s%s", sbx_short_name(judgement->location->function, HEADLINE_NAME, name),
                 line_of(judgement->location, line));
    }
}

/* "; held by thread 3 (other) in compact_store (shop.py:12), which was in fsync" */
static void write_culprit(const struct sbx_verdict *verdict, const char *culprit, const char *part, char *out,
                          size_t bytes)
{
    char function[SBX_SHORT_NAME_BYTES], line[LINE_BYTES];
    out[0] = '\0';
    if (culprit[0] != '\0') {
        bool has_function = verdict->culprit_function[0] != '\0', has_doing = verdict->culprit_doing[0] != '\0';
        snprintf(out, bytes, "%s%s%s%s%s%s%s", is_chain(verdict) ? "; at the end of a chain of waits is " : part,
                 culprit, has_function ? " in " : "",
                 sbx_short_name(verdict->culprit_function, HEADLINE_NAME, function),
                 line_of(&verdict->culprit_at, line), has_doing ? ", which " : "", verdict->culprit_doing);
    }
}

/* Append how a stall ended whose end was not recorded, after everything else. */
static void say_end(const struct sbx_stall *stall, struct sbx_verdict *verdict)
{
    size_t used = strlen(verdict->headline), room = sizeof verdict->headline - used;
    if (stall->end.how == SBX_END_DIED && stall->end.signal != 0) {
        snprintf(verdict->headline + used, room, "; still hung when it was killed by %s",
                 sbx_signal_name(stall->end.signal));
    } else if (stall->end.how == SBX_END_DIED) {
        snprintf(verdict->headline + used, room, "; still hung when the process ended");
    } else if (stall->end.how == SBX_END_UNSEEN) {
        snprintf(verdict->headline + used, room, "; still hung when recording stopped");
    }
}

/* Append which function queued the work, if there is room. */
static void say_origin(struct sbx_verdict *verdict)
{
    const struct sbx_queued_by *by = &verdict->queued_by;
    char function[SBX_SHORT_NAME_BYTES], lay[SBX_DURATION_TEXT_BYTES], text[HEADLINE_NAME + 64];
    size_t used = strlen(verdict->headline), room = sizeof verdict->headline - used;
    if (!by->is_known || by->location.function == NULL || verdict->cause == SBX_CAUSE_UNKNOWN) {
        return;
    }
    sbx_duration_text(by->lay_ms * 1e6, lay);
    int bytes = snprintf(text, sizeof text, ", queued by %s %s before",
                         sbx_short_name(by->location.function, HEADLINE_NAME, function), lay);
    if (verdict->cause == SBX_CAUSE_HIGH_FREQUENCY && bytes > 0) { /* many tasks, each with a waiting time of its own */
        bytes = snprintf(text, sizeof text, ", queued by %s", function);
    }
    if (bytes > 0 && (size_t)bytes < sizeof text && (size_t)bytes < room) {
        memcpy(verdict->headline + used, text, (size_t)bytes + 1);
    }
}

/* "5.00 s". If it is known how long the stall lasted after it was reported: "5.00 s of 9.00 s". */
static void write_spent(const struct sbx_report *report, double spent_ns, char out[SPENT_BYTES])
{
    char spent[SBX_DURATION_TEXT_BYTES], lasted[SBX_DURATION_TEXT_BYTES];
    sbx_duration_text(spent_ns, spent);
    sbx_duration_text((double)sbx_stall_lasted_ns(report->stall), lasted);
    bool is_more = report->stall->end.how != SBX_END_NONE && strcmp(spent, lasted) != 0;
    snprintf(out, SPENT_BYTES, "%s%s%s", spent, is_more ? " of " : "", is_more ? lasted : "");
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

/* "was ready for 768 ms but did not get a CPU, and ", if that is longer than the time that the rest of the sentence
 * tells. */
static void write_lead(const struct sbx_judgement *judgement, double spent_ns, char out[LEAD_BYTES])
{
    char ready[SBX_DURATION_TEXT_BYTES];
    out[0] = '\0';
    if (judgement->class_ == SBX_CLASS_ON_CPU && judgement->split.runnable_ns > spent_ns) {
        sbx_duration_text(judgement->split.runnable_ns, ready);
        snprintf(out, LEAD_BYTES, "was ready for %s but did not get a CPU, and ", ready);
    }
}

void sbx_headline_write(const struct sbx_report *report, const struct sbx_judgement *judgement,
                        struct sbx_verdict *verdict)
{
    char thread[SBX_THREAD_TEXT_BYTES], wall[SPENT_BYTES], spent[SPENT_BYTES];
    char place[240], function[SBX_SHORT_NAME_BYTES], call[48], culprit[SBX_THREAD_TEXT_BYTES] = "", behind[240];
    char lead[LEAD_BYTES];
    sbx_thread_text(report->stall, report->stall->trigger.thread, thread);
    if (verdict->culprit_thread >= 0) {
        sbx_thread_text(report->stall, (uint32_t)verdict->culprit_thread, culprit);
    }
    write_spent(report, judgement->split.wall_ns, wall);
    write_spent(report, judgement->location == NULL ? judgement->cause_ns : judgement->function_ns, spent);
    sbx_call_name(judgement->wait.kind, judgement->wait.op, judgement->wait.amount, call, sizeof call);
    write_place(judgement, place, sizeof place);
    write_lead(judgement, judgement->location == NULL ? judgement->cause_ns : judgement->function_ns, lead);
    const char *so_far = judgement->wait.open && report->stall->end.how == SBX_END_NONE ? " so far" : "";
    const char *runtime = interpreter_lock_of(judgement);
    const char *language = judgement->location != NULL ? sbx_script_language_of(judgement->location->function) : NULL;
    switch (verdict->cause) {
    case SBX_CAUSE_CPU:
        say(verdict, "%s %scomputed for %s%s%s%s %s", thread, lead, spent, language != NULL ? " running " : "",
            language != NULL ? language : "", language != NULL ? "," : "", place);
        break;
    case SBX_CAUSE_HIGH_FREQUENCY:
        if (judgement->cheap_calls > 0 && sbx_has_evidence_value(verdict, "calls")) {
            say(verdict, "%s %scomputed for %s in many short calls, %s", thread, lead, spent, place);
            break;
        }
        say(verdict, "%s handled %llu messages in %s, mostly %s", thread, (unsigned long long)verdict->messages, wall,
            place);
        break;
    case SBX_CAUSE_MEMORY:
        if (sbx_has_evidence_value(verdict, "direct_memory")) {
            say(verdict, "%s waited %s%s for direct memory %s", thread, spent, so_far, place);
            break;
        }
        say(verdict, "%s %sspent %s on memory %s", thread, lead, spent, place);
        break;
    case SBX_CAUSE_SLEEP:
        say(verdict, "%s slept %s%s %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_LOCK:
        write_culprit(verdict, culprit, "; held by ", behind, sizeof behind);
        say(verdict, "%s waited %s%s for %s%s %s%s", thread, spent, so_far,
            runtime != NULL ? "the interpreter lock of " : "a lock", runtime != NULL ? runtime : "", place, behind);
        break;
    case SBX_CAUSE_DEADLOCK:
        if (verdict->cycle_count == 1) {
            say(verdict, "deadlock: %s waits for a lock %s that it holds itself", thread, place);
            break;
        }
        say(verdict, "deadlock of %u threads: %s waits for a lock %s that %s holds, which waits%s%s%s",
            verdict->cycle_count, thread, place, culprit[0] != '\0' ? culprit : "another",
            verdict->culprit_function[0] != '\0' ? " in " : "",
            sbx_short_name(verdict->culprit_function, HEADLINE_NAME, function),
            verdict->cycle_count > 2 ? " for a third, and so on back" : " for it");
        break;
    case SBX_CAUSE_IO:
        if (judgement->class_ == SBX_CLASS_ON_CPU) {
            say(verdict, "%s %sspent %s in short calls on files %s", thread, lead, spent, place);
            break;
        }
        if (sbx_is_file_lock(judgement->wait.op)) {
            write_culprit(verdict, culprit, "; held by ", behind, sizeof behind);
            say(verdict, "%s waited %s%s for a lock on a file %s (%s)%s", thread, spent, so_far, place, call, behind);
            break;
        }
        say(verdict, "%s waited %s%s for file I/O %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_NETWORK:
        if (judgement->class_ == SBX_CLASS_ON_CPU) {
            say(verdict, "%s %sspent %s in short calls on sockets %s", thread, lead, spent, place);
            break;
        }
        say(verdict, "%s waited %s%s for the network %s (%s)", thread, spent, so_far, place, call);
        break;
    case SBX_CAUSE_IPC:
        if (judgement->class_ == SBX_CLASS_ON_CPU) {
            say(verdict, "%s %sspent %s in short calls on pipes and processes %s", thread, lead, spent, place);
            break;
        }
        write_culprit(verdict, culprit, "; for ", behind, sizeof behind);
        say(verdict, "%s waited %s%s for %s %s (%s)%s", thread, spent, so_far,
            culprit[0] == '\0' && judgement->wait.fd_class == SBX_FD_PIPE && !sbx_stall_sees_processes(report->stall)
                ? "the other end of a pipe"
                : "another process",
            place, call, behind);
        break;
    case SBX_CAUSE_WAIT:
        write_culprit(verdict, culprit, "; for ", behind, sizeof behind);
        say(verdict, "%s waited %s%s %s (%s)%s", thread, spent, so_far, place, call, behind);
        break;
    case SBX_CAUSE_QUEUE: {
        char lay[SBX_DURATION_TEXT_BYTES];
        sbx_duration_text(verdict->lay_ns, lay);
        write_culprit(verdict, culprit, ", behind ", behind, sizeof behind);
        say(verdict, "%s waited %s%s %s for a task that lay in its queue for %s%s", thread, spent, so_far, place, lay,
            behind);
        break;
    }
    case SBX_CAUSE_GC:
        say(verdict, "%s was stopped for %s by the garbage collector%s%s %s", thread, spent,
            judgement->collector != NULL ? " of " : "", judgement->collector != NULL ? judgement->collector : "",
            place);
        break;
    case SBX_CAUSE_DEOPTIMIZATION:
        say(verdict, "%s %sspent %s on code that was deoptimized, %s", thread, lead, spent, place);
        break;
    case SBX_CAUSE_CPU_CONTENTION:
        say(verdict, "%s was ready for %s but did not get a CPU%s%s%s%s%s%s%s", thread, spent,
            judgement->location != NULL ? ", " : "", judgement->location != NULL ? place : "",
            sbx_has_evidence_value(verdict, "throttled") ? ": its control group had used up its quota" : "",
            culprit[0] != '\0' ? "; most was used by " : "", culprit,
            culprit[0] != '\0' && verdict->culprit_function[0] != '\0' ? " in " : "",
            culprit[0] != '\0' ? sbx_short_name(verdict->culprit_function, HEADLINE_NAME, function) : "");
        break;
    case SBX_CAUSE_CRASH: /* written by death.c */
        break;
    case SBX_CAUSE_UNKNOWN:
        say_unknown(judgement, thread, wall, verdict);
        break;
    }
    say_origin(verdict);
    say_end(report->stall, verdict);
}
