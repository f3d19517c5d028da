/* SPDX-License-Identifier: Apache-2.0 */
/* payload_encode.c - converts rows to columns, and values to deltas. It makes no decisions: redacted.c has made
 * them. */
#include "names.h"
#include "payload_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stallbox/v1/payload.pb-c.h"

#include "envelope_format.h"

enum {
    COLUMNS_MAX = 71,
    FORMAT = 1
};

/* The memory of all columns, released together. */
struct columns {
    void *blocks[COLUMNS_MAX];
    unsigned count;
    bool failed; /* no memory for one of them: nothing is encoded */
};

static uint32_t at_most(uint64_t value, uint32_t max)
{
    return value < max ? (uint32_t)value : max;
}

/* Makes a column of `rows` zeros. Without memory it returns NULL and sets `failed`; then no row is written. */
static void *take_column(struct columns *columns, size_t rows, size_t element_bytes)
{
    if (columns->count == COLUMNS_MAX) {
        columns->failed = true;
        return NULL;
    }
    void *block = calloc(rows == 0 ? 1 : rows, element_bytes);
    columns->failed |= block == NULL;
    columns->blocks[columns->count++] = block;
    return block;
}

/* Gives column `name` of `message` `rows` rows. Uses the function's variable `columns`. */
#define COLUMN(message, name, rows) \
    ((message)->n_##name = (rows), (message)->name = take_column(columns, (rows), sizeof *(message)->name))

static void encode_modules(const struct sbx_redacted *redacted, Stallbox__V1__Modules *out, struct columns *columns)
{
    size_t rows = redacted->module_count;
    COLUMN(out, kind, rows);
    COLUMN(out, build_id, rows);
    COLUMN(out, name, rows);
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        struct sbx_redacted_module *module = &redacted->modules[i];
        out->kind[i] = module->kind;
        out->build_id[i] = (ProtobufCBinaryData){.len = module->build_id_bytes, .data = module->build_id};
        out->name[i] = module->name;
    }
}

static void encode_threads(const struct sbx_redacted *redacted, Stallbox__V1__Threads *out, struct columns *columns)
{
    size_t rows = redacted->thread_count;
    COLUMN(out, name, rows);
    COLUMN(out, flags, rows);
    COLUMN(out, call_kind, rows);
    COLUMN(out, call_op, rows);
    COLUMN(out, call_us, rows);
    COLUMN(out, call_peer, rows);
    COLUMN(out, call_object, rows);
    COLUMN(out, last_stack, rows);
    bool has_others = redacted->process_count != 0;
    COLUMN(out, process, has_others ? rows : 0);
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        const struct sbx_redacted_thread *thread = &redacted->threads[i];
        if (has_others) {
            out->process[i] = thread->process;
        }
        out->name[i] = thread->name;
        out->flags[i] = thread->flags;
        out->call_kind[i] = thread->call_kind;
        out->call_op[i] = thread->call_op;
        out->call_us[i] = thread->call_us;
        out->call_peer[i] = thread->call_peer;
        out->call_object[i] = thread->call_object;
        out->last_stack[i] = thread->last_stack;
    }
}

static void encode_processes(const struct sbx_redacted *redacted, Stallbox__V1__Processes *out, struct columns *columns)
{
    size_t rows = redacted->process_count;
    COLUMN(out, role, rows);
    COLUMN(out, session_id, rows);
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        struct sbx_redacted_process *process = &redacted->processes[i];
        bool is_recorded = process->role != SBX_ROLE_NONE;
        out->role[i] = process->role;
        out->session_id[i] =
            (ProtobufCBinaryData){.len = is_recorded ? sizeof process->session : 0, .data = process->session};
    }
}

