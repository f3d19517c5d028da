/* SPDX-License-Identifier: Apache-2.0 */
/* stall_tables.c - the columns of a payload, checked and turned into the rows of a stall.
 *
 * After these functions, every index is in range, every parent has a smaller id than its child (so no walk can be a
 * circle), and every duration fits. No later code has to check again. Deltas are added up without signed overflow. */
#include "stall_tables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "name_tables.h"

/* Times beyond this are invalid (142 years). Below it, microseconds times 1000 fit an int64_t. */
#define TIME_US_MAX (INT64_C(1) << 52)
#define OFFSET_MAX  (UINT64_C(1) << 48)

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return -EPROTO;
}

/* The columns of one table must have equal lengths. The caller lists the message's n_ fields, which are the lengths. */
static bool are_equal(const size_t *lengths, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (lengths[i] != lengths[0]) {
            return false;
        }
    }
    return true;
}

/* calloc() that returns a valid pointer for zero rows, too. */
static void *rows_of(size_t count, size_t row_bytes)
{
    return calloc(count == 0 ? 1 : count, row_bytes);
}

int sbx_stall_take_modules(struct sbx_stall *stall, const Stallbox__V1__Modules *columns, char *why, size_t why_bytes)
{
    const size_t lengths[] = {columns->n_kind, columns->n_build_id, columns->n_name};
    if (!are_equal(lengths, 3)) {
        return refuse(why, why_bytes, "the columns of Modules differ in length");
    }
    stall->modules = rows_of(columns->n_kind, sizeof *stall->modules);
    if (stall->modules == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < columns->n_kind; i++) {
        struct sbx_stall_module *module = &stall->modules[i];
        const ProtobufCBinaryData *id = &columns->build_id[i];
        module->kind = columns->kind[i];
        if (module->kind < SBX_MODULE_KIND_APP || module->kind > SBX_MODULE_KIND_RUNTIME) {
            return refuse(why, why_bytes, "module %zu has kind %u", i, module->kind);
        }
        if (id->len != 0 && (id->len < 8 || id->len > sizeof module->build_id)) {
            return refuse(why, why_bytes, "module %zu has a build-id of %zu bytes", i, id->len);
        }
        if (module->kind == SBX_MODULE_KIND_OTHER && (id->len != 0 || columns->name[i] != 0)) {
            return refuse(why, why_bytes, "module %zu is hidden but has an identity", i);
        }
        if (module->kind == SBX_MODULE_KIND_RUNTIME && (id->len != 8 || columns->name[i] != 0)) {
            return refuse(why, why_bytes, "module %zu is a runtime without its number", i);
        }
        for (size_t j = 0; j < id->len; j++) {
            module->build_id[j] = id->data[j];
        }
        module->build_id_bytes = (uint32_t)id->len;
        module->name = sbx_system_module_name(columns->name[i]);
        stall->module_count++;
    }
    return 0;
}

/* Set the fields of a runtime's frame from its offset. */
static int take_logical(struct sbx_stall_frame *frame, const Stallbox__V1__Functions *functions)
{
    enum {
        LINE_BITS = 20
    };
    uint64_t number = frame->offset >> LINE_BITS;
    if (number > functions->n_function_id || (number != 0 && functions->function_id[number - 1].len != 8)) {
        return -EPROTO;
    }
    frame->kind = SBX_FRAME_LOGICAL;
    frame->line = (uint32_t)frame->offset & ((UINT32_C(1) << LINE_BITS) - 1);
    frame->offset = 0;
    frame->exact = false;
    for (unsigned i = 0; i < 8 && number != 0; i++) {
        frame->offset = frame->offset << 8 | functions->function_id[number - 1].data[i];
    }
    return 0;
}

