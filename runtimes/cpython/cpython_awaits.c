/* SPDX-License-Identifier: Apache-2.0 */
/* cpython_awaits.c - reports the tasks that await each other, as ids and lines. */
#include "await_chain.h"
#include "cpython.h"

static void swap(uint64_t *functions, uint32_t *lines, size_t a, size_t b)
{
    uint64_t function = functions[a];
    uint32_t line = lines[a];
    functions[a] = functions[b];
    lines[a] = lines[b];
    functions[b] = function;
    lines[b] = line;
}

/* A task's frames are found from the outermost to the innermost, and reported in the other order. A task with more
 * frames than the room left is omitted, together with the tasks that await it. */
size_t cpython_awaited_by(void *thread, const struct stallbox_interrupted *interrupted, uint64_t *functions,
                          uint32_t *lines, size_t max)
{
    struct await_chain chain;
    size_t count = 0;
    if (!await_chain_begin(&chain, &the_cpython, (uint64_t)(uintptr_t)thread, interrupted != NULL)) {
        return 0;
    }
    for (uint64_t task; (task = await_chain_next(&chain)) != 0;) {
        struct await_frames frames;
        struct chain_frame frame;
        size_t begin = count;
        for (await_frames_begin(&frames, &chain, task); await_frames_next(&frames, &frame); count++) {
            if (count == max) {
                return begin;
            }
            cpython_tell_frame(&frame, &functions[count], &lines[count]);
        }
        for (size_t a = begin, b = count; a + 1 < b; a++, b--) {
            swap(functions, lines, a, b - 1);
        }
        if (count > begin) {
            lines[count - 1] |= STALLBOX_PROVIDER_BORDER;
        }
    }
    return count;
}
