/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c - the public functions about logical frames: they check arguments and pass them to capture
 * (capture/threads/providers.h). */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "logical_points.h"
#include "name_ring.h"
#include "page_probe.h"
#include "process_state.h"
#include "providers.h"
#include "stallbox/stallbox.h"
#include "task.h"
#include "the_capture.h"
#include "thread_block.h"

static struct sbx_provider *inner(struct stallbox_provider *provider)
{
    return (struct sbx_provider *)(void *)provider; /* the public type has no members: it stands for this one */
}

/* The size of the struct in the first version of the header. */
#define OLDEST_OPTIONS_BYTES offsetof(struct stallbox_provider_options, resolve)

static_assert(sizeof(struct stallbox_interrupted) == sizeof(struct sbx_interrupted) &&
                  offsetof(struct stallbox_interrupted, registers) == offsetof(struct sbx_interrupted, registers),
              "one layout");
static_assert(sizeof(struct stallbox_queued_work) == sizeof(struct sbx_queued_work) &&
                  offsetof(struct stallbox_queued_work, work) == offsetof(struct sbx_queued_work, work) &&
                  sizeof(struct stallbox_running_work) == sizeof(struct sbx_running_work) &&
                  offsetof(struct stallbox_running_work, queued_in) == offsetof(struct sbx_running_work, queued_in),
              "one layout");
static_assert(sizeof(struct stallbox_code_frame) == sizeof(struct sbx_code_frame) &&
                  offsetof(struct stallbox_code_frame, flags) == offsetof(struct sbx_code_frame, flags),
              "one layout");

/* A name that may be part of a file name: "provider-NAME.map". */
static bool is_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < SBX_PROVIDER_NAME_MAX && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length;
}

/* A caller compiled with an older header passes a smaller struct: the missing members are zero. */
static bool take_options(const struct stallbox_provider_options *given, struct stallbox_provider_options *options_out)
{
    const uint32_t known = STALLBOX_PROVIDER_SIGNAL_SAFE | STALLBOX_PROVIDER_SAFEPOINTS;
    if (given == NULL || given->sizeof_options < OLDEST_OPTIONS_BYTES || given->sizeof_options > sizeof *options_out ||
        given->sizeof_options % sizeof(void *) != 0) { /* all added members are pointers */
        return false;
    }
    memset(options_out, 0, sizeof *options_out);
    memcpy(options_out, given, given->sizeof_options);
    return options_out->name != NULL && is_name(options_out->name) &&
           (options_out->walk != NULL || options_out->walk_at != NULL) && (options_out->flags & ~known) == 0;
}

enum stallbox_result stallbox_provider_register(const struct stallbox_provider_options *options,
                                                struct stallbox_provider **provider_out)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    SBX_OF_ONE_PROCESS(one_at_a_time);
    struct stallbox_provider_options taken;
    if (provider_out == NULL || !take_options(options, &taken)) {
        return STALLBOX_BAD_ARGUMENT;
    }
    options = &taken;
    uint64_t code = (uint64_t)(uintptr_t)options->code;
    struct sbx_provider provider = {
        .walk = options->walk,
        /* the same structs under their names in the lower layers */
        .walk_at = (sbx_provider_walk_at)(void *)options->walk_at,
        .step = (sbx_code_step)(void *)options->step,
        .resolve = options->resolve,
        .holder = options->holder,
        .lock_holder = options->lock_holder,
        .awaited_by = (sbx_provider_awaited_by)(void *)options->awaited_by,
        .queues = (sbx_provider_queues)(void *)options->queues,
        .queuing_begin = (uint64_t)(uintptr_t)options->queuing_code,
        .queuing_bytes = options->queuing_code_bytes,
        .runs = (sbx_provider_runs)(void *)options->runs,
        .allocated = options->allocated,
        .deoptimized = options->deoptimized,
        .want = options->want,
        .is_signal_safe = (options->flags & STALLBOX_PROVIDER_SIGNAL_SAFE) != 0,
        .has_safepoints = (options->flags & STALLBOX_PROVIDER_SAFEPOINTS) != 0,
        .entry = {.code_begin = code,
                  .code_end = code != 0 && options->code_bytes != 0 ? code + options->code_bytes : 0},
    };
    memcpy(provider.entry.name, options->name, strlen(options->name));
    pthread_mutex_lock(&one_at_a_time);
    (void)sbx_name_ring_prepare(); /* without memory only names are not recorded */
    struct sbx_provider *added = sbx_provider_add(&provider);
    if (added != NULL) {
        sbx_providers_publish();
    }
    pthread_mutex_unlock(&one_at_a_time);
    if (added == NULL) {
        return STALLBOX_NO_MEMORY;
    }
    *provider_out = (struct stallbox_provider *)(void *)added;
    return STALLBOX_OK;
}