/* The begin of the function of `frame`. `before`: the row before it, NULL for the first. */
static int take_function(uint32_t told, const struct sbx_stall_frame *before, struct sbx_stall_frame *frame)
{
    frame->function = 0;
    if (told == SBX_FUNCTION_UNKNOWN) {
        return 0;
    }
    if (told != SBX_FUNCTION_SAME) {
        frame->function = frame->offset - (told - SBX_FUNCTION_BEGINS);
        return told - SBX_FUNCTION_BEGINS <= frame->offset ? 0 : -EPROTO;
    }
    bool is_sound = before != NULL && before->kind == SBX_FRAME_CODE && before->module == frame->module &&
                    before->function != 0 && before->function <= frame->offset;
    frame->function = is_sound ? before->function : 0;
    return is_sound ? 0 : -EPROTO;
}

int sbx_stall_take_frames(struct sbx_stall *stall, const Stallbox__V1__Frames *columns,
                          const Stallbox__V1__Functions *functions, char *why, size_t why_bytes)
{
    const size_t lengths[] = {columns->n_module, columns->n_offset, columns->n_exact};
    if (!are_equal(lengths, 3)) {
        return refuse(why, why_bytes, "the columns of Frames differ in length");
    }
    if (columns->n_function != 0 && columns->n_function != columns->n_module) {
        return refuse(why, why_bytes, "the columns of Frames differ in length");
    }
    stall->frames = rows_of(columns->n_module, sizeof *stall->frames);
    if (stall->frames == NULL) {
        return -ENOMEM;
    }
    uint64_t offset = 0;
    for (size_t i = 0; i < columns->n_module; i++) {
        struct sbx_stall_frame *frame = &stall->frames[i];
        uint32_t module = columns->module[i];
        offset += (uint64_t)columns->offset[i];
        if (module > stall->module_count && module - stall->module_count > 2) {
            return refuse(why, why_bytes, "frame %zu names module %u of %u", i, module, stall->module_count);
        }
        if (offset >= OFFSET_MAX) {
            return refuse(why, why_bytes, "frame %zu has offset 0x%llx", i, (unsigned long long)offset);
        }
        frame->kind = module < stall->module_count        ? SBX_FRAME_CODE
                      : module == stall->module_count     ? SBX_FRAME_END
                      : module == stall->module_count + 1 ? SBX_FRAME_GENERATED
                                                          : SBX_FRAME_CUT;
        frame->module = frame->kind == SBX_FRAME_CODE ? module : 0;
        frame->offset = offset;
        frame->exact = columns->exact[i] != 0;
        if (frame->kind == SBX_FRAME_CODE && stall->modules[module].kind == SBX_MODULE_KIND_RUNTIME &&
            take_logical(frame, functions) != 0) {
            return refuse(why, why_bytes, "frame %zu names a function that is not there", i);
        }
        if (columns->n_function != 0 && frame->kind == SBX_FRAME_CODE &&
            take_function(columns->function[i], i != 0 ? frame - 1 : NULL, frame) != 0) {
            return refuse(why, why_bytes, "frame %zu lies in no function of its module", i);
        }
        stall->frame_count++;
    }
    return 0;
}

int sbx_stall_take_callstacks(struct sbx_stall *stall, const Stallbox__V1__Callstacks *columns, char *why,
                              size_t why_bytes)
{
    if (columns->n_frame != columns->n_parent) {
        return refuse(why, why_bytes, "the columns of Callstacks differ in length");
    }
    size_t count = columns->n_frame;
    uint16_t *depths = rows_of(count + 1, sizeof *depths);
    stall->callstacks = rows_of(count + 1, sizeof *stall->callstacks);
    int result = 0;
    if (depths == NULL || stall->callstacks == NULL) {
        result = -ENOMEM;
        goto free_depths;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t id = (uint32_t)i + 1, distance = columns->parent[i];
        if (columns->frame[i] >= stall->frame_count) {
            result =
                refuse(why, why_bytes, "callstack %u names frame %u of %u", id, columns->frame[i], stall->frame_count);
            goto free_depths;
        }
        if (distance >= id) {
            result = refuse(why, why_bytes, "callstack %u has a parent %u before it", id, distance);
            goto free_depths;
        }
        uint32_t parent = distance == 0 ? 0 : id - distance;
        if (parent != 0 && stall->frames[columns->frame[i]].kind == SBX_FRAME_END) {
            result = refuse(why, why_bytes, "callstack %u goes on behind an end marker", id);
            goto free_depths;
        }
        depths[id] = (uint16_t)(depths[parent] + 1);
        if (depths[id] > SBX_STALL_DEPTH_MAX) {
            result = refuse(why, why_bytes, "callstack %u has more than %d frames", id, SBX_STALL_DEPTH_MAX);
            goto free_depths;
        }
        stall->callstacks[id] = (struct sbx_stall_callstack){columns->frame[i], parent};
        stall->callstack_count = id;
    }

free_depths:
    free(depths);
    return result;
}