/* In the order of the table of known runtimes. */
static void encode_runtimes(const struct sbx_snapshot *snapshot, Stallbox__V1__Runtimes *out, struct columns *columns)
{
    enum {
        VERSION_MOST = 9999
    };
    size_t rows = 0;
    for (size_t i = 0; i < SBX_RUNTIMES_MAX; i++) {
        rows += snapshot->header.runtimes[i].state != SBX_RUNTIME_NONE;
    }
    COLUMN(out, kind, rows);
    COLUMN(out, state, rows);
    COLUMN(out, major, rows);
    COLUMN(out, minor, rows);
    for (size_t i = 0, row = 0; i < SBX_RUNTIMES_MAX && !columns->failed; i++) {
        const struct sbx_runtime_entry *runtime = &snapshot->header.runtimes[i];
        if (runtime->state != SBX_RUNTIME_NONE) {
            out->kind[row] = runtime->kind < SBX_RUNTIME_KIND_COUNT ? runtime->kind : SBX_RUNTIME_OTHER;
            out->state[row] = runtime->state <= SBX_RUNTIME_NO_PROVIDER ? runtime->state : SBX_RUNTIME_LEFT_ALONE;
            out->major[row] = at_most(runtime->major, VERSION_MOST);
            out->minor[row++] = at_most(runtime->minor, VERSION_MOST);
        }
    }
}

static bool has_functions(const struct sbx_redacted *redacted)
{
    for (size_t i = 0; i < redacted->frame_count; i++) {
        if (redacted->frames[i].function != 0) {
            return true;
        }
    }
    return false;
}

/* See payload.proto. Most frames are in the same function as the frame before. This case takes one byte that compresses
 * well. */
static uint32_t function_of(const struct sbx_redacted_frame *frame, const struct sbx_redacted_frame *before)
{
    if (frame->function == 0 || frame->function > frame->offset) {
        return SBX_FUNCTION_UNKNOWN;
    }
    bool is_same = before != NULL && before->module == frame->module && before->function == frame->function;
    return is_same ? SBX_FUNCTION_SAME : (uint32_t)(frame->offset - frame->function) + SBX_FUNCTION_BEGINS;
}

static void encode_frames(const struct sbx_redacted *redacted, Stallbox__V1__Frames *out, struct columns *columns)
{
    size_t rows = redacted->frame_count;
    bool tells_functions = has_functions(redacted);
    COLUMN(out, module, rows);
    COLUMN(out, offset, rows);
    COLUMN(out, exact, rows);
    COLUMN(out, function, tells_functions ? rows : 0);
    int64_t last = 0;
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        const struct sbx_redacted_frame *frame = &redacted->frames[i];
        if (tells_functions) {
            out->function[i] = function_of(frame, i != 0 ? frame - 1 : NULL);
        }
        out->module[i] = frame->module;
        out->offset[i] = (int64_t)frame->offset - last;
        last = (int64_t)frame->offset;
        out->exact[i] = frame->exact;
    }
}

static void encode_functions(const struct sbx_redacted *redacted, Stallbox__V1__Functions *out, struct columns *columns)
{
    size_t rows = redacted->function_count;
    COLUMN(out, function_id, rows);
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        struct sbx_redacted_function *function = &redacted->functions[i];
        out->function_id[i] = (ProtobufCBinaryData){.len = sizeof function->id, .data = function->id};
    }
}

static void encode_callstacks(const struct sbx_redacted *redacted, Stallbox__V1__Callstacks *out,
                              struct columns *columns)
{
    size_t rows = redacted->callstack_count;
    COLUMN(out, frame, rows);
    COLUMN(out, parent, rows);
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        const struct sbx_redacted_callstack *callstack = &redacted->callstacks[i];
        out->frame[i] = callstack->frame;
        out->parent[i] = callstack->parent == 0 ? 0 : (uint32_t)(i + 1) - callstack->parent;
    }
}

/* Counts the rows that have faults and switches. */
static size_t count_readings(const struct sbx_redacted *redacted)
{
    size_t count = 0;
    for (size_t i = 0; i < redacted->record_count; i++) {
        count += (redacted->records[i].flags & SBX_FLAG_USAGE) != 0;
    }
    return count;
}

