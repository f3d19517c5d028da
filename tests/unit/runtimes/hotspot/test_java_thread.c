/* SPDX-License-Identifier: Apache-2.0 */
/* test_java_thread.c - which thread holds the class or the monitor that another thread waits for, in a machine of two
 * threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "java_thread.h"
#include "made_up_memory.h"

enum {
    LOADED = 1,
    BEING_INITIALIZED = 3,
    INITIALIZED = 4
};

struct thread {
    uint64_t os_thread, waiting_monitor, between[6], class_waited_for;
    uint64_t pending_monitor, owner_id;
    uint64_t lock_stack_end, locked[8];
};
struct monitor {
    uint64_t object, owner;
};
struct klass {
    uint64_t name, state, initializer;
};
struct list {
    uint64_t length, threads;
};

static struct {
    uint64_t list_at;
    struct list list;
    uint64_t listed[2];
    uint64_t os_threads[2];
    struct thread waiter, initializer, gone;
    struct klass klass;
    struct monitor monitor;
    uint64_t handle; /* of the monitor's object */
} the;

static struct sbx_java_vm vm;
static struct sbx_java_threads threads;

static uint64_t at(const void *thing)
{
    return (uint64_t)(uintptr_t)thing;
}

static int setup(void **state)
{
    (void)state;
    memset(&the, 0, sizeof the);
    threads = (struct sbx_java_threads){.key = 1};
    vm = (struct sbx_java_vm){
        .layout = {.java_thread_list = at(&the.list_at),
                   .list_length = offsetof(struct list, length),
                   .list_threads = offsetof(struct list, threads),
                   .thread_os = offsetof(struct thread, os_thread),
                   .thread_waiting_monitor = offsetof(struct thread, waiting_monitor),
                   .thread_bytes = sizeof(struct thread),
                   .class_init_state = offsetof(struct klass, state) + 3,
                   .class_init_thread = offsetof(struct klass, initializer),
                   .being_initialized = BEING_INITIALIZED},
    };
    the.list_at = at(&the.list);
    the.list = (struct list){2, at(the.listed)};
    the.listed[0] = at(&the.waiter);
    the.listed[1] = at(&the.initializer);
    the.os_threads[0] = 100;
    the.os_threads[1] = 101;
    the.waiter = (struct thread){.os_thread = at(&the.os_threads[0]),
                                 .waiting_monitor = 8,
                                 .between = {1, at(&the.listed), at(&the.waiter)},
                                 .class_waited_for = at(&the.klass)};
    the.initializer.os_thread = the.gone.os_thread = at(&the.os_threads[1]);
    the.klass = (struct klass){.state = (uint64_t)BEING_INITIALIZED << 24, .initializer = at(&the.initializer)};
    made_up_memory_is(&the, sizeof the);
    return 0;
}

static uint32_t holder(void)
{
    return sbx_java_class_holder(&threads, &vm, at(&the.waiter));
}

static void test_who_initialises_the_class_is_found_and_where_the_class_is_noted(void **state)
{
    (void)state;
    assert_int_equal(holder(), 101);
    assert_int_equal(threads.class_at, offsetof(struct thread, class_waited_for));
    assert_int_equal(holder(), 101);
}

static void test_once_the_place_is_known_no_other_is_looked_at(void **state)
{
    (void)state;
    assert_int_equal(holder(), 101);
    the.waiter.between[5] = the.waiter.class_waited_for;
    the.waiter.class_waited_for = 0;
    assert_int_equal(holder(), 0);
}

static void test_a_class_that_nobody_initialises_has_no_holder(void **state)
{
    (void)state;
    static const uint64_t states[] = {0, LOADED, INITIALIZED};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        the.klass.state = states[i] << 24;
        assert_int_equal(holder(), 0);
    }
    assert_int_equal(threads.class_at, 0);
}

static void test_a_thread_that_is_no_longer_there_or_the_waiter_himself_is_no_holder(void **state)
{
    (void)state;
    the.klass.initializer = at(&the.gone);
    assert_int_equal(holder(), 0);
    the.klass.initializer = at(&the.waiter);
    assert_int_equal(holder(), 0);
}

static void test_who_waits_for_no_monitor_waits_for_no_class(void **state)
{
    (void)state;
    the.waiter.waiting_monitor = 0;
    assert_int_equal(holder(), 0);
}

static void test_a_class_that_cannot_be_read_is_passed_over(void **state)
{
    (void)state;
    the.waiter.class_waited_for = 0xdead0000;
    assert_int_equal(holder(), 0);
    the.waiter.class_waited_for = 3;
    assert_int_equal(holder(), 0);
}

/* ---- a monitor of JDK 25 ---- */

enum {
    UNNOTED = 1,
    BEING_DEFLATED = 2,
    OBJECT = 0x7000,
    OTHER = 0x8000
};

