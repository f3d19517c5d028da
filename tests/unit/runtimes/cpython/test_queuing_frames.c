/* SPDX-License-Identifier: Apache-2.0 */
/* test_queuing_frames.c - the role of a function when a task is queued, by its file and its name. The frames themselves
 * are tested in tests/integration/python/queued.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "queuing_frames.h"

static int part(const char *file, const char *name)
{
    return (int)queuing_part_of(file, strlen(file), name, strlen(name));
}

static int learn(void **state)
{
    (void)state;
    return part("/usr/lib/python3.11/asyncio/events.py", "Handle.__init__") == PART_INIT ? 0 : -1;
}

static void test_functions_of_asyncio_are_known_by_their_qualified_and_by_their_bare_name(void **state)
{
    (void)state;
    assert_int_equal(part("/usr/lib/python3.11/asyncio/events.py", "TimerHandle.__init__"), PART_INIT);
    assert_int_equal(part("/usr/lib/python3.11/asyncio/events.py", "__init__"), PART_INIT);
    assert_int_equal(part("/usr/lib/python3.11/asyncio/events.py", "Handle._run"), PART_RUN);
    assert_int_equal(part("/usr/lib/python3.11/asyncio/base_events.py", "BaseEventLoop._call_soon"), PART_CALL_SOON);
    assert_int_equal(part("/usr/lib/python3.11/asyncio/threads.py", "to_thread"), PART_TO_THREAD);
    assert_int_equal(part("/usr/lib/python3.11/asyncio/tasks.py", "sleep"), PART_SLEEP);
}

static void test_functions_of_a_pool_of_threads_are_known(void **state)
{
    (void)state;
    assert_int_equal(part("/usr/lib/python3.11/concurrent/futures/thread.py", "ThreadPoolExecutor.submit"),
                     PART_SUBMIT);
    assert_int_equal(part("/usr/lib/python3.11/concurrent/futures/thread.py", "_worker"), PART_WORKER);
    assert_int_equal(part("/usr/lib/python3.11/concurrent/futures/thread.py", "_WorkItem.run"), PART_LIBRARY);
    assert_int_equal(part("/srv/shop/concurrent/futures/thread.py", "ThreadPoolExecutor.submit"), PART_PROGRAM);
}

static void test_a_name_that_ends_alike_is_another(void **state)
{
    (void)state;
    assert_int_equal(part("/usr/lib/python3.11/asyncio/events.py", "Handle.dry_run"), PART_LIBRARY);
    assert_int_equal(part("/usr/lib/python3.11/asyncio/base_events.py", "BaseEventLoop.call_soon"), PART_LIBRARY);
    assert_int_equal(part("/usr/lib/python3.11/asyncio/selector_events.py", "_call_soon"), PART_LIBRARY);
}

static void test_the_standard_library_is_not_the_program(void **state)
{
    (void)state;
    assert_int_equal(part("/usr/lib/python3.11/concurrent/futures/process.py", "submit"), PART_LIBRARY);
    assert_int_equal(part("<frozen runpy>", "_run_code"), PART_LIBRARY);
}

static void test_what_is_installed_beside_the_standard_library_is_the_program(void **state)
{
    (void)state;
    assert_int_equal(part("/usr/lib/python3.11/site-packages/shop/orders.py", "ship"), PART_PROGRAM);
    assert_int_equal(part("/usr/lib/python3.11/dist-packages/shop/orders.py", "ship"), PART_PROGRAM);
    assert_int_equal(part("/srv/shop/orders.py", "ship"), PART_PROGRAM);
    assert_int_equal(part("/srv/shop/asyncio/events.py", "Handle._run"), PART_PROGRAM);
    assert_int_equal(part("<string>", "<module>"), PART_PROGRAM);
    assert_int_equal(part("", ""), PART_PROGRAM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_of_asyncio_are_known_by_their_qualified_and_by_their_bare_name),
        cmocka_unit_test(test_functions_of_a_pool_of_threads_are_known),
        cmocka_unit_test(test_a_name_that_ends_alike_is_another),
        cmocka_unit_test(test_the_standard_library_is_not_the_program),
        cmocka_unit_test(test_what_is_installed_beside_the_standard_library_is_the_program),
    };
    return cmocka_run_group_tests_name("queuing_frames", tests, learn, NULL);
}
