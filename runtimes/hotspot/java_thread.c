/* SPDX-License-Identifier: Apache-2.0 */
/* java_thread.c - the calling thread's JavaThread. */
#include "java_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "order.h"

enum {
    KEYS_MAX = 1024, /* PTHREAD_KEYS_MAX of glibc */
    LISTED_MAX = 1 << 16,
    THREAD_BYTES_MAX = 4096, /* of a JavaThread, which has 1.5 KiB */
    LOCK_STACK_MAX = 8,      /* objects; a lock that finds no room here inflates to a monitor */
    OWNER_UNNOTED = 1,       /* instead of a number: the thread with the object in its lock stack */
    OWNER_LAST_MARK = 2,     /* values up to here are no threads */
};

/* Is a thread of the list the wanted one? */
typedef bool (*is_wanted)(const struct sbx_java_vm *vm, uint64_t listed, uint64_t wanted);

/* Returns the first such thread of the list; 0: none. The list may be replaced and freed while it is read. */
static uint64_t find_listed(const struct sbx_java_vm *vm, is_wanted is, uint64_t wanted)
{
    uint64_t list = 0, threads = 0, listed = 0;
    uint32_t count = 0;
    if (!sbx_vm_word(vm->layout.java_thread_list, &list) || !sbx_vm_number(list + vm->layout.list_length, 4, &count) ||
        !sbx_vm_word(list + vm->layout.list_threads, &threads)) {
        return 0;
    }
    for (uint32_t i = 0; i < count && i < LISTED_MAX; i++) {
        if (!sbx_vm_word(threads + (uint64_t)i * 8, &listed)) {
            return 0;
        }
        if (is(vm, listed, wanted)) {
            return listed;
        }
    }
    return 0;
}

static bool is_same(const struct sbx_java_vm *vm, uint64_t listed, uint64_t wanted)
{
    (void)vm;
    return listed == wanted;
}

/* Is the address on the thread's stack? */
static bool has_on_stack(const struct sbx_java_vm *vm, uint64_t listed, uint64_t wanted)
{
    uint64_t base = 0, size = 0;
    return sbx_vm_word(listed + vm->layout.thread_stack_base, &base) &&
           sbx_vm_word(listed + vm->layout.thread_stack_size, &size) && wanted < base && base - wanted <= size;
}

/* Is this the JavaThread of this kernel thread, and has it run Java code? */
static bool is_ours(const struct sbx_java_vm *vm, uint64_t thread, uint32_t tid)
{
    uint64_t os_thread = 0, sp = 0, base = 0, size = 0;
    uint32_t number = 0;
    return sbx_vm_word(thread + vm->layout.thread_os, &os_thread) &&
           sbx_vm_number(os_thread + vm->layout.os_thread_id, 4, &number) && number == tid &&
           sbx_vm_word(thread + vm->layout.thread_stack_base, &base) &&
           sbx_vm_word(thread + vm->layout.thread_stack_size, &size) &&
           sbx_vm_word(thread + vm->layout.thread_anchor + vm->layout.anchor_sp, &sp) && base - sp <= size &&
           sp < base && find_listed(vm, is_same, thread) != 0;
}

SBX_SIGNAL_SAFE bool sbx_java_threads_learn(struct sbx_java_threads *threads, const struct sbx_java_vm *vm)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t key = 0; key < KEYS_MAX; key++) {
        uint64_t value = (uint64_t)(uintptr_t)threads->get_specific(key), vtable = 0;
        if (value == 0 || !sbx_vm_word(value, &vtable) || vtable == 0 || !is_ours(vm, value, tid)) {
            continue;
        }
        sbx_store_relaxed(&threads->vtable, vtable); /* relaxed: published with the key */
        sbx_store_release(&threads->key, key + 1);   /* order: release java_threads.key */
        return true;
    }
    return false;
}

SBX_SIGNAL_SAFE uint64_t sbx_java_thread_self(const struct sbx_java_threads *threads)
{
    uint32_t key = sbx_load_acquire(&threads->key); /* order: acquire java_threads.key */
    if (key == 0) {
        return 0;
    }
    /* The JVM clears the value before it frees the thread. So a thread that is found here exists, and its first word is
     * readable. */
    uint64_t thread = (uint64_t)(uintptr_t)threads->get_specific(key - 1);
    return thread != 0 && *(const uint64_t *)(uintptr_t)thread == threads->vtable ? thread : 0;
}

static uint32_t tid_of(const struct sbx_java_vm *vm, uint64_t thread)
{
    uint64_t os_thread = 0;
    uint32_t tid = 0;
    return sbx_vm_word(thread + vm->layout.thread_os, &os_thread) &&
                   sbx_vm_number(os_thread + vm->layout.os_thread_id, 4, &tid)
               ? tid
               : 0;
}

SBX_SIGNAL_SAFE uint64_t sbx_java_thread_allocated(const struct sbx_java_vm *vm, uint64_t thread)
{
    enum {
        BUFFER_MOST = 1 << 26 /* at most a G1 region */
    };
    const struct sbx_vm_layout *layout = &vm->layout;
    const uint64_t buffer = thread + layout->thread_buffer;
    uint64_t added = *(const uint64_t *)(uintptr_t)(thread + layout->thread_allocated);
    uint64_t taken = *(const uint64_t *)(uintptr_t)(buffer + layout->buffer_top) -
                     *(const uint64_t *)(uintptr_t)(buffer + layout->buffer_start);
    return added + (taken <= BUFFER_MOST ? taken : 0);
}

