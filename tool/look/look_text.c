/* SPDX-License-Identifier: Apache-2.0 */
/* look_text.c - a look for people: problems first, then each thread with its stack; threads with equal stacks
 * together. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clean_text.h"
#include "look_print.h"
#include "proc_file.h"
#include "verdict_words.h"

enum {
    FRAMES_TOLD = 40, /* per stack; the middle of a deeper one is left out */
    FRAMES_ROOT = 10, /* of these, the outermost ones */
    STACKS_TOLD = 5,  /* per watched thread */
    NAME_COLUMN = 48,
    GROUP_TIDS = 6 /* numbers of threads listed for one stack */
};

const char *sbx_look_state_name(const struct sbx_look_thread *thread)
{
    if (!thread->position.is_asleep) {
        return "running or ready to run";
    }
    switch (thread->status.state) {
    case 'D':
        return "asleep, and takes no signal";
    case 'T':
        return "stopped";
    case 't':
        return "stopped by a tracer";
    default:
        return "asleep";
    }
}

const char *sbx_look_stack_remark(const struct sbx_thread_stack *stack)
{
    switch (stack->condition) {
    case SBX_STACK_RUNNING:
        return "it runs: its stack cannot be known from outside without stopping it (record it with `stallbox run`)";
    case SBX_STACK_MOVED:
        return "it ran while its stack was read: the stack may not be true";
    case SBX_STACK_UNREADABLE:
        return "its stack cannot be read";
    case SBX_STACK_READ:
        break;
    }
    switch (stack->end) {
    case SBX_WALK_COMPLETE:
        return NULL;
    case SBX_WALK_NO_MODULE:
        return "the stack goes on in code that belongs to no file, as a runtime makes it";
    case SBX_WALK_NO_ROW:
    case SBX_WALK_ROWS_PENDING:
        return "the stack goes on in code without unwind data";
    case SBX_WALK_UNSUPPORTED:
        return "the stack goes on, but no way out of this function was found";
    default:
        return "the stack goes on, but its memory does not make sense";
    }
}

/* ---- one stack ---- */

