/* SPDX-License-Identifier: Apache-2.0 */
/* test_frame_chain.c - made-up frames of each version, which are read several at a time: each frame is reported once,
 * and so is each border. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "frame_chain.h"

enum {
    FRAMES = 3 * FRAMES_AHEAD + 2,
    SLOT = 128, /* bytes of a frame in any version */
    OWNER_SHIM = 3,
    IS_ENTRY = 1
};

/* Parts of an interpreter: a thread's state, a C function's block, a piece of data stack, one code object. */
static struct {
    uint64_t type[8], thread[64], block[8], piece[3], frames[2 * FRAMES * SLOT / 8], code[32];
} memory;

static uint64_t at(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static void put(uint64_t object, size_t offset, uint64_t value, size_t bytes)
{
    memcpy((void *)(uintptr_t)(object + offset), &value, bytes);
}

/* Make a chain of `count` frames; bit i of `borders`: frame i is the outermost of a native entry. Returns the address
 * of frame 0. */
static uint64_t make(const struct cpython_layout *layout, uint32_t count, uint32_t borders)
{
    memset(&memory, 0, sizeof memory);
    uint64_t frame = at(memory.frames), code = at(memory.code), inner = at(&memory.block);
    size_t inner_offset = layout->cframe_current;
    put(code, OBJECT_TYPE, at(memory.type), 8);
    put(at(memory.thread), layout->thread_frame, at(memory.block), 8);
    if (layout->chain != CPYTHON_CFRAMES) {
        inner = at(memory.thread);
        inner_offset = layout->thread_frame;
    }
    if (layout->thread_chunk != 0) {
        put(at(memory.thread), layout->thread_chunk, at(memory.piece), 8);
        memory.piece[1] = sizeof memory.piece + sizeof memory.frames;
    }
    for (uint32_t i = 0; i < count; i++) {
        put(inner, inner_offset, frame, 8);
        put(frame, layout->frame_code, code, 8);
        put(frame, layout->frame_instruction,
            layout->code_instructions != 0 ? code + layout->code_instructions + 2 * i : i,
            layout->code_instructions != 0 ? 8 : 4);
        bool is_border = (borders >> i & 1) != 0;
        if (layout->entry_mark == CPYTHON_IS_ENTRY) {
            put(frame, layout->frame_is_entry, is_border ? IS_ENTRY : 0, 1);
        }
        inner = frame;
        inner_offset = layout->frame_previous;
        frame += SLOT;
        if (layout->entry_mark == CPYTHON_SHIM && is_border) {
            put(inner, inner_offset, frame, 8);
            put(frame, layout->frame_owner, OWNER_SHIM, 1);
            inner = frame;
            frame += SLOT;
        }
    }
    return at(memory.frames);
}

static struct frame_chain begin(const struct cpython_layout *layout)
{
    struct frame_chain chain;
    frame_chain_begin(&chain, layout, at(memory.type), at(memory.thread), false);
    return chain;
}

static void test_every_frame_of_a_long_chain_is_told_once_and_in_order(void **state)
{
    (void)state;
    for (unsigned minor = 9; minor <= 13; minor++) {
        for (uint32_t count = 0; count <= FRAMES; count++) {
            const struct cpython_layout *layout = cpython_layout_of(minor);
            uint64_t address = make(layout, count, 0);
            struct frame_chain chain = begin(layout);
            for (uint32_t i = 0; i < count; i++) {
                const struct chain_frame *frame = frame_chain_next(&chain);
                assert_non_null(frame);
                assert_int_equal(frame->address, address + (uint64_t)i * SLOT);
                assert_int_equal(frame->code, at(memory.code));
                assert_int_equal(frame->instruction, layout->unit_bytes == 1 ? i : 2 * i);
            }
            assert_null(frame_chain_next(&chain));
            assert_null(frame_chain_next(&chain));
        }
    }
}

/* Also for the last frame of a block that is read at once: the frame behind it shows whether it is a border. */
static void test_the_outermost_frame_of_a_native_entry_is_a_border_and_no_other_is(void **state)
{
    (void)state;
    const uint32_t borders =
        1u << 2 | 1u << (FRAMES_AHEAD - 1) | 1u << FRAMES_AHEAD | 1u << (2 * FRAMES_AHEAD) | 1u << (FRAMES - 1);
    for (unsigned minor = 11; minor <= 13; minor++) {
        const struct cpython_layout *layout = cpython_layout_of(minor);
        (void)make(layout, FRAMES, borders);
        struct frame_chain chain = begin(layout);
        for (uint32_t i = 0; i < FRAMES; i++) {
            const struct chain_frame *frame = frame_chain_next(&chain);
            assert_non_null(frame);
            assert_int_equal(frame->is_border, borders >> i & 1);
        }
        assert_null(frame_chain_next(&chain));
    }
}

static void test_each_frame_of_an_older_version_is_a_border(void **state)
{
    (void)state;
    for (unsigned minor = 9; minor <= 10; minor++) {
        (void)make(cpython_layout_of(minor), FRAMES, 0);
        struct frame_chain chain = begin(cpython_layout_of(minor));
        for (uint32_t i = 0; i < FRAMES; i++) {
            const struct chain_frame *frame = frame_chain_next(&chain);
            assert_non_null(frame);
            assert_true(frame->is_border);
        }
    }
}

static void test_what_has_no_code_object_ends_the_chain(void **state)
{
    (void)state;
    const uint32_t bad = FRAMES_AHEAD + 3;
    for (unsigned minor = 9; minor <= 13; minor++) {
        const struct cpython_layout *layout = cpython_layout_of(minor);
        uint64_t address = make(layout, FRAMES, 0);
        put(address + (uint64_t)bad * SLOT, layout->frame_code, at(memory.thread), 8);
        struct frame_chain chain = begin(layout);
        for (uint32_t i = 0; i < bad; i++) {
            assert_non_null(frame_chain_next(&chain));
        }
        assert_null(frame_chain_next(&chain));
    }
}

/* The frame is half made: its instruction is before the first that a traceback would show. */
static void test_a_frame_that_has_not_begun_is_not_told(void **state)
{
    (void)state;
    const uint32_t begun = 5;
    for (unsigned minor = 11; minor <= 13; minor++) {
        const struct cpython_layout *layout = cpython_layout_of(minor);
        uint64_t address = make(layout, FRAMES, 0);
        put(at(memory.code), layout->code_first_traceable, begun, 4);
        struct frame_chain chain = begin(layout);
        for (uint32_t i = begun; i < FRAMES; i++) {
            const struct chain_frame *frame = frame_chain_next(&chain);
            assert_non_null(frame);
            assert_int_equal(frame->address, address + (uint64_t)i * SLOT);
        }
        assert_null(frame_chain_next(&chain));
    }
}

static void test_a_chain_that_leads_back_into_itself_ends(void **state)
{
    (void)state;
    for (unsigned minor = 9; minor <= 13; minor++) {
        const struct cpython_layout *layout = cpython_layout_of(minor);
        uint64_t address = make(layout, FRAMES, 0);
        put(address + (FRAMES - 1) * SLOT, layout->frame_previous, address, 8);
        struct frame_chain chain = begin(layout);
        uint32_t count = 0;
        while (frame_chain_next(&chain) != NULL) {
            count++;
        }
        assert_true(count >= FRAMES && count <= 4 * FRAMES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_frame_of_a_long_chain_is_told_once_and_in_order),
        cmocka_unit_test(test_the_outermost_frame_of_a_native_entry_is_a_border_and_no_other_is),
        cmocka_unit_test(test_each_frame_of_an_older_version_is_a_border),
        cmocka_unit_test(test_what_has_no_code_object_ends_the_chain),
        cmocka_unit_test(test_a_frame_that_has_not_begun_is_not_told),
        cmocka_unit_test(test_a_chain_that_leads_back_into_itself_ends),
    };
    return cmocka_run_group_tests_name("frame_chain", tests, NULL, NULL);
}