static void encode_records(const struct sbx_redacted *redacted, Stallbox__V1__Records *out, struct columns *columns)
{
    size_t rows = redacted->record_count;
    COLUMN(out, thread_rows, redacted->thread_count);
    COLUMN(out, kind, rows);
    COLUMN(out, op, rows);
    COLUMN(out, flags, rows);
    COLUMN(out, end_us, rows);
    COLUMN(out, duration_us, rows);
    COLUMN(out, cpu_us, rows);
    COLUMN(out, has_cpu, rows);
    COLUMN(out, alloc_count, rows);
    COLUMN(out, alloc_bytes, rows);
    COLUMN(out, stack, rows);
    COLUMN(out, message, rows);
    COLUMN(out, object, rows);
    COLUMN(out, amount, rows);
    COLUMN(out, peer, rows);
    COLUMN(out, repeats, rows);
    COLUMN(out, wait, rows);
    size_t readings = count_readings(redacted);
    COLUMN(out, minor_faults, readings);
    COLUMN(out, major_faults, readings);
    COLUMN(out, voluntary_switches, readings);
    COLUMN(out, involuntary_switches, readings);
    if (columns->failed) {
        return;
    }
    for (size_t i = 0; i < redacted->thread_count; i++) {
        out->thread_rows[i] = redacted->threads[i].record_count;
    }
    struct sbx_redacted_record last = {.thread = UINT32_MAX};
    size_t reading = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct sbx_redacted_record *record = &redacted->records[i];
        if (record->thread != last.thread) { /* deltas begin again */
            last = (struct sbx_redacted_record){.thread = record->thread};
        }
        out->kind[i] = record->kind;
        out->op[i] = record->op;
        out->flags[i] = record->flags;
        out->end_us[i] = record->end_us - last.end_us;
        out->duration_us[i] = record->duration_us;
        out->cpu_us[i] = record->has_cpu ? record->cpu_us - last.cpu_us : 0;
        out->has_cpu[i] = record->has_cpu;
        out->alloc_count[i] = record->alloc_count - last.alloc_count;
        out->alloc_bytes[i] = record->alloc_bytes - last.alloc_bytes;
        out->stack[i] = record->stack;
        out->message[i] = (int64_t)record->message - (int64_t)last.message;
        out->object[i] = record->object;
        out->amount[i] = record->amount;
        out->peer[i] = record->peer;
        out->repeats[i] = record->repeats;
        out->wait[i] = record->wait;
        if ((record->flags & SBX_FLAG_USAGE) != 0) {
            out->minor_faults[reading] = record->minor_faults;
            out->major_faults[reading] = record->major_faults;
            out->voluntary_switches[reading] = record->voluntary_switches;
            out->involuntary_switches[reading] = record->involuntary_switches;
            reading++;
        }
        int64_t cpu_us = record->has_cpu ? record->cpu_us : last.cpu_us;
        last = *record;
        last.cpu_us = cpu_us;
    }
}

static void encode_watches(const struct sbx_redacted *redacted, Stallbox__V1__Watches *out, struct columns *columns)
{
    size_t rows = redacted->watch_count;
    COLUMN(out, kind, rows);
    COLUMN(out, state, rows);
    COLUMN(out, thread, rows);
    COLUMN(out, what, rows);
    COLUMN(out, timeout_ms, rows);
    COLUMN(out, age_us, rows);
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        const struct sbx_redacted_watch *watch = &redacted->watches[i];
        out->kind[i] = watch->kind;
        out->state[i] = watch->state;
        out->thread[i] = watch->thread;
        out->what[i] = watch->what;
        out->timeout_ms[i] = watch->timeout_ms;
        out->age_us[i] = watch->age_us;
    }
}

static void encode_queues(const struct sbx_redacted *redacted, Stallbox__V1__Queues *out, struct columns *columns)
{
    size_t rows = redacted->queue_count;
    COLUMN(out, object, rows);
    COLUMN(out, op, rows);
    COLUMN(out, pending, rows);
    COLUMN(out, queued, rows);
    COLUMN(out, begun, rows);
    COLUMN(out, window_ms, rows);
    for (size_t i = 0; i < rows && !columns->failed; i++) {
        const struct sbx_redacted_queue *queue = &redacted->queues[i];
        out->object[i] = queue->object;
        out->op[i] = queue->op;
        out->pending[i] = queue->pending;
        out->queued[i] = queue->queued;
        out->begun[i] = queue->begun;
        out->window_ms[i] = queue->window_ms;
    }
}

enum {
    MICROSECONDS_MAX = 1000000000,
    SHARE_MAX_PPM = 1000000000
};