/* A callstack column's value: 0 none, 1..count, count + 1 lost. */
static bool read_stack(const struct sbx_stall *stall, uint32_t value, uint32_t *stack_out, bool *lost_out)
{
    *lost_out = value == stall->callstack_count + 1;
    *stack_out = *lost_out ? 0 : value;
    return value <= stall->callstack_count + 1;
}

/* From "ordinal + 1, 0 unknown" to "ordinal, -1 unknown". */
static bool read_peer(const struct sbx_stall *stall, uint32_t value, int32_t *peer_out)
{
    *peer_out = (int32_t)value - 1;
    return value <= stall->thread_count;
}

int sbx_stall_take_processes(struct sbx_stall *stall, const Stallbox__V1__Processes *columns, char *why,
                             size_t why_bytes)
{
    if (columns->n_role != columns->n_session_id) {
        return refuse(why, why_bytes, "the columns of Processes differ in length");
    }
    stall->processes = rows_of(columns->n_role, sizeof *stall->processes);
    if (stall->processes == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < columns->n_role; i++) {
        struct sbx_stall_process *process = &stall->processes[i];
        const ProtobufCBinaryData *id = &columns->session_id[i];
        process->is_recorded = columns->role[i] != SBX_ROLE_NONE;
        process->is_worker = columns->role[i] == SBX_ROLE_WORKER;
        if (id->len != (process->is_recorded ? sizeof process->session_id : 0)) {
            return refuse(why, why_bytes, "process %zu has a session id of %zu bytes", i, id->len);
        }
        for (size_t j = 0; j < id->len; j++) {
            process->session_id[j] = id->data[j];
        }
        stall->process_count++;
    }
    return 0;
}

int sbx_stall_take_threads(struct sbx_stall *stall, const Stallbox__V1__Threads *columns, char *why, size_t why_bytes)
{
    const size_t lengths[] = {columns->n_name,    columns->n_flags,     columns->n_call_kind,   columns->n_call_op,
                              columns->n_call_us, columns->n_call_peer, columns->n_call_object, columns->n_last_stack};
    if (!are_equal(lengths, 8) || (columns->n_process != 0 && columns->n_process != columns->n_name)) {
        return refuse(why, why_bytes, "the columns of Threads differ in length");
    }
    stall->threads = rows_of(columns->n_name, sizeof *stall->threads);
    if (stall->threads == NULL) {
        return -ENOMEM;
    }
    stall->thread_count = (uint32_t)columns->n_name;
    for (size_t i = 0; i < columns->n_name; i++) {
        struct sbx_stall_thread *thread = &stall->threads[i];
        bool lost;
        thread->name = sbx_thread_name_pattern(columns->name[i]);
        thread->is_main = (columns->flags[i] & SBX_THREAD_FLAG_MAIN) != 0;
        thread->runs_loop = (columns->flags[i] & SBX_THREAD_FLAG_LOOP) != 0;
        thread->ended = (columns->flags[i] & SBX_THREAD_FLAG_ENDED) != 0;
        thread->process = columns->n_process != 0 ? columns->process[i] : 0;
        if (thread->process > stall->process_count) {
            return refuse(why, why_bytes, "thread %zu is of process %u of %u", i, thread->process,
                          stall->process_count);
        }
        thread->call_kind = columns->call_kind[i];
        thread->call_op = columns->call_op[i];
        thread->call_object = columns->call_object[i];
        if (columns->call_us[i] > (uint64_t)TIME_US_MAX) {
            return refuse(why, why_bytes, "thread %zu is in a call of %llu us", i,
                          (unsigned long long)columns->call_us[i]);
        }
        thread->call_ns = (int64_t)columns->call_us[i] * 1000;
        if (!read_peer(stall, columns->call_peer[i], &thread->call_peer)) {
            return refuse(why, why_bytes, "thread %zu waits for thread %u of %u", i, columns->call_peer[i],
                          stall->thread_count);
        }
        if (!read_stack(stall, columns->last_stack[i], &thread->last_stack, &lost)) {
            return refuse(why, why_bytes, "thread %zu has callstack %u of %u", i, columns->last_stack[i],
                          stall->callstack_count);
        }
    }
    return 0;
}