static int setup_monitor(void **state)
{
    (void)setup(state);
    vm.layout.has_owner_ids = true;
    vm.layout.thread_pending_monitor = offsetof(struct thread, pending_monitor);
    vm.layout.thread_owner_id = offsetof(struct thread, owner_id);
    vm.layout.thread_lock_stack = offsetof(struct thread, lock_stack_end);
    vm.layout.lock_stack_first = offsetof(struct thread, locked) - offsetof(struct thread, lock_stack_end);
    vm.layout.monitor_object = offsetof(struct monitor, object);
    vm.layout.monitor_owner = offsetof(struct monitor, owner);
    the.handle = OBJECT;
    the.monitor = (struct monitor){.object = at(&the.handle), .owner = UNNOTED};
    the.waiter.pending_monitor = at(&the.monitor);
    the.waiter.owner_id = 30;
    the.initializer.owner_id = 31;
    the.waiter.lock_stack_end = the.initializer.lock_stack_end = offsetof(struct thread, locked);
    return 0;
}

static void locks(struct thread *thread, uint32_t number, uint64_t object)
{
    thread->locked[number] = object;
    thread->lock_stack_end = offsetof(struct thread, locked) + (number + 1) * sizeof object;
}

static uint32_t monitor_holder(void)
{
    return sbx_java_monitor_holder(&threads, &vm, at(&the.waiter));
}

static void test_the_holder_of_a_monitor_is_the_thread_whose_number_it_has(void **state)
{
    (void)state;
    the.monitor.owner = 31;
    assert_int_equal(monitor_holder(), 101);
    the.monitor.owner = 32; /* a virtual thread that is not mounted */
    assert_int_equal(monitor_holder(), 0);
    the.monitor.owner = 30; /* the waiter itself */
    assert_int_equal(monitor_holder(), 0);
}

static void test_who_locked_before_anybody_waited_is_found_by_the_object(void **state)
{
    (void)state;
    assert_int_equal(monitor_holder(), 0);
    locks(&the.initializer, 0, OTHER);
    assert_int_equal(monitor_holder(), 0);
    locks(&the.initializer, 1, OBJECT);
    assert_int_equal(monitor_holder(), 101);
    the.initializer.lock_stack_end -= 8; /* entries behind the end have been released */
    assert_int_equal(monitor_holder(), 0);
}

static void test_a_list_of_locked_objects_that_makes_no_sense_is_passed_over(void **state)
{
    (void)state;
    locks(&the.initializer, 0, OBJECT);
    the.initializer.lock_stack_end = 0xffffffff;
    assert_int_equal(monitor_holder(), 0);
    the.initializer.lock_stack_end = 0;
    assert_int_equal(monitor_holder(), 0);
}

static void test_a_monitor_that_is_taken_away_or_whose_object_is_gone_has_no_holder(void **state)
{
    (void)state;
    locks(&the.initializer, 0, OBJECT);
    the.monitor.owner = the.initializer.owner_id = BEING_DEFLATED;
    assert_int_equal(monitor_holder(), 0);
    the.monitor.owner = UNNOTED;
    the.handle = 0;
    assert_int_equal(monitor_holder(), 0);
    the.monitor.object = 0xdead0000;
    assert_int_equal(monitor_holder(), 0);
}

static void test_a_thread_has_allocated_what_was_added_up_and_what_it_took_of_its_buffer(void **state)
{
    (void)state;
    struct {
        uint64_t before, added;
        struct {
            uint64_t start, top;
        } buffer;
    } thread = {.added = 1000, .buffer = {.start = 0x7000, .top = 0x7100}};
    vm.layout.thread_allocated = 8;
    vm.layout.thread_buffer = 16;
    vm.layout.buffer_start = 0;
    vm.layout.buffer_top = 8;
    assert_int_equal(sbx_java_thread_allocated(&vm, at(&thread)), 1000 + 0x100);
    thread.buffer.top = thread.buffer.start = 0; /* it has no buffer */
    assert_int_equal(sbx_java_thread_allocated(&vm, at(&thread)), 1000);
    thread.buffer.start = 0x7000; /* half taken away */
    assert_int_equal(sbx_java_thread_allocated(&vm, at(&thread)), 1000);
    thread.buffer.top = UINT64_C(0x7f0000000000);
    assert_int_equal(sbx_java_thread_allocated(&vm, at(&thread)), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_who_initialises_the_class_is_found_and_where_the_class_is_noted, setup),
        cmocka_unit_test_setup(test_once_the_place_is_known_no_other_is_looked_at, setup),
        cmocka_unit_test_setup(test_a_class_that_nobody_initialises_has_no_holder, setup),
        cmocka_unit_test_setup(test_a_thread_that_is_no_longer_there_or_the_waiter_himself_is_no_holder, setup),
        cmocka_unit_test_setup(test_who_waits_for_no_monitor_waits_for_no_class, setup),
        cmocka_unit_test_setup(test_a_class_that_cannot_be_read_is_passed_over, setup),
        cmocka_unit_test_setup(test_the_holder_of_a_monitor_is_the_thread_whose_number_it_has, setup_monitor),
        cmocka_unit_test_setup(test_who_locked_before_anybody_waited_is_found_by_the_object, setup_monitor),
        cmocka_unit_test_setup(test_a_list_of_locked_objects_that_makes_no_sense_is_passed_over, setup_monitor),
        cmocka_unit_test_setup(test_a_monitor_that_is_taken_away_or_whose_object_is_gone_has_no_holder, setup_monitor),
        cmocka_unit_test_setup(test_a_thread_has_allocated_what_was_added_up_and_what_it_took_of_its_buffer, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
