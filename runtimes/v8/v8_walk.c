/* SPDX-License-Identifier: Apache-2.0 */
/* v8_walk.c - converts frames to ids and lines. */
#include "v8.h"

#include <errno.h>
#include <string.h>

#include "js_inlined.h"
#include "js_lines.h"
#include "js_positions.h"

struct v8 the_v8;

/* ---- names ---- */

uint64_t v8_id_of(const struct js_description *it, size_t skip)
{
    char begin[JS_BEGIN_BYTES + 1];
    memcpy(begin, it->begin, it->begin_bytes);
    begin[it->begin_bytes] = '\0';
    return stallbox_function_id(it->file + skip, it->file_bytes - skip, it->position, begin);
}

/* Called for a function that was not met before: its name goes to the map now. Returns 0 if it cannot be read. */
static __attribute__((noinline)) uint64_t first_sight(struct js_pages *pages, const struct js_function *function,
                                                      uint32_t *budget)
{
    struct js_description it;
    if (!js_function_describe(pages, &the_v8.layout, function, &it)) {
        return 0;
    }
    size_t skip = js_path_prefix_bytes(&the_v8.roots, it.file, it.file_bytes);
    uint64_t id = v8_id_of(&it, skip);
    uint32_t line = js_line_of(pages, &the_v8.layout, function, &the_v8.counted, it.position, budget);
    if (line != 0) {
        js_numbers_put(&the_v8.definitions, function->key, line);
        if (stallbox_provider_tell_name(the_v8.provider, id, line, it.file + skip, it.file_bytes - skip, it.name,
                                        it.name_bytes) != 0) {
            js_numbers_put(&the_v8.ids, function->key, id);
        }
    }
    return id;
}

#define LINE_LOOKED_UP (UINT64_C(1) << 32) /* set once the table was read, with or without a line */

/* There is no table until V8 was asked for a stack. */
static bool is_table(struct js_pages *pages, uint64_t positions)
{
    struct js_object object;
    return js_object_open(pages, positions, JS_ARRAY_ITEMS, &object) && object.type == the_v8.layout.type_bytes;
}

