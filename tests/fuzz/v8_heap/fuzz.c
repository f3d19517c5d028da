/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - a heap and a stack of V8 with arbitrary content: nothing outside of them may be read, and every reading must
 * end.
 *
 * The input is 8-byte words of a made-up memory. A word whose upper half is MARK is an address in that memory; its
 * lower half is the offset. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz_target.h"
#include "js_awaits.h"
#include "js_inlined.h"
#include "js_lines.h"
#include "js_positions.h"
#include "js_stack.h"

#define MARK UINT64_C(0x5a5a5a5a)

enum {
    WORDS = 1024,
    MEMORY_BYTES = WORDS * 8,
    PAGE = 4096
};

static uint64_t *memory; /* between pages that cannot be read */
static struct js_numbers found, counted;

/* Only the made-up memory can be read. */
int stallbox_provider_can_read(const void *at, size_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)memory, place = (uint64_t)(uintptr_t)at - begin;
    return place < MEMORY_BYTES && bytes <= MEMORY_BYTES - place;
}

static bool visit(void *to, const struct js_frame *frame)
{
    uint64_t *seen = to;
    *seen += frame->function & 1;
    return true;
}

static void read_all(const struct js_layout *layout)
{
    struct js_pages pages = {.known = {0}};
    char to[64];
    struct js_text text = {.to = to, .room = sizeof to};
    struct js_function function;
    struct js_description description;
    struct js_made_code code;
    struct js_inlined inlined[JS_INLINED_MAX];
    uint64_t begin = (uint64_t)(uintptr_t)memory, position, table, seen = 0;
    uint32_t offset, budget = JS_LINES_BUDGET;
    (void)js_string_append(&pages, memory[0], &text);
    if (text.bytes > sizeof to) {
        abort();
    }
    if (js_function_look(&pages, layout, begin, memory[1], &function) == JS_FUNCTION) {
        (void)js_function_describe(&pages, layout, &function, &description);
        (void)js_line_of(&pages, layout, &function, &counted, (uint32_t)memory[2], &budget);
    }
    (void)js_positions_find(&pages, layout, memory[3], (uint32_t)memory[2], &position);
    (void)js_frame_bytecode(&pages, layout, memory[4], &table, &offset);
    (void)js_shared_positions(&pages, layout, memory[5]);
    if (js_code_find(&pages, layout, &found, memory[6], memory[7], &code)) {
        (void)js_inlined_at(&pages, layout, &code, memory[7], false, inlined);
        (void)js_inlined_at(&pages, layout, &code, memory[7], true, inlined);
    }
    struct js_isolates isolates = {.top = 8 * 16};
    const struct js_begin interrupted = {memory[8], begin, memory[9]};
    const struct js_code ranges = {begin + 4096, 2048, begin + 6144, 2048};
    uint64_t top = js_isolate_top(&isolates, layout, &pages, begin, begin);
    if (top != 0) {
        (void)js_stack_walk(layout, &pages, begin, top, &interrupted, &ranges, visit, &seen);
    }
}

static void follow_awaits(const struct js_layout *layout)
{
    struct js_pages pages = {.known = {0}};
    struct js_awaits awaits;
    struct js_awaiting awaiting;
    struct js_jobs jobs = {.at = 8 * 18}, unknown = {.at = 0};
    uint64_t begin = (uint64_t)(uintptr_t)memory;
    uint32_t found_count = 0;
    bool begun = js_awaits_begin(&awaits, layout, &pages, &jobs, begin);
    while (begun && js_awaits_next(&awaits, &awaiting)) {
        found_count++;
    }
    if (found_count > JS_AWAITS_STEPS) {
        abort();
    }
    (void)js_awaits_begin(&awaits, layout, &pages, &unknown, begin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct js_layout layout = {.type_shared = 257,
                               .type_script = 170,
                               .type_scope = 256,
                               .type_bytecodes = 195,
                               .type_debug = 156,
                               .type_array = 179,
                               .type_bytes = 194,
                               .type_code = 240,
                               .type_stream = 252,
                               .type_interpreter = 162,
                               .type_function = 2062,
                               .type_context_first = 181,
                               .type_context_last = 190,
                               .type_promise = 1074,
                               .type_reaction = 166,
                               .type_capability = 165,
                               .type_async_function = 1080,
                               .type_async_generator = 1081,
                               .type_request = 150,
                               .type_fulfill_job = 152,
                               .type_reject_job = 153,
                               .frame_entry = 1,
                               .frame_construct_entry = 2,
                               .frame_exit = 3,
                               .frame_builtin_exit = 22,
                               .bytecodes_first = 56,
                               .fast_call = 256};
    if (memory == NULL) {
        uint8_t *pages = mmap(NULL, MEMORY_BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + PAGE, MEMORY_BYTES, PROT_READ | PROT_WRITE) != 0) {
            abort();
        }
        memory = (uint64_t *)(void *)(pages + PAGE);
    }
    memset(memory, 0, MEMORY_BYTES);
    memset(&found, 0, sizeof found);
    memset(&counted, 0, sizeof counted);
    memcpy(memory, data, bytes < MEMORY_BYTES ? bytes : MEMORY_BYTES);
    for (uint32_t i = 0; i < WORDS; i++) {
        if (memory[i] >> 32 == MARK) {
            memory[i] = (uint64_t)(uintptr_t)memory + (memory[i] & (MEMORY_BYTES - 1));
        }
    }
    for (layout.minor = 2; layout.minor <= 3; layout.minor++) {
        read_all(&layout);
        follow_awaits(&layout);
    }
    return 0;
}
