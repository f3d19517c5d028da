/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_signature.c - the same stall has the same signature, wherever its code is loaded; another stall has
 * another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "recording_builder.h"
#include "stall_signature.h"

#define MS  UINT64_C(1000000)
#define END (UINT64_C(5000) * 1000 * MS)

/* A stall of a second on the main thread, with the details that may differ between two machines. */
struct telling {
    bool is_shuffled;    /* other modules first, other addresses, another thread before the main one */
    uint32_t kind;       /* of the trigger */
    uint64_t wait_at;    /* offset of the call in the application that waits; 0: the thread computes */
    uint64_t work_seed;  /* where in its functions the work is interrupted */
    uint64_t caller;     /* the caller of the work */
    unsigned foreign_ms; /* time at the beginning, in code of other modules */
};

static uint64_t next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static void put(struct sbx_recording_builder *builder, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                uint8_t kind, uint32_t stack)
{
    const struct sbx_record record = {.kind = kind,
                                      .op = kind == SBX_RECORD_SLEEP ? SBX_OP_NANOSLEEP : SBX_OP_NONE,
                                      .thread = thread,
                                      .begin_ns = begin_ns,
                                      .end_ns = end_ns,
                                      .stack = stack};
    sbx_recording_put(builder, &record);
}

static uint64_t signature_of(const struct telling *telling)
{
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    uint64_t shift = telling->is_shuffled ? UINT64_C(0x1230000) : 0, random = telling->work_seed;
    uint32_t app, libc, first = 0;
    if (telling->is_shuffled) {
        sbx_recording_add_module(builder, "/usr/lib/libz.so.1", UINT64_C(0x7f0000000000), 0x10000, 0);
        libc = sbx_recording_add_module(builder, "/usr/lib/libc.so.6", UINT64_C(0x7f1000000000) + shift, 0x200000, 0);
        app =
            sbx_recording_add_module(builder, "/opt/app", UINT64_C(0x550000000000) + shift, 0x100000, SBX_MODULE_MAIN);
        first = sbx_recording_add_thread(builder, 11, "other", 0) + 1;
    } else {
        app = sbx_recording_add_module(builder, "/opt/app", UINT64_C(0x550000000000), 0x100000, SBX_MODULE_MAIN);
        libc = sbx_recording_add_module(builder, "/usr/lib/libc.so.6", UINT64_C(0x7f1000000000), 0x200000, 0);
    }
    uint32_t main_thread = sbx_recording_add_thread(builder, 10, "app", 1 | 2);
    assert_int_equal(main_thread, first);
    uint64_t begin_ns = END - 1000 * MS, at_ns = begin_ns;
    for (; at_ns < begin_ns + telling->foreign_ms * MS; at_ns += 10 * MS) {
        const struct sbx_built_frame frames[] = {
            {libc, 0x9000 + next(&random) % 64, 1}, {app, 0x7777, 0}, {app, 0x100, 0}};
        put(builder, main_thread, at_ns + 10 * MS, at_ns + 10 * MS, SBX_RECORD_ASYNC,
            sbx_recording_add_stack(builder, frames, 3, SBX_WALK_COMPLETE));
    }
    if (telling->wait_at != 0) {
        const struct sbx_built_frame frames[] = {
            {libc, 0x5000, 0}, {app, telling->wait_at, 0}, {app, telling->caller, 0}, {app, 0x100, 0}};
        put(builder, main_thread, at_ns, END, SBX_RECORD_SLEEP,
            sbx_recording_add_stack(builder, frames, 4, SBX_WALK_COMPLETE));
    } else {
        for (; at_ns < END; at_ns += 10 * MS) {
            const struct sbx_built_frame frames[] = {
                {app, 0x2000 + next(&random) % 4096, 1}, {app, telling->caller, 0}, {app, 0x100, 0}};
            put(builder, main_thread, at_ns + 10 * MS, at_ns + 10 * MS, SBX_RECORD_ASYNC,
                sbx_recording_add_stack(builder, frames, 3, SBX_WALK_COMPLETE));
        }
    }
    const struct sbx_trigger_entry trigger = {
        .kind = telling->kind, .thread = main_thread, .begin_ns = begin_ns, .end_ns = END, .threshold_ms = 500};
    sbx_recording_set_trigger(builder, &trigger);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    uint64_t signature = sbx_stall_signature(snapshot);
    assert_int_not_equal(signature, 0);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
    return signature;
}