static void print_frame(struct sbx_process_view *view, const struct sbx_stack_frame *frame, size_t number, FILE *out)
{
    const struct sbx_frame_name *names;
    size_t count = sbx_frame_names_find(view->names, &view->modules, frame, &names);
    const struct sbx_process_module *module =
        frame->module < view->modules.count ? &view->modules.modules[frame->module] : NULL;
    char function[256], place[256];
    if (count == 0) {
        if (module != NULL) {
            sbx_clean_text(module->name, place, sizeof place);
            fprintf(out, "    %3zu  %s+%#" PRIx64 "\n", number, place, frame->pc - module->bias);
        } else {
            fprintf(out, "    %3zu  %#" PRIx64 "\n", number, frame->pc);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        sbx_clean_text(names[i].function != NULL ? names[i].function : "?", function, sizeof function);
        const char *where = names[i].file != NULL ? names[i].file : module->name;
        const char *slash = strrchr(where, '/');
        sbx_clean_text(slash != NULL ? slash + 1 : where, place, sizeof place);
        if (names[i].line > 0) {
            size_t length = strlen(place);
            snprintf(place + length, sizeof place - length, ":%" PRIu32, names[i].line);
        }
        fprintf(out, "    %3zu  %-*s  %s%s\n", number, NAME_COLUMN, function, place,
                names[i].is_inlined ? "  (inlined)" : "");
    }
}

static void print_stack(struct sbx_process_view *view, const struct sbx_thread_stack *stack, FILE *out)
{
    for (size_t i = 0; i < stack->count; i++) {
        if (stack->omitted > 0 && i == stack->omitted_at) {
            fprintf(out, "         ... %" PRIu32 " frames\n", stack->omitted);
        }
        if (stack->count > FRAMES_TOLD && i == FRAMES_TOLD - FRAMES_ROOT) {
            size_t left_out = stack->count - FRAMES_TOLD;
            fprintf(out, "         ... %zu frames; --json has all\n", left_out);
            i += left_out;
        }
        print_frame(view, &stack->frames[i], i, out);
    }
    const char *remark = sbx_look_stack_remark(stack);
    if (remark != NULL) {
        fprintf(out, "         (%s)\n", remark);
    } else if (stack->frame_pointer_was_searched) {
        fprintf(out, "         (a frame pointer was searched for: the callers are most likely, not certain)\n");
    }
}

/* ---- one thread ---- */

static void print_duration(FILE *out, int64_t ns)
{
    char text[SBX_DURATION_TEXT_BYTES];
    sbx_duration_text((double)ns, text);
    fputs(text, out);
}

static void print_process_name(pid_t pid, FILE *out)
{
    char name[SBX_PROC_NAME], clean[64];
    (void)sbx_proc_name(pid, name);
    sbx_clean_text(name, clean, sizeof clean);
    fprintf(out, "process %d%s%s%s", (int)pid, clean[0] != '\0' ? " (" : "", clean, clean[0] != '\0' ? ")" : "");
}

static void print_wait(const struct sbx_process_look *look, const struct sbx_look_thread *thread, FILE *out)
{
    char text[SBX_WAIT_TEXT];
    sbx_clean_text(thread->wait.text, text, sizeof text);
    if (thread->wait.call == NULL) {
        fprintf(out, " in system call %" PRId64, thread->position.call);
    } else if (thread->wait.call[0] != '\0') {
        fprintf(out, " in %s", thread->wait.call);
    }
    if (text[0] != '\0') {
        fprintf(out, ", %s", text);
    }
    if (thread->wait.holder_pid == 0) {
        return;
    }
    fputs(", held by ", out);
    if (look != NULL && thread->waits_for != SBX_LOOK_NOBODY) {
        char name[64];
        sbx_clean_text(look->threads[thread->waits_for].status.name, name, sizeof name);
        fprintf(out, "thread %d (%s)", (int)thread->wait.holder, name);
    } else if (thread->wait.holder != 0) {
        fprintf(out, "thread %d of ", (int)thread->wait.holder);
        print_process_name(thread->wait.holder_pid, out);
    } else {
        print_process_name(thread->wait.holder_pid, out);
    }
}

static void print_state(const struct sbx_process_look *look, const struct sbx_look_thread *thread, FILE *out)
{
    fputs(sbx_look_state_name(thread), out);
    if (thread->asleep_ns > 0) {
        fputs(" for at least ", out);
        print_duration(out, thread->asleep_ns);
    }
    if (thread->position.is_asleep) {
        print_wait(look, thread, out);
    }
    if (thread->status.cpu_ns >= 0) {
        fputs("; has used ", out);
        print_duration(out, thread->status.cpu_ns);
        fputs(" of CPU time", out);
    }
    fputc('\n', out);
}

/* Are both the same to a reader? Only threads that no thread waits for, and that wait for no thread, are printed
 * together. */
static bool may_be_told_with(const struct sbx_look_thread *first, const struct sbx_look_thread *other)
{
    return first->position.is_asleep && other->position.is_asleep && first->waits_for == SBX_LOOK_NOBODY &&
           other->waits_for == SBX_LOOK_NOBODY && first->wait.holder_pid == 0 && other->wait.holder_pid == 0 &&
           first->position.call == other->position.call && strcmp(first->status.name, other->status.name) == 0 &&
           first->stack->condition == other->stack->condition && first->stack->count == other->stack->count &&
           sbx_stack_hash(first->stack) == sbx_stack_hash(other->stack);
}

static void print_group(struct sbx_process_view *view, const struct sbx_process_look *look, size_t first,
                        bool *was_told, FILE *out)
{
    const struct sbx_look_thread *thread = &look->threads[first];
    char name[64];
    size_t others = 0;
    sbx_clean_text(thread->status.name, name, sizeof name);
    fprintf(out, "\nthread %d  %s", (int)thread->tid, name);
    for (size_t i = first + 1; first > 0 && i < look->thread_count; i++) { /* the main thread is printed alone */
        if (!was_told[i] && may_be_told_with(thread, &look->threads[i])) {
            was_told[i] = true;
            if (others++ < GROUP_TIDS) {
                fprintf(out, "%s %d", others == 1 ? ", and with the same stack" : ",", (int)look->threads[i].tid);
            }
        }
    }
    if (others > GROUP_TIDS) {
        fprintf(out, " and %zu more", others - GROUP_TIDS);
    }
    fputs("\n    ", out);
    print_state(look, thread, out);
    print_stack(view, thread->stack, out);
}

/* ---- the whole ---- */

static void print_circles(const struct sbx_process_look *look, FILE *out)
{
    for (size_t circle = 1; circle <= look->circle_count; circle++) {
        size_t first = 0;
        while (look->threads[first].circle != (int)circle) {
            first++;
        }
        fprintf(out, "deadlock: thread %d", (int)look->threads[first].tid);
        size_t at = first;
        do {
            at = (size_t)look->threads[at].waits_for;
            fprintf(out, " waits for thread %d", (int)look->threads[at].tid);
            fputs(at != first ? ", which" : "", out);
        } while (at != first);
        fputs(": none of them will go on\n", out);
    }
}

static void print_time(int64_t realtime_ns, FILE *out)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm local;
    char text[64];
    localtime_r(&seconds, &local);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    fputs(text, out);
}

