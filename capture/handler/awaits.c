/* SPDX-License-Identifier: Apache-2.0 */
/* awaits.c - asks the providers, compares the answer with the last one, and interns it. */
#include "awaits.h"

#include "frame_walker.h"
#include "logical_stack.h"
#include "providers.h"
#include "the_capture.h"

/* Collects the await lists of all providers in `walk`. Returns a hash of it; 0: there is none. */
static uint64_t ask_all(const struct sbx_walk_registers *start, struct sbx_logical_walk *walk)
{
    const struct sbx_interrupted interrupted = {start->pc, start->sp, start->fp, start->context};
    uint64_t hash = 0;
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    walk->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_provider *provider = &sbx_the_providers[i];
        void *context = provider->awaited_by != NULL && provider->is_signal_safe ? sbx_provider_context(i) : NULL;
        if (context == NULL) {
            continue;
        }
        uint32_t from = walk->count, room = SBX_AWAITS_MAX - from;
        size_t told = provider->awaited_by(context, start->context != NULL ? &interrupted : NULL,
                                           walk->functions + from, walk->tags + from, room);
        walk->count += told < room ? (uint32_t)told : room;
        sbx_logical_tag(walk, from, i);
    }
    for (uint32_t i = 0; i < walk->count; i++) {
        hash = (hash ^ walk->functions[i] ^ (uint64_t)walk->tags[i] << 32) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return walk->count == 0 ? 0 : hash | 1;
}

SBX_SIGNAL_SAFE bool sbx_awaits_tell(struct sbx_awaits *awaits, uint64_t now_ns, struct sbx_record *record_out)
{
    uint64_t since_ns = sbx_load_relaxed(&awaits->since_ns); /* relaxed, like all here: the caller checks the pair */
    uint32_t stack = sbx_load_relaxed(&awaits->stack);
    if (stack == SBX_STACK_NONE || stack == SBX_STACK_OVERFLOW || now_ns < since_ns ||
        !sbx_awaits_are_due(now_ns - since_ns, sbx_load_relaxed(&awaits->told_ns))) {
        return false;
    }
    sbx_store_relaxed(&awaits->told_ns, now_ns - since_ns);
    *record_out = (struct sbx_record){.kind = SBX_RECORD_AWAITED,
                                      .begin_ns = since_ns,
                                      .end_ns = now_ns,
                                      .stack = stack,
                                      .message = sbx_load_relaxed(&awaits->message)};
    return true;
}

SBX_SIGNAL_SAFE bool sbx_awaits_ask(struct sbx_thread *thread, const struct sbx_walk_registers *start, bool notes,
                                    struct sbx_record *record_out)
{
    struct sbx_awaits *awaits = &thread->awaits;
    struct sbx_logical *logical = &thread->logical;
    uint64_t begin_ns = thread->entry->message_begin_ns;
    if (begin_ns == 0 || sbx_load_relaxed(&sbx_the_capture.has_awaits) == 0) { /* relaxed: once set, it stays set */
        return false;
    }
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    if (!notes && now_ns - begin_ns < SBX_AWAITS_SHORTEST_NS) {
        return false;
    }
    /* Use the walk that does not hold the last stack: a note of that stack must not change. */
    struct sbx_logical_walk *walk = &logical->walks[logical->turn ^ 1];
    uint64_t hash = ask_all(start, walk);
    uint32_t epoch = sbx_callstack_epoch(&sbx_the_capture.table);
    if (hash != awaits->hash || thread->entry->message != awaits->message) {
        awaits->hash = hash;
        sbx_store_relaxed(&awaits->message, thread->entry->message);
        sbx_store_relaxed(&awaits->since_ns, now_ns);
        sbx_store_relaxed(&awaits->told_ns, 0);
        awaits->epoch = epoch - 1;
    }
    if (awaits->epoch != epoch) {
        awaits->epoch = epoch;
        sbx_store_relaxed(&awaits->stack, hash != 0 ? sbx_logical_intern(walk, epoch, SBX_STACK_NONE) : SBX_STACK_NONE);
    }
    return sbx_awaits_tell(awaits, now_ns, record_out);
}
