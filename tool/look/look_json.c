/* SPDX-License-Identifier: Apache-2.0 */
/* look_json.c - a look for programs: everything that is known, with no stacks joined. docs/man/stallbox-look.1
 * describes it. */
#include <inttypes.h>

#include "json_writer.h"
#include "look_print.h"

/* -1 means "unknown". */
static void field_time(struct sbx_json *json, const char *key, int64_t ns)
{
    sbx_json_key(json, key);
    if (ns < 0) {
        sbx_json_null(json);
    } else {
        sbx_json_integer(json, ns);
    }
}

static void field_address(struct sbx_json *json, const char *key, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof text, "%#" PRIx64, address);
    sbx_json_put_text(json, key, text);
}

static void print_frame(struct sbx_process_view *view, struct sbx_json *json, const struct sbx_stack_frame *frame)
{
    const struct sbx_frame_name *names;
    size_t count = sbx_frame_names_find(view->names, &view->modules, frame, &names);
    const struct sbx_process_module *module =
        frame->module < view->modules.count ? &view->modules.modules[frame->module] : NULL;
    char build_id[2 * SBX_BUILD_ID_BYTES_MAX + 1];
    sbx_json_begin_object(json);
    field_address(json, "address", frame->pc);
    sbx_json_put_text(json, "module", module != NULL ? module->path : NULL);
    if (module != NULL) {
        sbx_build_id_format(module->build_id, module->build_id_bytes, build_id);
        field_address(json, "offset", frame->pc - module->bias);
        sbx_json_put_text(json, "build_id", module->build_id_bytes > 0 ? build_id : NULL);
    }
    sbx_json_key(json, "functions");
    sbx_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        sbx_json_begin_object(json);
        sbx_json_put_text(json, "function", names[i].function);
        sbx_json_put_text(json, "file", names[i].file);
        sbx_json_put_line(json, names[i].line);
        sbx_json_put_bool(json, "inlined", names[i].is_inlined);
        sbx_json_end_object(json);
    }
    sbx_json_end_array(json);
    sbx_json_end_object(json);
}

static void print_stack(struct sbx_process_view *view, struct sbx_json *json, const struct sbx_thread_stack *stack)
{
    sbx_json_key(json, "stack");
    sbx_json_begin_object(json);
    sbx_json_put_bool(json, "complete", stack->condition == SBX_STACK_READ && stack->end == SBX_WALK_COMPLETE);
    sbx_json_put_text(json, "remark", sbx_look_stack_remark(stack));
    sbx_json_put_bool(json, "frame_pointer_searched", stack->frame_pointer_was_searched);
    sbx_json_put_integer(json, "frames_omitted", stack->omitted);
    sbx_json_key(json, "frames");
    sbx_json_begin_array(json);
    for (size_t i = 0; i < stack->count; i++) {
        print_frame(view, json, &stack->frames[i]);
    }
    sbx_json_end_array(json);
    sbx_json_end_object(json);
}

static void print_wait(struct sbx_json *json, const struct sbx_look_thread *thread)
{
    sbx_json_key(json, "wait");
    if (!thread->position.is_asleep) {
        sbx_json_null(json);
        return;
    }
    sbx_json_begin_object(json);
    sbx_json_put_integer(json, "call_number", thread->position.call);
    sbx_json_put_text(json, "call", thread->wait.call);
    sbx_json_put_text(json, "for", thread->wait.text[0] != '\0' ? thread->wait.text : NULL);
    if (thread->wait.object != 0) {
        field_address(json, "object", thread->wait.object);
    }
    sbx_json_key(json, "holder");
    if (thread->wait.holder_pid != 0) {
        sbx_json_begin_object(json);
        sbx_json_put_integer(json, "process", thread->wait.holder_pid);
        sbx_json_key(json, "thread");
        if (thread->wait.holder != 0) {
            sbx_json_integer(json, thread->wait.holder);
        } else {
            sbx_json_null(json);
        }
        sbx_json_end_object(json);
    } else {
        sbx_json_null(json);
    }
    sbx_json_end_object(json);
}