/* Running sums of the delta columns; they restart at each thread. */
struct sums {
    uint64_t end_us, cpu_us, alloc_count, alloc_bytes, message;
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
};

/* Whether a sum, which is kept unsigned, is within +-TIME_US_MAX as a signed number. */
static bool is_time(uint64_t sum)
{
    return sum + (uint64_t)TIME_US_MAX <= 2 * (uint64_t)TIME_US_MAX;
}

/* The usage values of row `row`: the next ones in their lists. False if none are left. */
static bool take_usage(const Stallbox__V1__Records *columns, size_t *reading, struct sums *sums,
                       struct sbx_stall_record *record)
{
    size_t at = (*reading)++;
    if (at >= columns->n_minor_faults) {
        return false;
    }
    record->minor_faults = sums->minor_faults += columns->minor_faults[at];
    record->major_faults = sums->major_faults += columns->major_faults[at];
    record->voluntary_switches = sums->voluntary_switches += columns->voluntary_switches[at];
    record->involuntary_switches = sums->involuntary_switches += columns->involuntary_switches[at];
    return true;
}

static int take_record(struct sbx_stall *stall, const Stallbox__V1__Records *columns, size_t row, bool first,
                       struct sums *sums, size_t *reading, char *why, size_t why_bytes)
{
    struct sbx_stall_record *record = &stall->records[row];
    if (columns->kind[row] > UINT8_MAX || columns->op[row] > UINT8_MAX || columns->flags[row] > UINT16_MAX) {
        return refuse(why, why_bytes, "record %zu has kind %u, op %u, flags %u", row, columns->kind[row],
                      columns->op[row], columns->flags[row]);
    }
    record->kind = (uint8_t)columns->kind[row];
    record->op = (uint8_t)columns->op[row];
    record->flags = (uint8_t)columns->flags[row];
    record->fd_class = (uint8_t)(columns->flags[row] >> 8);

    if (!first && columns->end_us[row] < 0) {
        return refuse(why, why_bytes, "record %zu ends before the one before it", row);
    }
    sums->end_us += (uint64_t)columns->end_us[row];
    uint64_t duration_us = columns->duration_us[row];
    if (!is_time(sums->end_us) || duration_us > (uint64_t)TIME_US_MAX || !is_time(sums->end_us - duration_us)) {
        return refuse(why, why_bytes, "record %zu has an impossible time", row);
    }
    record->end_ns = (int64_t)sums->end_us * 1000;
    record->begin_ns = record->end_ns - (int64_t)duration_us * 1000;

