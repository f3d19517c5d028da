/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c - the public functions about logical frames: check, and hand to capture (capture/threads/providers.h). */
#include <pthread.h>
#include <string.h>

#include "logical_points.h"
#include "process_state.h"
#include "providers.h"
#include "stallbox/stallbox.h"
#include "thread_block.h"

static struct sbx_provider *inner(struct stallbox_provider *provider)
{
    return (struct sbx_provider *)(void *)provider; /* the public type has no members: it is this one */
}

/* What may be the name of a file of names: "provider-NAME.map". */
static bool is_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < SBX_PROVIDER_NAME_MAX && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length;
}

enum stallbox_result stallbox_provider_register(const struct stallbox_provider_options *options,
                                                struct stallbox_provider **provider_out)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    SBX_OF_ONE_PROCESS(one_at_a_time);
    const uint32_t known = STALLBOX_PROVIDER_SIGNAL_SAFE | STALLBOX_PROVIDER_SAFEPOINTS;
    if (options == NULL || provider_out == NULL || options->sizeof_options != sizeof *options ||
        options->name == NULL || !is_name(options->name) || options->walk == NULL || (options->flags & ~known) != 0) {
        return STALLBOX_BAD_ARGUMENT;
    }
    uint64_t code = (uint64_t)(uintptr_t)options->code;
    struct sbx_provider provider = {
        .walk = options->walk,
        .want = options->want,
        .is_signal_safe = (options->flags & STALLBOX_PROVIDER_SIGNAL_SAFE) != 0,
        .has_safepoints = (options->flags & STALLBOX_PROVIDER_SAFEPOINTS) != 0,
        .entry = {.code_begin = code,
                  .code_end = code != 0 && options->code_bytes != 0 ? code + options->code_bytes : 0},
    };
    memcpy(provider.entry.name, options->name, strlen(options->name));
    pthread_mutex_lock(&one_at_a_time);
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
        sbx_store_relaxed(&thread->logical.wanted, 0); /* relaxed: this thread's own. No safepoint will come */
    }
}

void stallbox_provider_poll(void)
{
    sbx_logical_safepoint();
}

static uint64_t add_bytes(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) { /* FNV-1a: Fowler, Noll, Vo; draft-eastlake-fnv-17 */
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
    digits[--at] = ':'; /* eleven: ':' and the ten digits of 2^32 - 1 */
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
