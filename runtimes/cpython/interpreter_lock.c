/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter_lock.c - the lock's structure: its last holder, whether it is taken, and the condition variable of the
 * waiting threads.
 *
 * A thread waits for the lock 5 ms at a time, and between two waits it asks the holder to release it. So one long wait
 * appears as many short waits for the same condition variable. */
#include "interpreter_lock.h"

#include "object_read.h"

enum {
    LOCK_LAST_HOLDER = 8, /* the same from 3.9 to 3.13 */
    LOCK_IS_TAKEN = 16,
    LOCK_CONDITION = 32,
    LOCK_BYTES = 88,
};

static uint64_t lock; /* 0: not known */
static uint16_t thread_native_id;

void interpreter_lock_find(const struct cpython *cpython, uint64_t thread)
{
    const struct cpython_layout *layout = cpython->layout;
    struct object_page page = {0};
    uint64_t found = layout->runtime_gil != 0 ? cpython->runtime + layout->runtime_gil : 0;
    if (found == 0) {
        uint64_t interpreter = object_word_at(thread, layout->thread_interpreter);
        if (!object_can_read(&page, interpreter + layout->interpreter_gil, sizeof(uint64_t))) {
            return;
        }
        found = object_word_at(interpreter, layout->interpreter_gil);
    }
    /* The calling thread holds the lock, so the structure must say this. Otherwise it is not the lock. */
    if (object_can_read(&page, found, LOCK_BYTES) && object_word_at(found, LOCK_LAST_HOLDER) == thread &&
        object_half_at(found, LOCK_IS_TAKEN) == 1) {
        thread_native_id = layout->thread_native_id;
        __atomic_store_n(&lock, found, __ATOMIC_RELEASE);
    }
}

bool interpreter_lock_is_held_by(uint64_t thread)
{
    uint64_t known = __atomic_load_n(&lock, __ATOMIC_ACQUIRE);
    return known != 0 && object_word_at(known, LOCK_LAST_HOLDER) == thread && object_half_at(known, LOCK_IS_TAKEN) == 1;
}

bool interpreter_lock_collects(const struct cpython_layout *layout, uint64_t thread)
{
    if (!interpreter_lock_is_held_by(thread)) {
        return false;
    }
    uint64_t interpreter = object_word_at(thread, layout->thread_interpreter); /* lives as long as the thread */
    return object_half_at(interpreter, layout->interpreter_collecting) == 1;
}

int interpreter_lock_holder(const void *condition)
{
    uint64_t known = __atomic_load_n(&lock, __ATOMIC_ACQUIRE);
    if (known == 0 || (uint64_t)(uintptr_t)condition != known + LOCK_CONDITION) {
        return -1;
    }
    struct object_page page = {0};
    uint64_t holder = object_word_at(known, LOCK_LAST_HOLDER);
    if (object_half_at(known, LOCK_IS_TAKEN) != 1 || thread_native_id == 0 ||
        !object_can_read(&page, holder, thread_native_id + sizeof(uint64_t))) {
        return 0;
    }
    uint64_t tid = object_word_at(holder, thread_native_id);
    return tid < INT32_MAX ? (int)tid : 0;
}