    record->cpu_ns = -1;
    if (columns->has_cpu[row]) {
        sums->cpu_us += (uint64_t)columns->cpu_us[row];
        if (sums->cpu_us > (uint64_t)TIME_US_MAX) {
            return refuse(why, why_bytes, "record %zu has an impossible CPU time", row);
        }
        record->cpu_ns = (int64_t)sums->cpu_us * 1000;
    }
    sums->alloc_count += (uint64_t)columns->alloc_count[row];
    sums->alloc_bytes += (uint64_t)columns->alloc_bytes[row];
    sums->message += (uint64_t)columns->message[row];
    if (sums->alloc_count > INT64_MAX || sums->alloc_bytes > INT64_MAX || sums->message > INT64_MAX) {
        return refuse(why, why_bytes, "record %zu has a negative counter", row);
    }
    record->alloc_count = (int64_t)sums->alloc_count;
    record->alloc_bytes = (int64_t)sums->alloc_bytes;
    record->message = sums->message;
    if ((record->flags & SBX_FLAG_USAGE) != 0 && !take_usage(columns, reading, sums, record)) {
        return refuse(why, why_bytes, "record %zu has no faults and switches", row);
    }
    record->repeats = columns->n_repeats != 0 ? columns->repeats[row] : 0;
    record->wait = columns->n_wait != 0 ? columns->wait[row] : 0;
    record->object = columns->object[row];
    record->amount = columns->amount[row];
    if (!read_stack(stall, columns->stack[row], &record->stack, &record->stack_lost)) {
        return refuse(why, why_bytes, "record %zu has callstack %u of %u", row, columns->stack[row],
                      stall->callstack_count);
    }
    if (!read_peer(stall, columns->peer[row], &record->peer)) {
        return refuse(why, why_bytes, "record %zu names thread %u of %u", row, columns->peer[row], stall->thread_count);
    }
    return 0;
}

static bool is_of_task(const struct sbx_stall_record *record)
{
    return record->kind == SBX_RECORD_HOP || record->kind == SBX_RECORD_TASK;
}

/* Sort the records of one task next to each other: HOP, then TASK. */
static int by_hop(const void *left, const void *right)
{
    const struct sbx_stall_record *a = left, *b = right;
    return a->wait != b->wait ? (a->wait < b->wait ? -1 : 1) : (a->kind > b->kind) - (a->kind < b->kind);
}

static int by_runner(const void *left, const void *right)
{
    const struct sbx_stall_task *a = left, *b = right;
    if (a->runner != b->runner) {
        return a->runner < b->runner ? -1 : 1;
    }
    return (a->begun_ns > b->begun_ns) - (a->begun_ns < b->begun_ns);
}

static struct sbx_stall_task task_of(const struct sbx_stall_record *hop, const struct sbx_stall_record *ran)
{
    struct sbx_stall_task task = {.queued_ns = hop->begin_ns,
                                  .ended_ns = (hop->flags & SBX_FLAG_CANCELLED) != 0 ? hop->end_ns : 0,
                                  .runner = -1,
                                  .from = hop->peer,
                                  .stack = hop->stack,
                                  .queue = hop->object,
                                  .from_message = hop->message,
                                  .before = hop->amount,
                                  .op = hop->op,
                                  .lies = (hop->flags & SBX_FLAG_OPEN) != 0,
                                  .cancelled = (hop->flags & SBX_FLAG_CANCELLED) != 0,
                                  .merged = (hop->flags & SBX_FLAG_MERGED) != 0};
    if (ran != NULL) {
        task.lies = task.cancelled = false;
        task.begun_ns = ran->begin_ns;
        task.runs = (ran->flags & SBX_FLAG_OPEN) != 0;
        task.ended_ns = task.runs ? 0 : ran->end_ns;
        task.runner = (int32_t)ran->thread;
        task.stack = ran->stack;
        task.message = ran->message;
    }
    return task;
}

/* Move the records of tasks from the records into `parts`, and join them. If one half of a task is missing, the other
 * is left out, except for a task that has not begun. */