/* JDK 17: a monitor's owner is a thread, or a lock record on a thread's stack. A lock record means that the thread
 * locked the object before any thread waited. */
static uint64_t holder_by_address(const struct sbx_java_threads *threads, const struct sbx_java_vm *vm, uint64_t owner)
{
    uint64_t vtable = 0;
    if (sbx_vm_word(owner, &vtable) && vtable == sbx_load_relaxed(&threads->vtable)) { /* relaxed: known for long */
        return owner;
    }
    return find_listed(vm, has_on_stack, owner);
}

static bool has_owner_id(const struct sbx_java_vm *vm, uint64_t listed, uint64_t wanted)
{
    uint64_t id = 0;
    return sbx_vm_word(listed + vm->layout.thread_owner_id, &id) && id == wanted;
}

/* Is the object in the thread's lock stack? That stack has the objects that it locked before any thread waited for
 * them. */
static bool has_locked(const struct sbx_java_vm *vm, uint64_t listed, uint64_t wanted)
{
    uint32_t stack = vm->layout.thread_lock_stack, at = stack + vm->layout.lock_stack_first, end = 0;
    if (!sbx_vm_number(listed + stack + vm->layout.lock_stack_top, 4, &end) || end > at + LOCK_STACK_MAX * 8) {
        return false;
    }
    for (uint64_t object = 0; at < end; at += 8) {
        if (!sbx_vm_word(listed + at, &object)) {
            return false;
        }
        if (object == wanted) {
            return true;
        }
    }
    return false;
}

/* JDK 25: the owner is a thread's number. If the thread runs a virtual thread, it is that thread's number. Or no owner
 * is noted, and the object is in the lock stack of the owner. A lock stack may be wrong while the collector moves
 * objects, so the object and the owner are read again after the search. */
static uint64_t holder_by_id(const struct sbx_java_vm *vm, uint64_t monitor, uint64_t owner)
{
    uint64_t handle = 0, object = 0, again = 0;
    if (owner != OWNER_UNNOTED) {
        return owner > OWNER_LAST_MARK ? find_listed(vm, has_owner_id, owner) : 0;
    }
    if (!sbx_vm_word(monitor + vm->layout.monitor_object, &handle) || !sbx_vm_word(handle, &object) || object == 0) {
        return 0;
    }
    uint64_t holder = find_listed(vm, has_locked, object);
    bool is_same = holder != 0 && sbx_vm_word(handle, &again) && again == object &&
                   sbx_vm_word(monitor + vm->layout.monitor_owner, &again) && again == owner;
    return is_same ? holder : 0;
}

SBX_SIGNAL_SAFE uint32_t sbx_java_monitor_holder(const struct sbx_java_threads *threads, const struct sbx_java_vm *vm,
                                                 uint64_t thread)
{
    uint64_t monitor = 0, owner = 0;
    if (!sbx_vm_word(thread + vm->layout.thread_pending_monitor, &monitor) || monitor == 0 ||
        !sbx_vm_word(monitor + vm->layout.monitor_owner, &owner) || owner == 0 || owner == thread) {
        return 0;
    }
    uint64_t holder =
        vm->layout.has_owner_ids ? holder_by_id(vm, monitor, owner) : holder_by_address(threads, vm, owner);
    return holder != 0 && holder != thread ? tid_of(vm, holder) : 0;
}

/* Returns the thread that initialises `klass`, if `klass` is a class; 0: it is none, or no other thread initialises
 * it. */
static uint32_t initializer_of(const struct sbx_java_vm *vm, uint64_t klass, uint64_t waiter)
{
    uint64_t thread = 0;
    uint32_t state = 0;
    bool is_begun = (klass & 7) == 0 && sbx_vm_number(klass + vm->layout.class_init_state, 1, &state) &&
                    (int32_t)state == vm->layout.being_initialized &&
                    sbx_vm_word(klass + vm->layout.class_init_thread, &thread);
    return is_begun && thread != waiter && find_listed(vm, is_same, thread) != 0 ? tid_of(vm, thread) : 0;
}

SBX_SIGNAL_SAFE uint32_t sbx_java_class_holder(struct sbx_java_threads *threads, const struct sbx_java_vm *vm,
                                               uint64_t thread)
{
    const struct sbx_vm_layout *layout = &vm->layout;
    uint64_t monitor = 0, klass = 0, pc = 0;
    /* A thread waits for a class in the same way as in Object.wait(). But if Object.wait() is called often, it is a
     * compiled wrapper of its own. */
    if (!sbx_vm_word(thread + layout->thread_waiting_monitor, &monitor) || monitor == 0) {
        return 0;
    }
    uint32_t at = sbx_load_relaxed(&threads->class_at); /* relaxed: a number, right or 0 */
    if (at != 0) {
        return sbx_vm_word(thread + at, &klass) && klass != 0 ? initializer_of(vm, klass, thread) : 0;
    }
    if (sbx_vm_word(thread + layout->thread_anchor + layout->anchor_pc, &pc) && sbx_code_cache_holds(&vm->code, pc) &&
        sbx_code_find(&vm->code, layout, pc).kind == SBX_CODE_WRAPPER) {
        return 0;
    }
    for (at = layout->thread_waiting_monitor + 8; at + 8 <= layout->thread_bytes && at < THREAD_BYTES_MAX; at += 8) {
        uint32_t tid = sbx_vm_word(thread + at, &klass) && klass != 0 ? initializer_of(vm, klass, thread) : 0;
        if (tid != 0) {
            sbx_store_relaxed(&threads->class_at, at); /* relaxed: see above */
            return tid;
        }
    }
    return 0;
}