static uint32_t share_ppm(uint64_t cost_ns, uint64_t whole_ns)
{
    double share = whole_ns != 0 ? (double)cost_ns / (double)whole_ns * 1e6 : 0;
    return share < SHARE_MAX_PPM ? (uint32_t)share : SHARE_MAX_PPM;
}

static void encode_policy(const struct sbx_snapshot *snapshot, uint32_t detail_level, Stallbox__V1__Policy *out)
{
    enum {
        MILLISECONDS_MAX = 86400000
    };
    const struct sbx_capture_settings *settings = &snapshot->settings;
    out->points = settings->points & SBX_POINTS_KNOWN;
    out->interval_us = at_most(settings->interval_us, MICROSECONDS_MAX);
    out->gap_us = at_most(settings->gap_us, MICROSECONDS_MAX);
    out->wait_min_us = at_most(settings->wait_min_us, MICROSECONDS_MAX);
    out->anr_ms = at_most(settings->anr_ms, MILLISECONDS_MAX);
    out->slow_message_ms = at_most(settings->slow_message_ms, MILLISECONDS_MAX);
    out->slow_frame_ms = at_most(settings->slow_frame_ms, MILLISECONDS_MAX);
    out->detail_level = detail_level;
    out->async_interval_us = at_most(snapshot->header.async_interval_ns / 1000, MICROSECONDS_MAX);
}

