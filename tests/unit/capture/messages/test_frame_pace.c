/* SPDX-License-Identifier: Apache-2.0 */
/* test_frame_pace.c - frames are detected by the presents of a library that was loaded after the recorder began. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>

#include "frame_pace.h"
#include "recorded_process.h"

enum {
    FRAMES = 60
};

static const char *program_path;

static void test_a_frame_is_dropped_when_it_is_long_and_longer_than_usual(void **state)
{
    (void)state;
    const uint64_t ms = 1000000;
    static const struct {
        uint64_t took_ms, usual_ms;
        bool is_dropped;
    } cases[] = {{16, 16, false}, {49, 16, false}, {50, 16, true},   {50, 25, true},     {50, 26, false},
                 {99, 50, false}, {100, 50, true}, {700, 100, true}, {1900, 1000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sbx_frame_is_dropped(cases[i].took_ms * ms, cases[i].usual_ms * ms), cases[i].is_dropped);
    }
}

static void test_a_burst_is_more_than_a_quarter_after_the_warm_up(void **state)
{
    (void)state;
    assert_int_equal(sbx_frame_burst(0x1ff, 64), 9);
    assert_int_equal(sbx_frame_burst(0x1ff, 63), 0);        /* the usual length is not known yet */
    assert_int_equal(sbx_frame_burst(0xff, 1000), 0);       /* a quarter is not more than a quarter */
    assert_int_equal(sbx_frame_burst(0x11111111, 1000), 0); /* eight of 32 */
    assert_int_equal(sbx_frame_burst(0x55555555, 1000), 16);
    assert_int_equal(sbx_frame_burst(0xfffffffe, 1000), 0); /* the newest was in time; reported at the last drop */
    assert_int_equal(sbx_frame_burst(UINT32_MAX, 1000), 32);
}

static void test_what_is_usual_follows_slowly(void **state)
{
    (void)state;
    const uint64_t ms = 1000000;
    uint64_t usual_ns = 0, count = 0;
    for (int i = 0; i < 100; i++) {
        usual_ns = sbx_frame_usual_ns(usual_ns, ++count, 16 * ms);
    }
    assert_true(usual_ns > 15 * ms && usual_ns < 17 * ms);
    usual_ns = sbx_frame_usual_ns(usual_ns, ++count, 1000000 * ms); /* a quarter of an hour counts as one second */
    assert_true(usual_ns < 33 * ms);
    for (int i = 0; i < 1000; i++) { /* a machine that has become slow for good */
        usual_ns = sbx_frame_usual_ns(usual_ns, ++count, 100 * ms);
    }
    assert_true(usual_ns > 98 * ms && usual_ns < 102 * ms);
    assert_true(sbx_frame_usual_ns(0, 0, 5 * ms) > 0); /* no division by a count of 0 */
}

static void child_presents(void)
{
    child_start();
    void *program = dlopen(program_path, RTLD_NOW | RTLD_LOCAL);
    child_expect(program != NULL, "the program loads");
    int (*draw)(int) = (int (*)(int))dlsym(program, "draw_frames");
    child_pause_ms(500); /* the module thread looks within milliseconds */
    child_expect(draw(FRAMES) == 0, "frames are drawn");
    child_finish();
}

static void look_at_frames(const char *path)
{
    uint64_t frames = 0, slow = 0, last_ns = 0;
    program_path = path;
    assert_int_equal(recorded_process_run(child_presents), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind != SBX_RECORD_FRAME) {
            continue;
        }
        assert_int_equal(record->op, SBX_OP_SDL_RENDER_PRESENT);
        assert_true(record->begin_ns >= last_ns); /* frames follow each other */
        last_ns = record->end_ns;
        frames += record->amount;
        slow += record->amount == 1 && record->end_ns - record->begin_ns >= 80000000;
    }
    /* Each present except the first ends a frame. The newest short frames still wait to be merged with later ones. */
    assert_true(frames <= FRAMES - 1);
    assert_true(frames >= FRAMES / 2);
    assert_true(slow >= 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_frames_are_what_lies_between_presents(void **state)
{
    (void)state;
    look_at_frames(PRESENT_PROGRAM);
}

#ifdef PRESENT_PROGRAM_SDL2
static void test_frames_of_the_real_sdl2_are_seen(void **state)
{
    (void)state;
    look_at_frames(PRESENT_PROGRAM_SDL2);
}
#endif

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame_is_dropped_when_it_is_long_and_longer_than_usual),
        cmocka_unit_test(test_a_burst_is_more_than_a_quarter_after_the_warm_up),
        cmocka_unit_test(test_what_is_usual_follows_slowly),
        CASE(test_frames_are_what_lies_between_presents),
#ifdef PRESENT_PROGRAM_SDL2
        CASE(test_frames_of_the_real_sdl2_are_seen),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