void *stallbox_provider_enter(struct stallbox_provider *provider, void *context)
{
    if (provider == NULL) {
        return NULL;
    }
    void **own = &sbx_provider_contexts[inner(provider)->index];
    void *former = *own;
    /* relaxed: read by this thread and by handlers that interrupt it */
    sbx_store_relaxed(own, context);
    sbx_order_with_handler();
    return former;
}

void stallbox_provider_leave(struct stallbox_provider *provider, void *former)
{
    if (provider == NULL) {
        return;
    }
    sbx_order_with_handler();
    sbx_store_relaxed(&sbx_provider_contexts[inner(provider)->index], former); /* relaxed: as above */
    struct sbx_thread *thread = sbx_self;
    if (former == NULL && sbx_thread_is_registered(thread)) {
        sbx_store_relaxed(&thread->logical.wanted, 0); /* relaxed: own thread only. No safepoint will come */
    }
}

void stallbox_provider_poll(void)
{
    sbx_logical_safepoint();
}

enum stallbox_result stallbox_provider_add_code(struct stallbox_provider *provider, const void *begin, const void *end)
{
    if (provider == NULL || begin >= end) {
        return STALLBOX_BAD_ARGUMENT;
    }
    bool is_added = sbx_provider_add_code(inner(provider), (uint64_t)(uintptr_t)begin, (uint64_t)(uintptr_t)end);
    return is_added ? STALLBOX_OK : STALLBOX_NO_MEMORY;
}

int stallbox_provider_tell_name(struct stallbox_provider *provider, uint64_t function, uint32_t line,
                                const char *source, size_t source_bytes, const char *name, size_t name_bytes)
{
    return provider != NULL &&
           sbx_name_ring_tell(inner(provider)->index, function, line, source, source_bytes, name, name_bytes);
}

int stallbox_provider_can_read(const void *at, size_t bytes)
{
    struct sbx_thread *thread = sbx_self;
    bool can = sbx_page_probe_can_read(sbx_thread_is_registered(thread) ? &thread->probe : NULL,
                                       (uint64_t)(uintptr_t)at, bytes);
    if (SBX_UNLIKELY(!can) && sbx_the_capture.header != NULL && sbx_capture_is_ours()) {
        sbx_count_drop(SBX_DROP_UNREADABLE);
    }
    return can;
}

/* SBX_OP_NONE: an unknown kind of work. */
static uint8_t op_of(enum stallbox_work work)
{
    static const uint8_t ops[] = {
        [STALLBOX_WORK_CALL_SOON] = SBX_OP_CALL_SOON,     [STALLBOX_WORK_CALL_LATER] = SBX_OP_CALL_LATER,
        [STALLBOX_WORK_CREATE_TASK] = SBX_OP_CREATE_TASK, [STALLBOX_WORK_TO_THREAD] = SBX_OP_TO_THREAD,
        [STALLBOX_WORK_SUBMIT] = SBX_OP_SUBMIT,
    };
    return (uint32_t)work < sizeof ops ? ops[work] : SBX_OP_NONE;
}

uint64_t stallbox_provider_work_queued(enum stallbox_work work, const void *queue)
{
    uint8_t op = op_of(work);
    return op != SBX_OP_NONE && sbx_capture_is_open()
               ? sbx_task_queued(SBX_GROUP_ASYNCIO, op, (uint64_t)(uintptr_t)queue, 0, 0)
               : 0;
}

uint64_t stallbox_provider_work_passed_on(enum stallbox_work work, uint64_t id)
{
    uint8_t op = op_of(work);
    return op != SBX_OP_NONE && sbx_capture_is_open() ? sbx_task_passed_on(SBX_GROUP_ASYNCIO, op, id) : 0;
}

void stallbox_provider_work_forgotten(uint64_t id)
{
    if (id != 0) {
        sbx_task_forget(id);
    }
}

void stallbox_provider_work_taken_out(const void *queue)
{
    sbx_task_begin_uncounted((uint64_t)(uintptr_t)queue);
}

static uint64_t add_bytes(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) { /* FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv-17) */
        hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t stallbox_function_id(const char *source, size_t source_bytes, uint32_t line, const char *name)
{
    char digits[11];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + line % 10);
        line /= 10;
    } while (line != 0);
    digits[--at] = ':'; /* eleven characters: ':' and the ten digits of 2^32 - 1 */
    uint64_t hash = add_bytes(UINT64_C(0xcbf29ce484222325), source, source_bytes);
    hash = add_bytes(hash, digits + at, sizeof digits - at);
    if (name != NULL) {
        size_t length = 0;
        while (name[length] != '\0') {
            length++;
        }
        hash = add_bytes(add_bytes(hash, ":", 1), name, length);
    }
    return hash != 0 ? hash : 1;
}
