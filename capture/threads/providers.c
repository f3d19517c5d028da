/* SPDX-License-Identifier: Apache-2.0 */
/* providers.c - embedded runtimes: which ones there are. */
#include "providers.h"

#include "order.h"
#include "the_capture.h"

__thread void *sbx_provider_contexts[SBX_PROVIDERS_MAX];
struct sbx_provider sbx_the_providers[SBX_PROVIDERS_MAX];
struct sbx_clock_reader sbx_the_clock_reader;

struct sbx_provider *sbx_provider_add(const struct sbx_provider *provider)
{
    uint32_t count = sbx_load_relaxed(&sbx_the_capture.provider_count); /* relaxed: only one caller adds at a time */
    if (count == SBX_PROVIDERS_MAX) {
        return NULL;
    }
    sbx_the_providers[count] = *provider;
    sbx_the_providers[count].index = count;
    if (provider->awaited_by != NULL) {
        sbx_store_relaxed(&sbx_the_capture.has_awaits, 1); /* relaxed: seen with the count, or a capture later */
    }
    if (provider->runs != NULL) {
        sbx_store_relaxed(&sbx_the_capture.has_runs, 1); /* relaxed: likewise */
    }
    sbx_store_release(&sbx_the_capture.provider_count, count + 1); /* order: release providers - the entry is whole */
    if (provider->queues != NULL && sbx_the_clock_reader.bytes == 0) {
        sbx_store_relaxed(&sbx_the_clock_reader.begin,
                          provider->queuing_begin); /* relaxed: 0 bytes mean that there is no such code */
        /* order: release clock_reader.bytes - where it begins */
        sbx_store_release(&sbx_the_clock_reader.bytes, provider->queuing_bytes);
    }
    return &sbx_the_providers[count];
}

bool sbx_provider_add_code(const struct sbx_provider *provider, uint64_t begin, uint64_t end)
{
    return sbx_generated_add(&(struct sbx_generated_range){begin, end, provider->step, provider->index});
}

SBX_SIGNAL_SAFE void *sbx_provider_context(uint32_t index)
{
    void *said = sbx_provider_contexts[index];
    void *(*resolve)(void) = sbx_the_providers[index].resolve;
    return said != NULL || resolve == NULL ? said : resolve();
}

SBX_SIGNAL_SAFE uint32_t sbx_provider_holder(void)
{
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        void *context = sbx_the_providers[i].holder != NULL ? sbx_provider_context(i) : NULL;
        uint32_t tid = context != NULL ? sbx_the_providers[i].holder(context) : 0;
        if (tid != 0) {
            return tid;
        }
    }
    return 0;
}

SBX_SIGNAL_SAFE bool sbx_provider_is_entered(void)
{
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        if (sbx_provider_context(i) != NULL) {
            return true;
        }
    }
    return false;
}

SBX_HOOK_SAFE int sbx_provider_lock_holder(uint64_t condition)
{
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        int (*ask)(const void *) = sbx_the_providers[i].lock_holder;
        int holder = ask == NULL ? -1 : ask((const void *)(uintptr_t)condition);
        if (holder >= 0) {
            return holder;
        }
    }
    return -1;
}

/* The fence makes whichever comes later, the adder or the attacher, see what the other has stored. Both may write the
 * same words, with the same content. */
void sbx_providers_publish(void)
{
    sbx_fence_seq_cst();
    struct sbx_recording_header *header = sbx_load_acquire(&sbx_the_capture.header); /* order: acquire capture.header */
    if (header == NULL) {
        return;
    }
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        header->providers[i] = sbx_the_providers[i].entry;
    }
    sbx_store_release(&header->provider_count,
                      count); /* order: release header.provider_count - the entries are whole */
}