/* Shares only, and a time only while it is short. How long the process has run is given in coarse steps only. */
static void encode_overhead(const struct sbx_snapshot *snapshot, Stallbox__V1__Overhead *out)
{
    enum {
        PERMILLE_MAX = 1000,
        TENTHS_MAX = 9
    };
    static const uint32_t steps_ms[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    const struct sbx_overhead *overhead = &snapshot->header.overhead;
    uint64_t cost_ns = overhead->watch_ns + overhead->captures_ns + overhead->calls_ns;
    out->budget_permille = at_most(overhead->budget_permille, PERMILLE_MAX);
    out->budget_tenths = at_most(overhead->budget_tenths, TENTHS_MAX);
    out->cost_ppm = share_ppm(cost_ns, overhead->application_ns);
    out->window_ppm = at_most(overhead->window_ppm, SHARE_MAX_PPM);
    out->modules_ppm = share_ppm(overhead->modules_ns, overhead->application_ns);
    out->interval_us = at_most(overhead->interval_us, MICROSECONDS_MAX);
    out->gap_us = at_most(overhead->gap_us, MICROSECONDS_MAX);
    for (uint32_t step = 0; step < sizeof steps_ms / sizeof steps_ms[0] && out->cost_ms == 0; step++) {
        out->cost_ms = cost_ns <= steps_ms[step] * UINT64_C(1000000) ? steps_ms[step] : 0;
    }
    out->shed = overhead->shed & SBX_POINTS_KNOWN;
    out->changes = overhead->changes;
}

static void encode_platform(const struct sbx_platform *platform, const struct sbx_snapshot *snapshot,
                            Stallbox__V1__Platform *out)
{
    out->os = platform->os;
    out->os_major = platform->os_major;
    out->kernel_major = platform->kernel_major;
    out->kernel_minor = platform->kernel_minor;
    /* Not the encoder's architecture: the recording may be from an emulator or another machine. */
    uint32_t architecture = snapshot->header.architecture;
    out->arch = architecture < SBX_ARCHITECTURE_COUNT ? architecture : SBX_ARCHITECTURE_OTHER;
    out->log2_cores = platform->log2_cores;
    out->log2_ram_gib = platform->log2_ram_gib;
}

static void encode_trigger(const struct sbx_redacted *redacted, Stallbox__V1__Trigger *out)
{
    out->kind = redacted->trigger.kind;
    out->thread = redacted->trigger.thread;
    out->duration_us = redacted->trigger.duration_us;
    out->threshold_ms = redacted->trigger.threshold_ms;
    out->in_progress = redacted->trigger.in_progress;
    out->message = redacted->trigger.message;
    out->history_us = redacted->trigger.history_us;
    out->watch = redacted->trigger.watch;
    out->after_ms = redacted->trigger.after_ms;
    out->frames = redacted->trigger.frames;
    out->message_kind = redacted->trigger.message_kind;
    out->signal = redacted->trigger.signal;
    out->fault = redacted->trigger.fault;
    out->ended = redacted->trigger.ended;
    out->scene = redacted->trigger.scene;
}

static void encode_redactions(const struct sbx_redacted *redacted, Stallbox__V1__Redactions *out)
{
    out->modules_hidden = redacted->redactions.modules_hidden;
    out->frames_hidden = redacted->redactions.frames_hidden;
    out->thread_names_hidden = redacted->redactions.thread_names_hidden;
    out->objects_renumbered = redacted->redactions.objects_renumbered;
    out->records_cut = redacted->redactions.records_cut;
}

/* Returns a hash of the executable's file name; 0 if it has none. */
static uint64_t program_of(const struct sbx_snapshot *snapshot)
{
    const char *path = snapshot->header.executable_path, *slash = strrchr(path, '/');
    return sbx_app_what(slash != NULL ? slash + 1 : path);
}

int sbx_payload_encode(const struct sbx_redacted *redacted, const struct sbx_snapshot *snapshot, uint32_t detail_level,
                       const struct sbx_platform *platform, const struct sbx_sampled *sampled, uint8_t **payload_out,
                       size_t *bytes_out)
{
    struct columns columns = {.count = 0};
    Stallbox__V1__Payload payload = STALLBOX__V1__PAYLOAD__INIT;
    Stallbox__V1__Platform platform_out = STALLBOX__V1__PLATFORM__INIT;
    Stallbox__V1__Policy policy = STALLBOX__V1__POLICY__INIT;
    Stallbox__V1__Trigger trigger = STALLBOX__V1__TRIGGER__INIT;
    Stallbox__V1__Modules modules = STALLBOX__V1__MODULES__INIT;
    Stallbox__V1__Threads threads = STALLBOX__V1__THREADS__INIT;
    Stallbox__V1__Frames frames = STALLBOX__V1__FRAMES__INIT;
    Stallbox__V1__Callstacks callstacks = STALLBOX__V1__CALLSTACKS__INIT;
    Stallbox__V1__Records records = STALLBOX__V1__RECORDS__INIT;
    Stallbox__V1__Functions functions = STALLBOX__V1__FUNCTIONS__INIT;
    Stallbox__V1__Redactions redactions = STALLBOX__V1__REDACTIONS__INIT;
    Stallbox__V1__Watches watches = STALLBOX__V1__WATCHES__INIT;
    Stallbox__V1__Queues queues = STALLBOX__V1__QUEUES__INIT;
    Stallbox__V1__Overhead overhead = STALLBOX__V1__OVERHEAD__INIT;
    Stallbox__V1__Sampling sampling = STALLBOX__V1__SAMPLING__INIT;
    Stallbox__V1__Processes processes = STALLBOX__V1__PROCESSES__INIT;
    Stallbox__V1__Runtimes runtimes = STALLBOX__V1__RUNTIMES__INIT;

    bool is_end = redacted->trigger.kind == SBX_TRIGGER_END; /* the rest was in the payload of its stall */
    if (!is_end) {
        encode_overhead(snapshot, &overhead);
        encode_platform(platform, snapshot, &platform_out);
        encode_policy(snapshot, detail_level, &policy);
        encode_runtimes(snapshot, &runtimes, &columns);
    }
    if (sampled != NULL) {
        sampling.weight = sampled->weight < SBX_WEIGHT_MAX ? sampled->weight : SBX_WEIGHT_MAX;
        sampling.one_in = at_most(sampled->one_in, SBX_WEIGHT_MAX);
    }
    encode_trigger(redacted, &trigger);
    encode_redactions(redacted, &redactions);
    encode_modules(redacted, &modules, &columns);
    encode_threads(redacted, &threads, &columns);
    encode_processes(redacted, &processes, &columns);
    encode_frames(redacted, &frames, &columns);
    encode_functions(redacted, &functions, &columns);
    encode_callstacks(redacted, &callstacks, &columns);
    encode_records(redacted, &records, &columns);
    encode_watches(redacted, &watches, &columns);
    encode_queues(redacted, &queues, &columns);

    uint8_t ids[6][SBX_PAYLOAD_ID_BYTES]; /* protobuf-c needs them writable */
    memcpy(ids[0], snapshot->header.snapshot_id, sizeof ids[0]);
    memcpy(ids[1], snapshot->header.session_id, sizeof ids[1]);
    payload.format = FORMAT;
    payload.payload_id = (ProtobufCBinaryData){.len = sizeof ids[0], .data = ids[0]};
    payload.session_id = (ProtobufCBinaryData){.len = sizeof ids[1], .data = ids[1]};
    if (redacted->app_module != 0) {
        struct sbx_redacted_module *app = &redacted->modules[redacted->app_module - 1];
        payload.app_build_id = (ProtobufCBinaryData){.len = app->build_id_bytes, .data = app->build_id};
    }
    enum {
        VERSION_MAX = 999999,
        SIBLINGS_MAX = 64
    };
    uint32_t version[3];
    memcpy(version, snapshot->header.app_version, sizeof version);
    for (unsigned i = 0; i < 3; i++) {
        version[i] = at_most(version[i], VERSION_MAX);
    }
    if (version[0] + version[1] + version[2] != 0) {
        payload.app_version = version;
        payload.n_app_version = 3;
    }
    char app_name[SBX_APP_NAME_MAX + 1] = "";
    memcpy(app_name, snapshot->header.app_name, SBX_APP_NAME_MAX);
    payload.app_name = sbx_app_what(app_name);
    payload.program = redacted->app_module != 0 && app_name[0] == '\0' ? program_of(snapshot) : 0;
    if (redacted->has_rotating_id) {
        memcpy(ids[2], redacted->rotating_id, sizeof ids[2]);
        payload.rotating_id = (ProtobufCBinaryData){.len = sizeof ids[2], .data = ids[2]};
    }
    if (is_end) {
        memcpy(ids[3], snapshot->header.trigger.first_id, sizeof ids[3]);
        payload.completes = (ProtobufCBinaryData){.len = sizeof ids[3], .data = ids[3]};
    }
    const struct sbx_family_entry *family = &snapshot->header.family;
    payload.moment = is_end ? 0 : family->moment & ((UINT64_C(1) << 40) - 1);
    payload.stalled_beside = is_end ? 0 : at_most(family->stalled_beside, SIBLINGS_MAX);
    if (family->role == SBX_ROLE_WORKER && !is_end) {
        payload.family_role = SBX_ROLE_WORKER;
        memcpy(ids[4], family->id, sizeof ids[4]);
        memcpy(ids[5], family->parent_session, sizeof ids[5]);
        payload.family_id = (ProtobufCBinaryData){.len = sizeof ids[4], .data = ids[4]};
        payload.parent_session = (ProtobufCBinaryData){.len = sizeof ids[5], .data = ids[5]};
    }
    payload.created_day = redacted->created_day;
    payload.uptime_bucket = redacted->uptime_bucket;
    payload.platform = &platform_out;
    payload.policy = &policy;
    payload.trigger = &trigger;
    payload.modules = &modules;
    payload.threads = &threads;
    payload.frames = &frames;
    payload.callstacks = &callstacks;
    payload.records = &records;
    payload.redactions = &redactions;
    payload.watches = &watches;
    payload.queues = redacted->queue_count != 0 ? &queues : NULL;
    payload.overhead = &overhead;
    payload.processes = redacted->process_count != 0 ? &processes : NULL;
    payload.runtimes = runtimes.n_kind != 0 ? &runtimes : NULL;
    payload.sampling = sampled != NULL ? &sampling : NULL;
    payload.functions = redacted->function_count != 0 ? &functions : NULL;
    uint64_t drops[SBX_DROP_COUNT];
    memcpy(drops, redacted->drops, sizeof drops);
    payload.n_drops = is_end ? 0 : SBX_DROP_COUNT;
    payload.drops = drops;

    uint8_t *bytes = NULL;
    if (!columns.failed) {
        size_t room = stallbox__v1__payload__get_packed_size(&payload);
        bytes = malloc(room);
        if (bytes != NULL) {
            *bytes_out = stallbox__v1__payload__pack(&payload, bytes);
            *payload_out = bytes;
        }
    }
    for (unsigned i = 0; i < columns.count; i++) {
        free(columns.blocks[i]);
    }
    return bytes != NULL ? 0 : -ENOMEM;
}
