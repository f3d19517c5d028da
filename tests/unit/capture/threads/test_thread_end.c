/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_end.c - the registry says when a thread ends, and needs nothing of those who record: this test links none of
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "recording_builder.h"
#include "the_capture.h"
#include "thread_registry.h"

static struct sbx_recording_builder *the_builder;
static uint32_t gate[2] = {1, 1};

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
    the_builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_FULL, NULL);
    sbx_capture_attach(the_builder->header);
    sbx_the_capture.gate = gate;
    return sbx_thread_registry_start(the_builder->header, the_builder->threads, &end);
}

static int detach(void **state)
{
    (void)state;
    sbx_thread_registry_stop();
    sbx_recording_builder_destroy(the_builder);
    return 0;
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
    return cmocka_run_group_tests(tests, attach, detach);
}