/* Returns the current line if V8 knows it, else that of the definition. */
static uint32_t line_of(struct js_pages *pages, const struct v8_told *told, uint32_t *budget)
{
    const struct js_function *function = &told->function;
    uint64_t position;
    uint32_t line = 0;
    if (told->positions != 0) {
        uint64_t key = ((function->key ^ (told->offset + UINT64_C(1))) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
        uint64_t known = js_numbers_find(&the_v8.lines, key);
        line = (uint32_t)known;
        if (known == 0 && is_table(pages, told->positions)) {
            bool has_place = js_positions_find(pages, &the_v8.layout, told->positions, told->offset, &position) &&
                             js_position_script(position) >= 0;
            line = has_place ? js_line_of(pages, &the_v8.layout, function, &the_v8.counted,
                                          (uint32_t)js_position_script(position), budget)
                             : 0;
            if (line != 0 || !has_place) { /* else the lines are not counted yet */
                js_numbers_put(&the_v8.lines, key, line | LINE_LOOKED_UP);
            }
        }
    }
    return line != 0 ? line : (uint32_t)js_numbers_find(&the_v8.definitions, function->key);
}

void v8_tell(struct js_pages *pages, const struct v8_told *told, uint32_t *budget, uint64_t *id_out, uint32_t *line_out)
{
    *id_out = js_numbers_find(&the_v8.ids, told->function.key);
    if (*id_out == 0) {
        *id_out = first_sight(pages, &told->function, budget);
    }
    *line_out = line_of(pages, told, budget);
}

/* ---- the walk ---- */

struct js_code v8_code_of(void *isolate)
{
    struct js_code code = the_v8.builtins_code;
    void *begin = NULL;
    size_t bytes = 0;
    the_v8.code_range(isolate, &begin, &bytes);
    code.begin = (uint64_t)(uintptr_t)begin;
    code.bytes = bytes;
    return code;
}

/* Gets the functions of a frame of optimized code; 0: the inlined functions are not known. */
static uint32_t inlined_of(struct js_pages *pages, uint64_t isolate, const struct js_frame *frame,
                           const struct js_function *outer, struct v8_told *told)
{
    struct js_made_code code;
    struct js_inlined list[JS_INLINED_MAX];
    uint32_t told_count = 0;
    if (!js_code_find(pages, &the_v8.layout, &the_v8.code, frame->function, frame->pc, &code)) {
        return 0;
    }
    uint32_t count = js_inlined_at(pages, &the_v8.layout, &code, frame->pc, frame->is_exact, list);
    for (uint32_t i = count; i > 0; i--) {
        struct v8_told *at = &told[told_count];
        if (js_function_look(pages, &the_v8.layout, isolate, list[i - 1].shared, &at->function) != JS_FUNCTION) {
            continue; /* V8's own */
        }
        at->positions = js_shared_positions(pages, &the_v8.layout, list[i - 1].shared);
        at->offset = list[i - 1].offset;
        told_count++;
    }
    /* The outermost must be the frame's own function. Otherwise this was another function's code. */
    return told_count != 0 && told[told_count - 1].function.key == outer->key ? told_count : 0;
}

uint32_t v8_functions_of(struct js_pages *pages, uint64_t isolate, const struct js_code *code,
                         const struct js_frame *frame, struct v8_told *told)
{
    struct js_function outer;
    if (js_function_look(pages, &the_v8.layout, isolate, frame->function, &outer) != JS_FUNCTION) {
        return 0;
    }
    told[0] = (struct v8_told){.function = outer};
    if (js_frame_bytecode(pages, &the_v8.layout, frame->fp, &told[0].positions, &told[0].offset)) {
        return 1;
    }
    told[0].positions = 0;
    uint32_t count = frame->pc - code->begin < code->bytes ? inlined_of(pages, isolate, frame, &outer, told) : 0;
    if (count == 0) {
        told[0] = (struct v8_told){.function = outer};
    }
    return count != 0 ? count : 1;
}

/* Results for frames of this walk that may come again, with the same place of the same function. This happens in every
 * recursion. Each walk has its own table. */
enum {
    ALIKE_BITS = 4,
    ALIKE_FUNCTIONS = 4
};

struct alike {
    uint64_t function, pc, bytecode;
    uint32_t count;
    bool has_ids;
    uint64_t ids[ALIKE_FUNCTIONS];
    uint32_t lines[ALIKE_FUNCTIONS];
};

struct list {
    struct alike alike[1 << ALIKE_BITS];
    struct js_pages *pages;
    uint64_t isolate;
    const struct js_code *code;
    uint64_t *functions;
    uint32_t *lines;
    size_t first, max;
    size_t count; /* frames so far, with those that are not wanted */
    size_t run;   /* frames of the current entry from native code */
    uint32_t budget;
    uint32_t state; /* enum js_state */
};

static bool is_wanted(const struct list *list, size_t number)
{
    return number >= list->first && number - list->first < list->max;
}

static void add(struct list *list, uint64_t id, uint32_t line)
{
    if (is_wanted(list, list->count)) {
        list->functions[list->count - list->first] = id;
        list->lines[list->count - list->first] = line;
    }
    list->count++;
    list->run++;
}

/* Reports the functions of a frame, and stores them in `alike` if it has room. */
static bool tell_frame(struct list *list, const struct js_frame *frame, struct alike *alike)
{
    struct v8_told told[JS_INLINED_MAX];
    uint32_t count = v8_functions_of(list->pages, list->isolate, list->code, frame, told);
    if (count != 0 && list->count == 0 && list->state == JS_STATE_COLLECTS) {
        add(list, the_v8.collector_id, 0);
    }
    alike->has_ids = is_wanted(list, list->count) && is_wanted(list, list->count + count - 1);
    alike->count = count;
    if (count > ALIKE_FUNCTIONS) {
        alike->function = 0; /* no room: not stored */
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id = 0;
        uint32_t line = 0;
        if (is_wanted(list, list->count)) {
            v8_tell(list->pages, &told[i], &list->budget, &id, &line);
        }
        if (i < ALIKE_FUNCTIONS) {
            alike->ids[i] = id;
            alike->lines[i] = line;
        }
        add(list, id, line);
    }
    return true;
}

static bool add_frame(void *to, const struct js_frame *frame)
{
    struct list *list = to;
    if (frame->function == 0) { /* native code called JavaScript here */
        if (list->run == 0) {
            add(list, the_v8.builtin_id, 0);
        }
        if (is_wanted(list, list->count - 1)) {
            list->lines[list->count - 1 - list->first] |= STALLBOX_PROVIDER_BORDER;
        }
        list->run = 0;
        return true;
    }
    uint64_t bytecode =
        js_can_read(list->pages, frame->fp + JS_FRAME_BYTECODE, 8) ? js_word_at(frame->fp + JS_FRAME_BYTECODE) : 0;
    struct alike *alike = &list->alike[js_place_of(frame->function ^ frame->pc ^ bytecode, ALIKE_BITS)];
    if (frame->is_exact || alike->function != frame->function || alike->pc != frame->pc ||
        alike->bytecode != bytecode || (!alike->has_ids && is_wanted(list, list->count))) {
        *alike =
            (struct alike){.function = frame->function, .pc = frame->is_exact ? 0 : frame->pc, .bytecode = bytecode};
        return tell_frame(list, frame, alike);
    }
    for (uint32_t i = 0; i < alike->count; i++) {
        add(list, alike->ids[i], alike->lines[i]);
    }
    return true;
}

/* Reports the range of the isolate's generated code, once, in a call of the thread itself. */
static void announce(uint64_t begin, uint64_t bytes)
{
    enum {
        COUNT = sizeof the_v8.announced / sizeof the_v8.announced[0]
    };
    uint32_t free_place = COUNT;
    for (uint32_t i = COUNT; i > 0; i--) {
        uint64_t known = __atomic_load_n(&the_v8.announced[i - 1], __ATOMIC_RELAXED); /* relaxed: a number by itself */
        if (known == begin) {
            return;
        }
        free_place = known == 0 ? i - 1 : free_place;
    }
    if (bytes == 0 || free_place == COUNT || __atomic_exchange_n(&the_v8.announces, 1, __ATOMIC_ACQUIRE) != 0) {
        return; /* the next walk does this */
    }
    if (__atomic_load_n(&the_v8.announced[free_place], __ATOMIC_RELAXED) == 0) {
        (void)stallbox_provider_add_code(the_v8.provider, (const void *)(uintptr_t)begin,
                                         (const void *)(uintptr_t)(begin + bytes));
        __atomic_store_n(&the_v8.announced[free_place], begin, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&the_v8.announces, 0, __ATOMIC_RELEASE);
}

void *v8_resolve(void)
{
    /* Before V8 starts and after it ends, 10.2 would return another library's value for its key. */
    if (the_v8.has_isolates != NULL && !__atomic_load_n(the_v8.has_isolates, __ATOMIC_ACQUIRE)) {
        return NULL;
    }
    return the_v8.current_isolate();
}

size_t v8_walk_at(void *context, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                  uint32_t *lines, size_t max)
{
    struct js_pages pages = {.known = {0}};
    struct list list = {.pages = &pages,
                        .isolate = (uint64_t)(uintptr_t)context,
                        .functions = functions,
                        .lines = lines,
                        .first = first,
                        .max = max,
                        .budget = JS_LINES_BUDGET};
    struct js_begin begin = {.sp = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
    if (interrupted != NULL) {
        begin = (struct js_begin){interrupted->pc, interrupted->sp, interrupted->fp};
    }
    uint64_t top = js_isolate_top(&the_v8.isolates, &the_v8.layout, &pages, list.isolate, begin.sp);
    if (top == 0) {
        return 0;
    }
    struct js_code code = v8_code_of(context);
    int saved_errno = errno;
    list.code = &code;
    list.state = js_half_at(top + JS_TOP_STATE);
    if (interrupted == NULL) {
        announce(code.begin, code.bytes);
    }
    (void)js_stack_walk(&the_v8.layout, &pages, list.isolate, top, &begin, &code, add_frame, &list);
    errno = saved_errno;
    return list.count;
}