static void join_tasks(struct sbx_stall *stall, struct sbx_stall_record *parts, size_t count)
{
    qsort(parts, count, sizeof *parts, by_hop);
    for (size_t i = 0; i < count; i++) {
        const struct sbx_stall_record *hop = &parts[i];
        bool has_run = hop->kind == SBX_RECORD_HOP && i + 1 < count && parts[i + 1].kind == SBX_RECORD_TASK &&
                       parts[i + 1].wait == hop->wait && hop->wait != 0;
        bool is_alone = hop->kind == SBX_RECORD_HOP && (hop->flags & (SBX_FLAG_OPEN | SBX_FLAG_CANCELLED)) != 0;
        if (has_run || is_alone) {
            stall->tasks[stall->task_count++] = task_of(hop, has_run ? &parts[i + 1] : NULL);
        }
        i += has_run;
    }
    qsort(stall->tasks, stall->task_count, sizeof *stall->tasks, by_runner);
}

/* Records of kind KERNEL tell about the machine, and those of tasks and awaiting functions mostly about other threads,
 * not about what the thread did. They get tables of their own, so that no walk over a thread's records finds them. */
static int part_counts(struct sbx_stall *stall)
{
    size_t kernel = 0, parts = 0, part = 0, awaits = 0;
    for (size_t i = 0; i < stall->record_count; i++) {
        kernel += stall->records[i].kind == SBX_RECORD_KERNEL;
        parts += is_of_task(&stall->records[i]);
        awaits += stall->records[i].kind == SBX_RECORD_AWAITED;
    }
    stall->counts = rows_of(kernel, sizeof *stall->counts);
    stall->tasks = rows_of(parts, sizeof *stall->tasks);
    stall->awaits = rows_of(awaits, sizeof *stall->awaits);
    struct sbx_stall_record *of_tasks = rows_of(parts, sizeof *of_tasks);
    if (stall->counts == NULL || stall->tasks == NULL || stall->awaits == NULL || of_tasks == NULL) {
        free(of_tasks);
        return -ENOMEM;
    }
    size_t kept = 0;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        size_t begin = stall->threads[thread].record_begin, end = begin + stall->threads[thread].record_count;
        stall->threads[thread].record_begin = kept;
        stall->threads[thread].count_begin = stall->count_count;
        for (size_t i = begin; i < end; i++) {
            const struct sbx_stall_record *record = &stall->records[i];
            if (record->kind == SBX_RECORD_KERNEL) {
                stall->counts[stall->count_count++] =
                    (struct sbx_stall_count){record->end_ns, record->amount, thread, record->op};
            } else if (record->kind == SBX_RECORD_AWAITED) {
                stall->awaits[stall->await_count++] =
                    (struct sbx_stall_await){record->begin_ns, record->end_ns, record->message, thread, record->stack};
            } else if (is_of_task(record)) {
                of_tasks[part++] = *record;
            } else {
                stall->records[kept++] = *record;
            }
        }
        stall->threads[thread].record_count = kept - stall->threads[thread].record_begin;
        stall->threads[thread].count_count = stall->count_count - stall->threads[thread].count_begin;
    }
    stall->record_count = kept;
    join_tasks(stall, of_tasks, part);
    free(of_tasks);
    return 0;
}