static void print_thread(struct sbx_process_view *view, struct sbx_json *json, const struct sbx_look_thread *thread)
{
    const char state[2] = {thread->status.state, '\0'};
    sbx_json_begin_object(json);
    sbx_json_put_integer(json, "tid", thread->tid);
    sbx_json_put_text(json, "name", thread->status.name);
    sbx_json_put_text(json, "state", state);
    sbx_json_put_bool(json, "asleep", thread->position.is_asleep);
    field_time(json, "asleep_at_least_ns", thread->asleep_ns);
    field_time(json, "cpu_ns", thread->status.cpu_ns);
    field_time(json, "runnable_ns", thread->status.runnable_ns);
    sbx_json_put_integer(json, "processor", thread->status.processor);
    sbx_json_put_integer(json, "deadlock", thread->circle);
    print_wait(json, thread);
    print_stack(view, json, thread->stack);
    sbx_json_end_object(json);
}

void sbx_look_print_json(struct sbx_process_view *view, const struct sbx_process_look *look, FILE *out)
{
    struct sbx_json json;
    sbx_json_init(&json, out);
    sbx_json_begin_object(&json);
    sbx_json_put_integer(&json, "pid", look->pid);
    sbx_json_put_text(&json, "name", look->name);
    sbx_json_put_integer(&json, "realtime_ns", look->realtime_ns);
    sbx_json_put_integer(&json, "took_ns", look->took_ns);
    sbx_json_put_integer(&json, "deadlocks", (int64_t)look->circle_count);
    sbx_json_put_integer(&json, "unread_threads", (int64_t)look->unread_count);
    sbx_json_key(&json, "threads");
    sbx_json_begin_array(&json);
    for (size_t i = 0; i < look->thread_count; i++) {
        print_thread(view, &json, &look->threads[i]);
    }
    sbx_json_end_array(&json);
    sbx_json_end_object(&json);
    fputc('\n', out);
}

static void print_watched(struct sbx_process_view *view, struct sbx_json *json, const struct sbx_watched_thread *thread)
{
    bool has_times = thread->cpu_ns[0] >= 0;
    sbx_json_begin_object(json);
    sbx_json_put_integer(json, "tid", thread->tid);
    sbx_json_put_text(json, "name", thread->name);
    sbx_json_put_integer(json, "looks", thread->looks);
    sbx_json_put_integer(json, "asleep_looks", thread->asleep_looks);
    sbx_json_put_integer(json, "span_ns", thread->last_ns - thread->first_ns);
    field_time(json, "ran_ns", has_times ? thread->cpu_ns[1] - thread->cpu_ns[0] : -1);
    field_time(json, "runnable_ns", has_times ? thread->runnable_ns[1] - thread->runnable_ns[0] : -1);
    sbx_json_put_integer(json, "looks_with_other_stacks", thread->other_looks);
    sbx_json_key(json, "stacks");
    sbx_json_begin_array(json);
    for (size_t i = 0; i < thread->stack_count; i++) {
        sbx_json_begin_object(json);
        sbx_json_put_integer(json, "looks", thread->stacks[i].looks);
        print_wait(json, &thread->stacks[i].last);
        print_stack(view, json, thread->stacks[i].last.stack);
        sbx_json_end_object(json);
    }
    sbx_json_end_array(json);
    sbx_json_end_object(json);
}

void sbx_look_watch_print_json(struct sbx_process_view *view, const struct sbx_look_watch *watch, FILE *out)
{
    struct sbx_json json;
    sbx_json_init(&json, out);
    sbx_json_begin_object(&json);
    sbx_json_put_integer(&json, "pid", watch->pid);
    sbx_json_put_text(&json, "name", watch->name);
    sbx_json_put_integer(&json, "realtime_ns", watch->begin_realtime_ns);
    sbx_json_put_integer(&json, "duration_ns", watch->duration_ns);
    sbx_json_put_integer(&json, "looks", watch->looks);
    sbx_json_put_integer(&json, "looks_with_deadlock", watch->circle_looks);
    sbx_json_put_integer(&json, "looking_ns", watch->looking_ns);
    sbx_json_key(&json, "threads");
    sbx_json_begin_array(&json);
    for (size_t i = 0; i < watch->thread_count; i++) {
        print_watched(view, &json, &watch->threads[i]);
    }
    sbx_json_end_array(&json);
    sbx_json_end_object(&json);
    fputc('\n', out);
}
