/* SPDX-License-Identifier: Apache-2.0 */
/* stall_decode.c - the bytes of an envelope to a stall.
 *
 * In four steps, and each bounds the next: open the envelope, scan the protobuf, parse it with memory from an arena of
 * fixed size, check the meaning of the fields. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stallbox/v1/payload.pb-c.h>

#include "arena.h"
#include "stall.h"
#include "stall_envelope.h"
#include "stall_scan.h"
#include "stall_tables.h"

/* The parser's memory. The largest tables that pass the scan take some 30 MiB, as columns of 4 and 8 bytes. */
#define PARSER_BYTES_MAX ((size_t)48 << 20)
#define DURATION_US_MAX  (UINT64_C(1) << 52)

static void *take_parser_memory(void *arena, size_t bytes)
{
    return sbx_arena_take(arena, bytes);
}

static void keep_parser_memory(void *arena, void *memory)
{
    (void)arena; /* all of it is freed with the arena */
    (void)memory;
}

static int take_identity(struct sbx_stall *stall, const Stallbox__V1__Payload *payload, const uint8_t envelope_id[16],
                         char *why, size_t why_bytes)
{
    if (payload->format != 1) {
        snprintf(why, why_bytes, "payload format %u is not known here", payload->format);
        return payload->format > 1 ? -ENOTSUP : -EPROTO;
    }
    if (payload->payload_id.len != 16 || memcmp(payload->payload_id.data, envelope_id, 16) != 0) {
        snprintf(why, why_bytes, "the payload's id is not the envelope's");
        return -EPROTO;
    }
    if (payload->session_id.len != 16) {
        snprintf(why, why_bytes, "session id has %zu bytes", payload->session_id.len);
        return -EPROTO;
    }
    size_t build_id_bytes = payload->app_build_id.len;
    if (build_id_bytes != 0 && (build_id_bytes < 8 || build_id_bytes > sizeof stall->app_build_id)) {
        snprintf(why, why_bytes, "the application's build-id has %zu bytes", build_id_bytes);
        return -EPROTO;
    }
    if (payload->rotating_id.len != 0 && payload->rotating_id.len != sizeof stall->rotating_id) {
        snprintf(why, why_bytes, "the rotating id has %zu bytes", payload->rotating_id.len);
        return -EPROTO;
    }
    stall->has_rotating_id = payload->rotating_id.len != 0;
    if (stall->has_rotating_id) {
        memcpy(stall->rotating_id, payload->rotating_id.data, sizeof stall->rotating_id);
    }
    memcpy(stall->payload_id, payload->payload_id.data, 16);
    memcpy(stall->session_id, payload->session_id.data, 16);
    if (build_id_bytes != 0) {
        memcpy(stall->app_build_id, payload->app_build_id.data, build_id_bytes);
    }
    stall->app_build_id_bytes = (uint32_t)build_id_bytes;
    for (int i = 0; i < 16; i++) {
        snprintf(stall->payload_id_text + 2 * i, 3, "%02x", stall->payload_id[i]);
    }
    for (size_t i = 0; i < payload->n_app_version && i < 3; i++) {
        stall->app_version[i] = payload->app_version[i];
    }
    if (payload->family_role != 0 && (payload->family_id.len != sizeof stall->family.id ||
                                      payload->parent_session.len != sizeof stall->family.parent)) {
        snprintf(why, why_bytes, "the ids of its family have %zu and %zu bytes", payload->family_id.len,
                 payload->parent_session.len);
        return -EPROTO;
    }
    stall->family.is_worker = payload->family_role != 0;
    stall->family.stalled_beside = payload->stalled_beside < 64 ? payload->stalled_beside : 64;
    stall->family.moment = payload->moment & ((UINT64_C(1) << 40) - 1);
    if (stall->family.is_worker) {
        memcpy(stall->family.id, payload->family_id.data, sizeof stall->family.id);
        memcpy(stall->family.parent, payload->parent_session.data, sizeof stall->family.parent);
    }
    stall->app_what = payload->app_name & ((UINT64_C(1) << 40) - 1);
    stall->program = payload->program & ((UINT64_C(1) << 40) - 1);
    stall->created_day = payload->created_day;
    stall->uptime_bucket = payload->uptime_bucket;
    return 0;
}

static uint32_t budget_ppm_of(const Stallbox__V1__Overhead *overhead)
{
    enum {
        PERMILLE_MAX = 1000,
        TENTHS_MAX = 9
    };
    uint32_t permille = overhead->budget_permille < PERMILLE_MAX ? overhead->budget_permille : PERMILLE_MAX;
    uint32_t tenths = overhead->budget_tenths < TENTHS_MAX ? overhead->budget_tenths : TENTHS_MAX;
    return permille * 1000 + tenths * 100;
}

