/* SPDX-License-Identifier: Apache-2.0 */
/* test_frame_pace.c - frames are told from presents, of a library that is loaded after the recorder began. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>

#include "recorded_process.h"

enum {
    FRAMES = 60
};

static const char *program_path;

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
    /* Each present but the first ends a frame; the newest short ones wait to be merged with what follows. */
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
        CASE(test_frames_are_what_lies_between_presents),
#ifdef PRESENT_PROGRAM_SDL2
        CASE(test_frames_of_the_real_sdl2_are_seen),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
