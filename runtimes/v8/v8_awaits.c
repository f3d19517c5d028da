/* SPDX-License-Identifier: Apache-2.0 */
/* v8_awaits.c - reports asynchronous functions that await each other, as ids and lines. */
#include <errno.h>

#include "js_awaits.h"
#include "js_inlined.h"
#include "js_lines.h"
#include "v8.h"

static struct js_jobs the_jobs;

size_t v8_awaited_by(void *context, const struct stallbox_interrupted *interrupted, uint64_t *functions,
                     uint32_t *lines, size_t max)
{
    struct js_pages pages = {.known = {0}};
    const struct js_layout *layout = &the_v8.layout;
    uint64_t isolate = (uint64_t)(uintptr_t)context;
    uint64_t sp = interrupted != NULL ? interrupted->sp : (uint64_t)(uintptr_t)__builtin_frame_address(0);
    int saved_errno = errno;
    struct js_awaits awaits;
    struct js_awaiting awaiting;
    uint32_t budget = JS_LINES_BUDGET;
    size_t count = 0;
    /* If no JavaScript is on the stack, no job runs. */
    bool begun = js_isolate_top(&the_v8.isolates, layout, &pages, isolate, sp) != 0 &&
                 js_awaits_begin(&awaits, layout, &pages, &the_jobs, isolate);
    while (begun && count < max && js_awaits_next(&awaits, &awaiting)) {
        struct v8_told told;
        if (js_function_look(&pages, layout, isolate, awaiting.function, &told.function) != JS_FUNCTION) {
            continue; /* V8's own */
        }
        told.positions = js_shared_positions(&pages, layout, told.function.shared + JS_OBJECT_TAG);
        told.offset = awaiting.offset;
        v8_tell(&pages, &told, &budget, &functions[count], &lines[count]);
        lines[count++] |= STALLBOX_PROVIDER_BORDER; /* each is a separate task */
    }
    errno = saved_errno;
    return count;
}