/* Values from outside must not be larger than any machine can produce. */
static uint32_t in_weight_bounds(uint64_t weight)
{
    return weight == 0 ? 1 : weight < SBX_WEIGHT_MAX ? (uint32_t)weight : SBX_WEIGHT_MAX;
}

static void take_circumstances(struct sbx_stall *stall, const Stallbox__V1__Payload *payload)
{
    const Stallbox__V1__Platform *platform = payload->platform;
    if (platform != NULL) {
        stall->platform.os = platform->os;
        stall->platform.os_major = platform->os_major;
        stall->platform.kernel_major = platform->kernel_major;
        stall->platform.kernel_minor = platform->kernel_minor;
        stall->platform.arch = platform->arch;
        stall->platform.log2_cores = platform->log2_cores;
        stall->platform.log2_ram_gib = platform->log2_ram_gib;
    }
    const Stallbox__V1__Policy *policy = payload->policy;
    if (policy != NULL) {
        stall->policy.epoch = policy->epoch;
        stall->policy.seq = policy->seq;
        stall->policy.points = policy->points;
        stall->policy.interval_us = policy->interval_us;
        stall->policy.gap_us = policy->gap_us;
        stall->policy.wait_min_us = policy->wait_min_us;
        stall->policy.anr_ms = policy->anr_ms;
        stall->policy.slow_message_ms = policy->slow_message_ms;
        stall->policy.slow_frame_ms = policy->slow_frame_ms;
        stall->policy.detail_level = policy->detail_level;
        stall->policy.async_interval_us = policy->async_interval_us;
    }
    const Stallbox__V1__Redactions *redactions = payload->redactions;
    if (redactions != NULL) {
        stall->redactions.modules_hidden = redactions->modules_hidden;
        stall->redactions.frames_hidden = redactions->frames_hidden;
        stall->redactions.thread_names_hidden = redactions->thread_names_hidden;
        stall->redactions.objects_renumbered = redactions->objects_renumbered;
        stall->redactions.records_cut = redactions->records_cut;
    }
    const Stallbox__V1__Overhead *overhead = payload->overhead;
    if (overhead != NULL) {
        stall->overhead.budget_ppm = budget_ppm_of(overhead);
        stall->overhead.cost_ppm = overhead->cost_ppm;
        stall->overhead.window_ppm = overhead->window_ppm;
        stall->overhead.modules_ppm = overhead->modules_ppm;
        stall->overhead.interval_us = overhead->interval_us;
        stall->overhead.gap_us = overhead->gap_us;
        stall->overhead.shed = overhead->shed & SBX_POINTS_KNOWN;
        stall->overhead.changes = overhead->changes;
        stall->overhead.cost_ms = overhead->cost_ms < 1000 ? overhead->cost_ms : 1000;
        if (overhead->interval_us > stall->policy.interval_us) {
            stall->policy.interval_us = overhead->interval_us; /* the interval of samples */
        }
    }
    const Stallbox__V1__Sampling *sampling = payload->sampling;
    stall->sampling.weight = sampling != NULL ? in_weight_bounds(sampling->weight) : 1;
    stall->sampling.one_in = sampling != NULL ? in_weight_bounds(sampling->one_in) : 1;
    for (size_t i = 0; i < payload->n_drops && i < SBX_DROP_COUNT; i++) {
        stall->drops[i] = payload->drops[i];
    }
}

/* Older recorders do not send them. */
static int take_runtimes(struct sbx_stall *stall, const Stallbox__V1__Runtimes *columns, char *why, size_t why_bytes)
{
    if (columns == NULL) {
        return 0;
    }
    if (columns->n_state != columns->n_kind || columns->n_major != columns->n_kind ||
        columns->n_minor != columns->n_kind) {
        snprintf(why, why_bytes, "the columns of Runtimes differ in length");
        return -EPROTO;
    }
    for (size_t i = 0; i < columns->n_kind && i < SBX_STALL_RUNTIMES_MAX; i++) {
        stall->runtimes[i].kind = columns->kind[i];
        stall->runtimes[i].state = columns->state[i];
        stall->runtimes[i].major = columns->major[i];
        stall->runtimes[i].minor = columns->minor[i];
        stall->runtime_count++;
    }
    return 0;
}

