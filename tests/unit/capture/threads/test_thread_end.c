/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_end.c - the registry reports when a thread ends, and needs nothing of the code that records: this test
 * does not link that code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "attached_recording.h"
#include "the_capture.h"
#include "thread_registry.h"

static struct {
    struct sbx_thread *registered;
    struct sbx_thread *begun, *completed;
    uint32_t begins, completions;
    uint32_t state_at_completion;
    bool knew_its_block, had_its_block_at_completion;
} seen;

static void begins(struct sbx_thread *thread)
{
    seen.begun = thread;
    seen.begins++;
    seen.knew_its_block = sbx_self == thread;
}

static void completes(struct sbx_thread *thread)
{
    seen.completed = thread;
    seen.completions++;
    seen.state_at_completion = sbx_load_relaxed(&thread->entry->state);
    seen.had_its_block_at_completion = sbx_self == thread;
}

static const struct sbx_thread_end end = {.begins = begins, .completes = completes};

static int attach(void **state)
{
    (void)state;
    return attached_recording_begin(&end);
}

static void *register_and_end(void *unused)
{
    (void)unused;
    seen.registered = sbx_thread_register_self();
    return NULL;
}

static void a_thread_that_ends_is_told_while_it_knows_its_block_and_once_more_before_its_seat_is_free(void **state)
{
    (void)state;
    pthread_t thread;
    memset(&seen, 0, sizeof seen);
    assert_int_equal(pthread_create(&thread, NULL, register_and_end, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(seen.registered);
    assert_int_equal(seen.begins, 1);
    assert_ptr_equal(seen.begun, seen.registered);
    assert_true(seen.knew_its_block);
    assert_int_equal(seen.completions, 1);
    assert_ptr_equal(seen.completed, seen.registered);
    assert_int_equal(seen.state_at_completion, SBX_THREAD_LIVE);
    assert_false(seen.had_its_block_at_completion);
    assert_int_equal(sbx_load_acquire(&seen.registered->entry->state), SBX_THREAD_DEAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_ends_is_told_while_it_knows_its_block_and_once_more_before_its_seat_is_free),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