void sbx_look_print_text(struct sbx_process_view *view, const struct sbx_process_look *look, FILE *out)
{
    char name[64];
    bool *was_told = calloc(look->thread_count, sizeof *was_told);
    sbx_clean_text(look->name, name, sizeof name);
    fprintf(out, "%s (process %d), %zu thread%s, ", name, (int)look->pid, look->thread_count,
            look->thread_count == 1 ? "" : "s");
    print_time(look->realtime_ns, out);
    fputs(". Nothing was stopped.\n", out);
    print_circles(look, out);
    if (look->unread_count > 0) {
        fprintf(out, "%zu thread%s ended while the others were read, or could not be read\n", look->unread_count,
                look->unread_count == 1 ? "" : "s");
    }
    for (size_t i = 0; was_told != NULL && i < look->thread_count; i++) {
        if (!was_told[i]) {
            print_group(view, look, i, was_told, out);
        }
    }
    free(was_told);
}

/* ---- many looks ---- */

static void print_share(FILE *out, const char *what, int64_t part_ns, int64_t of_ns)
{
    if (part_ns >= 0 && of_ns > 0) {
        double share = 100.0 * (double)part_ns / (double)of_ns;
        fprintf(out, "%s %.0f %%", what, share > 100 ? 100 : share);
    }
}

static void print_watched(struct sbx_process_view *view, const struct sbx_watched_thread *thread, FILE *out)
{
    char name[64];
    int64_t span_ns = thread->last_ns - thread->first_ns;
    sbx_clean_text(thread->name, name, sizeof name);
    fprintf(out, "\nthread %d  %s\n    seen asleep in %" PRIu32 " of %" PRIu32 " looks", (int)thread->tid, name,
            thread->asleep_looks, thread->looks);
    if (thread->cpu_ns[0] >= 0) {
        print_share(out, "; ran", thread->cpu_ns[1] - thread->cpu_ns[0], span_ns);
        print_share(out, ", was ready without a processor", thread->runnable_ns[1] - thread->runnable_ns[0], span_ns);
        fputs(" of the time", out);
    }
    fputc('\n', out);
    if (thread->asleep_looks < thread->looks) {
        fputs("    where it ran is not known: that cannot be read without stopping it\n", out);
    }
    for (size_t i = 0; i < thread->stack_count && i < STACKS_TOLD; i++) {
        const struct sbx_watched_stack *stack = &thread->stacks[i];
        fprintf(out, "  %3.0f %%  asleep", 100.0 * stack->looks / thread->looks);
        print_wait(NULL, &stack->last, out);
        fputc('\n', out);
        print_stack(view, stack->last.stack, out);
    }
    if (thread->stack_count > STACKS_TOLD) {
        fprintf(out, "  and %zu other stacks; --json has them\n", thread->stack_count - STACKS_TOLD);
    }
}

void sbx_look_watch_print_text(struct sbx_process_view *view, const struct sbx_look_watch *watch, FILE *out)
{
    char name[64];
    sbx_clean_text(watch->name, name, sizeof name);
    fprintf(out, "%s (process %d), watched for ", name, (int)watch->pid);
    print_duration(out, watch->duration_ns);
    fprintf(out, " from ");
    print_time(watch->begin_realtime_ns, out);
    fprintf(out, ": %" PRIu32 " looks, %.1f ms each. Nothing was stopped.\n", watch->looks,
            watch->looks > 0 ? (double)watch->looking_ns / 1e6 / watch->looks : 0.0);
    if (watch->circle_looks > 0) {
        fprintf(out, "deadlock: threads waited for one another in %" PRIu32 " looks; `stallbox look %d` shows which\n",
                watch->circle_looks, (int)watch->pid);
    }
    for (size_t i = 0; i < watch->thread_count; i++) {
        print_watched(view, &watch->threads[i], out);
    }
}