static int take_trigger(struct sbx_stall *stall, const Stallbox__V1__Trigger *trigger, char *why, size_t why_bytes)
{
    if (trigger == NULL) {
        snprintf(why, why_bytes, "the payload has no trigger");
        return -EPROTO;
    }
    if (trigger->kind != SBX_TRIGGER_END && trigger->thread >= stall->thread_count) {
        snprintf(why, why_bytes, "the trigger names thread %u of %u", trigger->thread, stall->thread_count);
        return -EPROTO;
    }
    if (trigger->kind != SBX_TRIGGER_END && stall->threads[trigger->thread].process != 0) {
        snprintf(why, why_bytes, "the trigger names a thread of another process");
        return -EPROTO;
    }
    if (trigger->duration_us > DURATION_US_MAX || trigger->history_us > DURATION_US_MAX ||
        trigger->message > INT64_MAX) {
        snprintf(why, why_bytes, "the trigger has an impossible time or message");
        return -EPROTO;
    }
    stall->trigger.kind = trigger->kind;
    stall->trigger.thread = trigger->thread;
    stall->trigger.threshold_ms = trigger->threshold_ms;
    stall->trigger.signal = trigger->signal <= SBX_SIGNAL_MAX ? trigger->signal : 0;
    stall->trigger.fault = trigger->fault < SBX_FAULT_KINDS ? trigger->fault : SBX_FAULT_UNKNOWN;
    stall->trigger.in_progress = trigger->in_progress != 0;
    stall->trigger.duration_ns = (int64_t)trigger->duration_us * 1000;
    stall->trigger.history_ns = (int64_t)trigger->history_us * 1000;
    stall->trigger.message = trigger->message;
    if (trigger->kind == SBX_TRIGGER_END) {
        stall->end.how = trigger->ended < SBX_END_KINDS ? trigger->ended : SBX_END_UNSEEN;
        stall->end.signal = stall->trigger.signal;
        stall->end.duration_ns = stall->trigger.duration_ns;
    }
    if (trigger->watch > stall->watch_count) {
        snprintf(why, why_bytes, "the trigger names watch %u of %u", trigger->watch, stall->watch_count);
        return -EPROTO;
    }
    stall->trigger.watch = (int32_t)trigger->watch - 1;
    stall->trigger.after_ms = trigger->after_ms;
    stall->trigger.frames = trigger->frames;
    stall->trigger.message_kind = trigger->message_kind < SBX_OP_MAX ? trigger->message_kind : 0;
    stall->trigger.scene = trigger->scene < SBX_SCENES ? trigger->scene : 0;
    return 0;
}

/* The id of the stall that ended. Only payloads of this kind refer to another payload. */
static int take_completes(struct sbx_stall *stall, const Stallbox__V1__Payload *payload, char *why, size_t why_bytes)
{
    bool is_end = stall->trigger.kind == SBX_TRIGGER_END;
    if (payload->completes.len != (is_end ? sizeof stall->completes : 0)) {
        snprintf(why, why_bytes, "the stall that it completes has an id of %zu bytes", payload->completes.len);
        return -EPROTO;
    }
    if (is_end) {
        memcpy(stall->completes, payload->completes.data, sizeof stall->completes);
        if (stall->end.how == SBX_END_NONE || stall->thread_count != 0 || stall->record_count != 0) {
            snprintf(why, why_bytes, "it tells how a stall ended, and not how or more than that");
            return -EPROTO;
        }
    }
    return 0;
}

static int take_payload(struct sbx_stall *stall, const Stallbox__V1__Payload *payload, const uint8_t envelope_id[16],
                        char *why, size_t why_bytes)
{
    static const Stallbox__V1__Modules no_modules = STALLBOX__V1__MODULES__INIT;
    static const Stallbox__V1__Threads no_threads = STALLBOX__V1__THREADS__INIT;
    static const Stallbox__V1__Frames no_frames = STALLBOX__V1__FRAMES__INIT;
    static const Stallbox__V1__Functions no_functions = STALLBOX__V1__FUNCTIONS__INIT;
    static const Stallbox__V1__Callstacks no_callstacks = STALLBOX__V1__CALLSTACKS__INIT;
    static const Stallbox__V1__Records no_records = STALLBOX__V1__RECORDS__INIT;
    static const Stallbox__V1__Processes no_processes = STALLBOX__V1__PROCESSES__INIT;
    static const Stallbox__V1__Watches no_watches = STALLBOX__V1__WATCHES__INIT;
    static const Stallbox__V1__Queues no_queues = STALLBOX__V1__QUEUES__INIT;
    int result = take_identity(stall, payload, envelope_id, why, why_bytes);
    if (result == 0) {
        take_circumstances(stall, payload);
        result = take_runtimes(stall, payload->runtimes, why, why_bytes);
    }
    if (result == 0) {
        result =
            sbx_stall_take_modules(stall, payload->modules != NULL ? payload->modules : &no_modules, why, why_bytes);
    }
    if (result == 0) {
        result = sbx_stall_take_frames(stall, payload->frames != NULL ? payload->frames : &no_frames,
                                       payload->functions != NULL ? payload->functions : &no_functions, why, why_bytes);
    }
    if (result == 0) {
        result = sbx_stall_take_callstacks(stall, payload->callstacks != NULL ? payload->callstacks : &no_callstacks,
                                           why, why_bytes);
    }
    if (result == 0) {
        result = sbx_stall_take_processes(stall, payload->processes != NULL ? payload->processes : &no_processes, why,
                                          why_bytes);
    }
    if (result == 0) {
        result =
            sbx_stall_take_threads(stall, payload->threads != NULL ? payload->threads : &no_threads, why, why_bytes);
    }
    if (result == 0) {
        result =
            sbx_stall_take_records(stall, payload->records != NULL ? payload->records : &no_records, why, why_bytes);
    }
    if (result == 0) {
        result =
            sbx_stall_take_watches(stall, payload->watches != NULL ? payload->watches : &no_watches, why, why_bytes);
    }
    if (result == 0) {
        result = sbx_stall_take_queues(stall, payload->queues != NULL ? payload->queues : &no_queues, why, why_bytes);
    }
    if (result == 0) {
        result = take_trigger(stall, payload->trigger, why, why_bytes);
    }
    return result != 0 ? result : take_completes(stall, payload, why, why_bytes);
}