int sbx_stall_take_records(struct sbx_stall *stall, const Stallbox__V1__Records *columns, char *why, size_t why_bytes)
{
    const size_t lengths[] = {columns->n_kind,        columns->n_op,     columns->n_flags,   columns->n_end_us,
                              columns->n_duration_us, columns->n_cpu_us, columns->n_has_cpu, columns->n_alloc_count,
                              columns->n_alloc_bytes, columns->n_stack,  columns->n_message, columns->n_object,
                              columns->n_amount,      columns->n_peer};
    if (!are_equal(lengths, sizeof lengths / sizeof lengths[0])) {
        return refuse(why, why_bytes, "the columns of Records differ in length");
    }
    /* Columns that older agents do not send. */
    const size_t usage[] = {columns->n_minor_faults, columns->n_major_faults, columns->n_voluntary_switches,
                            columns->n_involuntary_switches};
    if ((columns->n_repeats != 0 && columns->n_repeats != columns->n_kind) ||
        (columns->n_wait != 0 && columns->n_wait != columns->n_kind) ||
        !are_equal(usage, sizeof usage / sizeof usage[0])) {
        return refuse(why, why_bytes, "the columns of Records differ in length");
    }
    if (columns->n_thread_rows != stall->thread_count) {
        return refuse(why, why_bytes, "Records has rows of %zu threads, there are %u", columns->n_thread_rows,
                      stall->thread_count);
    }
    stall->records = rows_of(columns->n_kind, sizeof *stall->records);
    if (stall->records == NULL) {
        return -ENOMEM;
    }
    size_t row = 0, reading = 0;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        size_t rows = columns->thread_rows[thread];
        if (rows > columns->n_kind - row) {
            return refuse(why, why_bytes, "thread %u has %zu records, %zu are left", thread, rows,
                          columns->n_kind - row);
        }
        stall->threads[thread].record_begin = row;
        stall->threads[thread].record_count = rows;
        struct sums sums = {0};
        for (size_t i = 0; i < rows; i++, row++) {
            stall->records[row].thread = thread;
            int result = take_record(stall, columns, row, i == 0, &sums, &reading, why, why_bytes);
            if (result != 0) {
                return result;
            }
        }
    }
    if (row != columns->n_kind) {
        return refuse(why, why_bytes, "%zu records belong to no thread", columns->n_kind - row);
    }
    if (reading != columns->n_minor_faults) {
        return refuse(why, why_bytes, "%zu readings of faults belong to no record", columns->n_minor_faults - reading);
    }
    stall->record_count = row;
    return part_counts(stall);
}

int sbx_stall_take_queues(struct sbx_stall *stall, const Stallbox__V1__Queues *columns, char *why, size_t why_bytes)
{
    const size_t lengths[] = {columns->n_object, columns->n_op,    columns->n_pending,
                              columns->n_queued, columns->n_begun, columns->n_window_ms};
    if (!are_equal(lengths, sizeof lengths / sizeof lengths[0])) {
        return refuse(why, why_bytes, "the columns of Queues differ in length");
    }
    stall->queues = rows_of(columns->n_op, sizeof *stall->queues);
    if (stall->queues == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < columns->n_op; i++) {
        if (columns->op[i] > UINT8_MAX) {
            return refuse(why, why_bytes, "queue %zu has op %u", i, columns->op[i]);
        }
        stall->queues[stall->queue_count++] = (struct sbx_stall_queue){.pending = columns->pending[i],
                                                                       .queued = columns->queued[i],
                                                                       .begun = columns->begun[i],
                                                                       .window_ms = columns->window_ms[i],
                                                                       .object = columns->object[i],
                                                                       .op = (uint8_t)columns->op[i]};
    }
    return 0;
}

int sbx_stall_take_watches(struct sbx_stall *stall, const Stallbox__V1__Watches *columns, char *why, size_t why_bytes)
{
    const size_t lengths[] = {columns->n_kind, columns->n_state,      columns->n_thread,
                              columns->n_what, columns->n_timeout_ms, columns->n_age_us};
    if (!are_equal(lengths, sizeof lengths / sizeof lengths[0])) {
        return refuse(why, why_bytes, "the columns of Watches differ in length");
    }
    stall->watches = rows_of(columns->n_kind, sizeof *stall->watches);
    if (stall->watches == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < columns->n_kind; i++) {
        if (columns->thread[i] > stall->thread_count || columns->age_us[i] > (uint64_t)TIME_US_MAX) {
            return refuse(why, why_bytes, "watch %zu has an impossible thread or age", i);
        }
        stall->watches[i] = (struct sbx_stall_watch){
            .kind = columns->kind[i],
            .state = columns->state[i],
            .thread = (int32_t)columns->thread[i] - 1,
            .timeout_ms = columns->timeout_ms[i],
            .what = columns->what[i],
            .age_ns = (int64_t)columns->age_us[i] * 1000,
        };
        stall->watch_count++;
    }
    return 0;
}