static const struct telling waits = {.kind = SBX_TRIGGER_ANR, .wait_at = 0x4000, .caller = 0x300, .work_seed = 1};
static const struct telling computes = {.kind = SBX_TRIGGER_ANR, .caller = 0x300, .work_seed = 1};

static void test_where_modules_and_threads_lie_does_not_matter(void **state)
{
    (void)state;
    struct telling shuffled_wait = waits, shuffled_work = computes;
    shuffled_wait.is_shuffled = shuffled_work.is_shuffled = true;
    assert_int_equal(signature_of(&shuffled_wait), signature_of(&waits));
    assert_int_equal(signature_of(&shuffled_work), signature_of(&computes));
}

static void test_where_in_a_function_it_was_interrupted_does_not_matter(void **state)
{
    (void)state;
    uint64_t first = signature_of(&computes);
    for (uint64_t seed = 2; seed < 30; seed++) {
        struct telling other = computes;
        other.work_seed = seed;
        assert_int_equal(signature_of(&other), first);
    }
}

static void test_what_took_less_than_half_of_it_does_not_matter(void **state)
{
    (void)state;
    struct telling other = waits;
    for (other.foreign_ms = 0; other.foreign_ms < 500; other.foreign_ms += 100) {
        assert_int_equal(signature_of(&other), signature_of(&waits));
    }
    other.foreign_ms = 700;
    assert_int_not_equal(signature_of(&other), signature_of(&waits));
}

static void test_another_place_caller_or_trigger_is_another_stall(void **state)
{
    (void)state;
    uint64_t first = signature_of(&waits);
    struct telling other = waits;
    other.wait_at = 0x4005;
    assert_int_not_equal(signature_of(&other), first);
    other = waits;
    other.caller = 0x305;
    assert_int_not_equal(signature_of(&other), first);
    other = waits;
    other.kind = SBX_TRIGGER_SLOW_MESSAGE;
    assert_int_not_equal(signature_of(&other), first);
    assert_int_not_equal(signature_of(&computes), first);
    other = computes;
    other.caller = 0x305;
    assert_int_not_equal(signature_of(&other), signature_of(&computes));
}

/* Without a record of the thread the signature has only the kind; without a duration, the last stack. */
static void test_little_evidence_is_a_signature_as_well(void **state)
{
    (void)state;
    uint64_t found[2];
    for (int i = 0; i < 2; i++) {
        struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
        uint32_t app =
            sbx_recording_add_module(builder, "/opt/app", UINT64_C(0x550000000000), 0x100000, SBX_MODULE_MAIN);
        uint32_t thread = sbx_recording_add_thread(builder, 10, "app", 1);
        if (i == 1) {
            const struct sbx_built_frame frames[] = {{app, 0x2000, 1}, {app, 0x100, 0}};
            put(builder, thread, END, END, SBX_RECORD_ASYNC,
                sbx_recording_add_stack(builder, frames, 2, SBX_WALK_COMPLETE));
        }
        const struct sbx_trigger_entry trigger = {
            .kind = SBX_TRIGGER_CRASH, .thread = thread, .begin_ns = END, .end_ns = END};
        sbx_recording_set_trigger(builder, &trigger);
        struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
        found[i] = sbx_stall_signature(snapshot);
        sbx_snapshot_destroy(snapshot);
        sbx_recording_builder_destroy(builder);
    }
    assert_int_not_equal(found[0], found[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_modules_and_threads_lie_does_not_matter),
        cmocka_unit_test(test_where_in_a_function_it_was_interrupted_does_not_matter),
        cmocka_unit_test(test_what_took_less_than_half_of_it_does_not_matter),
        cmocka_unit_test(test_another_place_caller_or_trigger_is_another_stall),
        cmocka_unit_test(test_little_evidence_is_a_signature_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
