/* SPDX-License-Identifier: Apache-2.0 */
/* cpython_walk.c - converts frames to ids and lines. */
#include "code_lines.h"
#include "code_table.h"
#include "cpython.h"
#include "executor_queue.h"
#include "frame_chain.h"
#include "interpreter_lock.h"

/* A key that differs when another code object is allocated at the same address. */
static uint64_t key_of(const struct cpython_layout *layout, uint64_t code)
{
    uint64_t file = object_word_at(code, layout->code_file), name = object_word_at(code, layout->code_name);
    uint64_t key = code ^ (file << 21 | file >> 43) ^ (name << 42 | name >> 22);
    return code_table_mix(key, object_word_at(code, layout->code_lines));
}

/* Called for a function that was not seen before: reads its names and reports them. If there is no room for the names
 * now, the next call tries again. */
__attribute__((noinline)) static uint64_t make_id(const struct cpython_layout *layout, uint64_t code, uint64_t key)
{
    char file[CODE_FILE_MAX], name[CODE_NAME_MAX + 1];
    size_t file_bytes =
        code_name_text(layout, the_cpython.types.string, object_word_at(code, layout->code_file), file, sizeof file);
    size_t name_bytes =
        code_name_text(layout, the_cpython.types.string, object_word_at(code, layout->code_name), name, CODE_NAME_MAX);
    if (file_bytes == 0 || name_bytes == 0) {
        return 0;
    }
    name[name_bytes] = '\0';
    file_bytes = source_path_tidy(file, file_bytes);
    executor_queue_meets(file, file_bytes);
    size_t prefix = search_path_cut(&the_cpython.search_path, file, file_bytes);
    uint32_t line = object_half_at(code, layout->code_first_line);
    uint64_t id = stallbox_function_id(file + prefix, file_bytes - prefix, line, name);
    if (stallbox_provider_tell_name(the_cpython.provider, id, line, file + prefix, file_bytes - prefix, name,
                                    name_bytes) != 0) {
        code_table_keep_id(key, id);
    }
    return id;
}

__attribute__((noinline)) static uint32_t make_line(const struct cpython_layout *layout,
                                                    const struct chain_frame *frame)
{
    struct object_page page = {0};
    uint64_t table = object_word_at(frame->code, layout->code_lines);
    if (!object_can_read(&page, table, OBJECT_BYTES_AT)) {
        return 0;
    }
    uint64_t bytes = object_word_at(table, OBJECT_SIZE), from = table + OBJECT_BYTES_AT;
    enum {
        TABLE_MOST = 1 << 16, /* enough for a function of 30,000 lines */
        STEP = 4096
    };
    if (bytes > TABLE_MOST) {
        return 0;
    }
    for (uint64_t at = from; at < from + bytes; at += STEP) {
        uint64_t part = from + bytes - at < STEP ? from + bytes - at : STEP;
        if (stallbox_provider_can_read((const void *)(uintptr_t)at, part) == 0) {
            return 0;
        }
    }
    return cpython_line_of((enum cpython_line_table)layout->line_table, (const uint8_t *)(uintptr_t)from, bytes,
                           object_half_at(frame->code, layout->code_first_line), frame->instruction);
}

/* Garbage collection is reported as a function of the runtime's library, as the innermost frame. */
static void tell_collection(uint64_t *function, uint32_t *line)
{
    static const char file[] = "<gc>", name[] = "(garbage collection)";
    static bool is_told;
    *function = stallbox_function_id(file, sizeof file - 1, 0, name);
    *line = 0;
    if (!__atomic_load_n(&is_told, __ATOMIC_RELAXED)) {
        int told = stallbox_provider_tell_name(the_cpython.provider, *function, 0, file, sizeof file - 1, name,
                                               sizeof name - 1);
        __atomic_store_n(&is_told, told != 0, __ATOMIC_RELAXED);
    }
}

/* Called for an instruction that was not seen before. */
__attribute__((noinline)) static void make_place(const struct cpython_layout *layout, const struct chain_frame *frame,
                                                 uint64_t key, uint64_t place_key, uint64_t *function, uint32_t *line)
{
    uint64_t id = code_table_id(key);
    *function = id != 0 ? id : make_id(layout, frame->code, key);
    *line = make_line(layout, frame);
    code_table_keep_place(place_key, code_table_id(key), *line); /* only if the id was stored */
}

static inline __attribute__((always_inline)) void
tell(const struct cpython_layout *layout, const struct chain_frame *frame, uint64_t *function, uint32_t *line)
{
    uint64_t key = key_of(layout, frame->code), place_key = code_table_mix(key, (uint64_t)frame->instruction);
    if (__builtin_expect(!code_table_place(place_key, function, line), 0)) {
        make_place(layout, frame, key, place_key, function, line);
    }
}

void cpython_tell_frame(const struct chain_frame *frame, uint64_t *function, uint32_t *line)
{
    tell(the_cpython.layout, frame, function, line);
}

size_t cpython_walk(void *thread, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                    uint32_t *lines, size_t max)
{
    const struct cpython_layout *layout = the_cpython.layout;
    struct frame_chain chain;
    size_t count = 0;
    frame_chain_begin(&chain, layout, the_cpython.types.code, (uint64_t)(uintptr_t)thread, interrupted != NULL);
    if (interpreter_lock_collects(layout, (uint64_t)(uintptr_t)thread)) {
        if (first == 0 && max > 0) {
            tell_collection(functions, lines);
        }
        count = 1;
    }
    for (const struct chain_frame *frame; (frame = frame_chain_next(&chain)) != NULL; count++) {
        size_t at = count - first;
        if (count >= first && at < max) {
            tell(layout, frame, &functions[at], &lines[at]);
            lines[at] |= frame->is_border ? STALLBOX_PROVIDER_BORDER : 0;
        }
    }
    if (interrupted == NULL) {
        executor_queue_look((uint64_t)(uintptr_t)thread);
    }
    return count;
}
