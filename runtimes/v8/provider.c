/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c - the walk as a provider of the agent's: libstallbox-v8.so.
 *
 * The agent's module thread asks stallbox_runtime_attach() once it sees V8. Nothing of the program is called: what is asked of V8 are
 * functions that return a word (which isolate is this thread's, where does its code lie). */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "js_function.h"
#include "js_lines.h"
#include "js_numbers.h"
#include "js_paths.h"
#include "js_positions.h"
#include "js_stack.h"

static struct {
    struct js_layout layout;
    struct js_isolates isolates;
    struct js_roots roots;
    struct js_numbers ids, definitions, lines, counted;
    struct stallbox_provider *provider;
    const char *(*version)(void);
    void *(*current_isolate)(void);
    void (*code_range)(void *isolate, void **begin_out, size_t *bytes_out);
    const void *(*builtins)(void);
    uint32_t (*builtins_bytes)(void);
    struct js_code builtins_code; /* without an isolate's own */
    uint32_t announces;           /* 1: somebody announces a range of code just now */
    uint64_t announced[8];
    uint64_t collector_id, builtin_id;
} the;

/* ---- names ---- */

/* A function that was not seen before: its name goes to the map now. 0: it cannot be read. */
static __attribute__((noinline)) uint64_t first_sight(struct js_pages *pages, const struct js_function *function,
                                                      uint32_t *budget)
{
    struct js_description it;
    if (!js_function_describe(pages, &the.layout, function, &it)) {
        return 0;
    }
    size_t skip = js_path_prefix_bytes(&the.roots, it.file, it.file_bytes);
    char name[JS_NAME_BYTES + 1];
    memcpy(name, it.name, it.name_bytes);
    name[it.name_bytes] = '\0';
    uint64_t id = stallbox_function_id(it.file + skip, it.file_bytes - skip, it.position, name);
    uint32_t line = js_line_of(pages, &the.layout, function, &the.counted, it.position, budget);
    if (line != 0) {
        js_numbers_put(&the.definitions, function->key, line);
        if (stallbox_provider_tell_name(the.provider, id, line, it.file + skip, it.file_bytes - skip, it.name,
                                        it.name_bytes) != 0) {
            js_numbers_put(&the.ids, function->key, id);
        }
    }
    return id;
}

/* The line that runs, where V8 knows it; else that of the definition. */
static uint32_t line_of(struct js_pages *pages, const struct js_function *function, const struct js_frame *frame,
                        uint32_t *budget)
{
    uint64_t table, position;
    uint32_t offset, line = 0;
    if (js_frame_bytecode(pages, &the.layout, frame->fp, &table, &offset)) {
        uint64_t key = ((function->key ^ (offset + UINT64_C(1))) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
        line = (uint32_t)js_numbers_find(&the.lines, key);
        if (line == 0 && js_positions_find(pages, &the.layout, table, offset, &position) &&
            js_position_script(position) >= 0) {
            line =
                js_line_of(pages, &the.layout, function, &the.counted, (uint32_t)js_position_script(position), budget);
            if (line != 0) {
                js_numbers_put(&the.lines, key, line);
            }
        }
    }
    return line != 0 ? line : (uint32_t)js_numbers_find(&the.definitions, function->key);
}

/* ---- the walk ---- */

struct list {
    struct js_pages *pages;
    uint64_t isolate;
    uint64_t *functions;
    uint32_t *lines;
    size_t first, max;
    size_t count; /* frames so far, those not wanted too */
    size_t run;   /* and of the native entry at hand */
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

static bool add_frame(void *to, const struct js_frame *frame)
{
    struct list *list = to;
    struct js_function function;
    if (frame->function == 0) { /* native code called JavaScript here */
        if (list->run == 0) {
            add(list, the.builtin_id, 0);
        }
        if (is_wanted(list, list->count - 1)) {
            list->lines[list->count - 1 - list->first] |= STALLBOX_PROVIDER_BORDER;
        }
        list->run = 0;
        return true;
    }
    if (js_function_look(list->pages, &the.layout, list->isolate, frame->function, &function) != JS_FUNCTION) {
        return true; /* V8's own; or no function at all */
    }
    if (list->count == 0 && list->state == JS_STATE_COLLECTS) {
        add(list, the.collector_id, 0);
    }
    if (!is_wanted(list, list->count)) {
        add(list, 0, 0);
        return true;
    }
    uint64_t id = js_numbers_find(&the.ids, function.key);
    if (id == 0) {
        id = first_sight(list->pages, &function, &list->budget);
    }
    add(list, id, line_of(list->pages, &function, frame, &list->budget));
    return true;
}

/* Where code lies that this isolate generates: said once, in a call of the thread. */
static void announce(uint64_t begin, uint64_t bytes)
{
    enum {
        COUNT = sizeof the.announced / sizeof the.announced[0]
    };
    uint32_t free_place = COUNT;
    for (uint32_t i = COUNT; i > 0; i--) {
        uint64_t known = __atomic_load_n(&the.announced[i - 1], __ATOMIC_RELAXED); /* relaxed: a number by itself */
        if (known == begin) {
            return;
        }
        free_place = known == 0 ? i - 1 : free_place;
    }
    if (bytes == 0 || free_place == COUNT || __atomic_exchange_n(&the.announces, 1, __ATOMIC_ACQUIRE) != 0) {
        return; /* the next walk does it */
    }
    if (__atomic_load_n(&the.announced[free_place], __ATOMIC_RELAXED) == 0) {
        (void)stallbox_provider_add_code(the.provider, (const void *)(uintptr_t)begin,
                                         (const void *)(uintptr_t)(begin + bytes));
        __atomic_store_n(&the.announced[free_place], begin, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&the.announces, 0, __ATOMIC_RELEASE);
}

static void *resolve(void)
{
    return the.current_isolate();
}

static size_t walk_at(void *context, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                      uint32_t *lines, size_t max)
{
    struct js_pages pages = {{0}};
    struct list list = {.pages = &pages,
                        .isolate = (uint64_t)(uintptr_t)context,
                        .functions = functions,
                        .lines = lines,
                        .first = first,
                        .max = max,
                        .budget = JS_LINES_BUDGET};
    struct js_begin begin = {.sp = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
    struct js_code code = the.builtins_code;
    void *code_begin = NULL;
    size_t code_bytes = 0;
    int saved_errno = errno;
    the.code_range(context, &code_begin, &code_bytes);
    code.begin = (uint64_t)(uintptr_t)code_begin;
    code.bytes = code_bytes;
    if (interrupted != NULL) {
        begin = (struct js_begin){interrupted->pc, interrupted->sp, interrupted->fp};
    } else {
        announce(code.begin, code.bytes);
    }
    (void)js_stack_walk(&the.isolates, &the.layout, &pages, list.isolate, &begin, &code, add_frame, &list, &list.state);
    errno = saved_errno;
    return list.count;
}

/* ---- attaching ---- */

static const int32_t *find_number(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static bool find(const char *name, void *function_out)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function_out, &found, sizeof found);
    return found != NULL;
}

static bool find_calls(void)
{
    return find("_ZN2v82V810GetVersionEv", &the.version) &&
           find("_ZN2v87Isolate13TryGetCurrentEv", &the.current_isolate) &&
           find("_ZN2v87Isolate12GetCodeRangeEPPvPm", &the.code_range) &&
           find("_ZN2v88internal23DefaultEmbeddedBlobCodeEv", &the.builtins) &&
           find("_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv", &the.builtins_bytes);
}

static int register_provider(char *why, size_t why_bytes)
{
    const struct stallbox_provider_options options = {
        .sizeof_options = sizeof options,
        .name = "javascript",
        .flags = STALLBOX_PROVIDER_SIGNAL_SAFE,
        .resolve = resolve,
        .walk_at = walk_at,
    };
    the.builtins_code =
        (struct js_code){.builtins_begin = (uint64_t)(uintptr_t)the.builtins(), .builtins_bytes = the.builtins_bytes()};
    const char *begin = the.builtins();
    if (stallbox_provider_register(&options, &the.provider) != STALLBOX_OK ||
        stallbox_provider_add_code(the.provider, begin, begin + the.builtins_bytes()) != STALLBOX_OK) {
        (void)snprintf(why, why_bytes, "there is no room for another runtime");
        return -1;
    }
    return 1;
}

__attribute__((visibility("default"))) int stallbox_runtime_attach(char *why, size_t why_bytes);
int stallbox_runtime_attach(char *why, size_t why_bytes)
{
    static const char file[] = "node:v8", collector[] = "(garbage collector)", builtin[] = "(built-in)";
    if (!find_calls()) {
        (void)snprintf(why, why_bytes, "V8 does not export what is asked");
        return -1;
    }
    if (!js_layout_read(&the.layout, the.version(), find_number, why, why_bytes)) {
        return -1;
    }
    js_roots_find(&the.roots);
    the.collector_id = stallbox_function_id(file, sizeof file - 1, 0, collector);
    the.builtin_id = stallbox_function_id(file, sizeof file - 1, 0, builtin);
    int result = register_provider(why, why_bytes);
    if (result > 0) { /* the ring is empty still */
        (void)stallbox_provider_tell_name(the.provider, the.collector_id, 0, file, sizeof file - 1, collector,
                                          sizeof collector - 1);
        (void)stallbox_provider_tell_name(the.provider, the.builtin_id, 0, file, sizeof file - 1, builtin,
                                          sizeof builtin - 1);
    }
    return result;
}
