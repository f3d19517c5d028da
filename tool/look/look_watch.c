/* SPDX-License-Identifier: Apache-2.0 */
/* look_watch.c - counts looks. */
#include "look_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACKS_MAX = 256 /* different stacks kept per thread */
};

uint64_t sbx_stack_hash(const struct sbx_thread_stack *stack)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, by words */
    for (size_t i = 0; i < stack->count; i++) {
        hash = (hash ^ stack->frames[i].pc) * UINT64_C(0x100000001b3);
        /* the address may now belong to another module */
        hash = (hash ^ stack->frames[i].module) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

void sbx_look_watch_begin(struct sbx_look_watch *watch, pid_t pid)
{
    *watch = (struct sbx_look_watch){.pid = pid};
}

static struct sbx_watched_thread *thread_of(struct sbx_look_watch *watch, const struct sbx_look_thread *seen,
                                            int64_t now_ns)
{
    for (size_t i = 0; i < watch->thread_count; i++) {
        if (watch->threads[i].tid == seen->tid) {
            return &watch->threads[i];
        }
    }
    struct sbx_watched_thread *larger = realloc(watch->threads, (watch->thread_count + 1) * sizeof *watch->threads);
    if (larger == NULL) {
        return NULL;
    }
    watch->threads = larger;
    struct sbx_watched_thread *thread = &watch->threads[watch->thread_count++];
    *thread = (struct sbx_watched_thread){.tid = seen->tid,
                                          .first_ns = now_ns,
                                          .cpu_ns = {seen->status.cpu_ns, seen->status.cpu_ns},
                                          .runnable_ns = {seen->status.runnable_ns, seen->status.runnable_ns}};
    return thread;
}

static struct sbx_watched_stack *stack_of(struct sbx_watched_thread *thread, uint64_t hash)
{
    for (size_t i = 0; i < thread->stack_count; i++) {
        if (thread->stacks[i].hash == hash) {
            return &thread->stacks[i];
        }
    }
    if (thread->stack_count == STACKS_MAX) {
        return NULL;
    }
    struct sbx_watched_stack *larger = realloc(thread->stacks, (thread->stack_count + 1) * sizeof *thread->stacks);
    if (larger == NULL) {
        return NULL;
    }
    thread->stacks = larger;
    struct sbx_watched_stack *stack = &thread->stacks[thread->stack_count++];
    memset(stack, 0, sizeof *stack);
    stack->hash = hash;
    return stack;
}

int sbx_look_watch_add(struct sbx_look_watch *watch, const struct sbx_process_look *look, int64_t now_ns)
{
    if (watch->looks == 0) {
        watch->begin_realtime_ns = look->realtime_ns;
        memcpy(watch->name, look->name, sizeof watch->name);
    }
    watch->looks++;
    watch->looking_ns += look->took_ns;
    watch->duration_ns = look->realtime_ns + look->took_ns - watch->begin_realtime_ns;
    watch->circle_looks += look->circle_count > 0;
    for (size_t i = 0; i < look->thread_count; i++) {
        const struct sbx_look_thread *seen = &look->threads[i];
        struct sbx_watched_thread *thread = thread_of(watch, seen, now_ns);
        if (thread == NULL) {
            return -ENOMEM;
        }
        memcpy(thread->name, seen->status.name, sizeof thread->name);
        thread->looks++;
        thread->last_ns = now_ns;
        thread->cpu_ns[1] = seen->status.cpu_ns;
        thread->runnable_ns[1] = seen->status.runnable_ns;
        if (!seen->position.is_asleep) {
            continue;
        }
        thread->asleep_looks++;
        struct sbx_watched_stack *stack = stack_of(thread, sbx_stack_hash(seen->stack));
        if (stack == NULL) {
            thread->other_looks++;
            continue;
        }
        struct sbx_thread_stack *kept = stack->last.stack != NULL ? stack->last.stack : malloc(sizeof *kept);
        if (kept == NULL) {
            return -ENOMEM;
        }
        *kept = *seen->stack;
        stack->last = *seen;
        stack->last.stack = kept;
        stack->looks++;
    }
    return 0;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct sbx_watched_stack *a = left, *b = right;
    return (a->looks < b->looks) - (a->looks > b->looks);
}

void sbx_look_watch_sort(struct sbx_look_watch *watch)
{
    for (size_t i = 0; i < watch->thread_count; i++) {
        if (watch->threads[i].stack_count > 1) {
            qsort(watch->threads[i].stacks, watch->threads[i].stack_count, sizeof *watch->threads[i].stacks,
                  compare_stacks);
        }
    }
}

void sbx_look_watch_release(struct sbx_look_watch *watch)
{
    for (size_t i = 0; i < watch->thread_count; i++) {
        for (size_t stack = 0; stack < watch->threads[i].stack_count; stack++) {
            free(watch->threads[i].stacks[stack].last.stack);
        }
        free(watch->threads[i].stacks);
    }
    free(watch->threads);
    memset(watch, 0, sizeof *watch);
}