/* Parse a body that passed the scan, and check it. */
static int read_body(const uint8_t *body, size_t body_bytes, const uint8_t envelope_id[16],
                     struct sbx_stall **stall_out, char *why, size_t why_bytes)
{
    int result = -ENOMEM;
    struct sbx_arena *arena = sbx_arena_create(PARSER_BYTES_MAX);
    struct sbx_stall *stall = calloc(1, sizeof *stall);
    if (arena == NULL || stall == NULL) {
        goto destroy_arena;
    }
    ProtobufCAllocator allocator = {take_parser_memory, keep_parser_memory, arena};
    const Stallbox__V1__Payload *payload = stallbox__v1__payload__unpack(&allocator, body_bytes, body);
    if (payload == NULL) {
        snprintf(why, why_bytes, "the body does not parse, or needs too much memory");
        result = -EPROTO;
        goto destroy_arena;
    }
    result = take_payload(stall, payload, envelope_id, why, why_bytes);
    if (result == 0) {
        *stall_out = stall;
        stall = NULL;
    }

destroy_arena:
    sbx_stall_destroy(stall);
    sbx_arena_destroy(arena);
    return result;
}

int sbx_stall_decode(const void *envelope, size_t bytes, struct sbx_stall **stall_out, char *why, size_t why_bytes)
{
    char nowhere[1];
    if (why == NULL || why_bytes == 0) {
        why = nowhere;
        why_bytes = sizeof nowhere;
    }
    why[0] = '\0';
    uint8_t envelope_id[16];
    uint8_t *body = NULL;
    size_t body_bytes = 0;
    int result = sbx_stall_envelope_open(envelope, bytes, envelope_id, &body, &body_bytes, why, why_bytes);
    if (result == 0) {
        result = sbx_stall_scan(body, body_bytes, why, why_bytes);
    }
    if (result == 0) {
        result = read_body(body, body_bytes, envelope_id, stall_out, why, why_bytes);
    }
    free(body);
    if (result == -ENOMEM) {
        snprintf(why, why_bytes, "out of memory");
    }
    return result;
}

size_t sbx_stall_frames(const struct sbx_stall *stall, uint32_t stack, uint32_t *frames_out, size_t max)
{
    size_t count = 0;
    if (stack > stall->callstack_count) {
        return 0;
    }
    while (stack != 0 && count < max) { /* this ends: a parent's id is always smaller */
        frames_out[count++] = stall->callstacks[stack].frame;
        stack = stall->callstacks[stack].parent;
    }
    return count;
}

bool sbx_stall_is_end(const struct sbx_stall *stall)
{
    return stall->trigger.kind == SBX_TRIGGER_END;
}

bool sbx_stall_complete(struct sbx_stall *stall, const struct sbx_stall *end)
{
    if (!sbx_stall_is_end(end) || sbx_stall_is_end(stall) || !stall->trigger.in_progress ||
        stall->end.how != SBX_END_NONE || memcmp(end->completes, stall->payload_id, sizeof end->completes) != 0 ||
        memcmp(end->session_id, stall->session_id, sizeof end->session_id) != 0) {
        return false;
    }
    stall->end = end->end;
    return true;
}

int64_t sbx_stall_lasted_ns(const struct sbx_stall *stall)
{
    return stall->end.how != SBX_END_NONE && stall->end.duration_ns > stall->trigger.duration_ns
               ? stall->end.duration_ns
               : stall->trigger.duration_ns;
}

void sbx_stall_destroy(struct sbx_stall *stall)
{
    if (stall == NULL) {
        return;
    }
    free(stall->modules);
    free(stall->threads);
    free(stall->watches);
    free(stall->processes);
    free(stall->frames);
    free(stall->callstacks);
    free(stall->records);
    free(stall->counts);
    free(stall->tasks);
    free(stall->awaits);
    free(stall->queues);
    free(stall);
}
