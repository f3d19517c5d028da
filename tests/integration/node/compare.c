/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - the provider in a module of its own, with functions for a script that return what we read of the current
 * stack.
 *
 * For process.dlopen(). The few calls of node's module interface that are used are declared here, so no headers are
 * needed. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <stallbox/stallbox.h>

#include "js_awaits.h"
#include "js_inlined.h"
#include "js_lines.h"
#include "step_count.h"
#include "v8.h"

typedef struct napi_env_ *napi_env;
typedef struct napi_value_ *napi_value;
typedef struct napi_info_ *napi_info;
typedef napi_value (*napi_function)(napi_env env, napi_info info);
int napi_create_function(napi_env env, const char *name, size_t bytes, napi_function function, void *data,
                         napi_value *out);
int napi_set_named_property(napi_env env, napi_value object, const char *name, napi_value value);
int napi_create_array(napi_env env, napi_value *out);
int napi_set_element(napi_env env, napi_value array, uint32_t index, napi_value value);
int napi_create_string_utf8(napi_env env, const char *text, size_t bytes, napi_value *out);
int napi_create_double(napi_env env, double number, napi_value *out);
int napi_get_cb_info(napi_env env, napi_info info, size_t *count, napi_value *arguments, napi_value *self, void **data);
int napi_get_value_double(napi_env env, napi_value value, double *out);
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);
int stallbox_runtime_attach(char *why, size_t why_bytes);

enum {
    FRAMES_MAX = 4096
};

/* ---- the stack at hand ---- */

struct asked {
    struct js_pages pages;
    uint64_t isolate;
    struct js_code code;
    napi_env env;
    napi_value list;
    uint32_t count;
    uint64_t ids[FRAMES_MAX];
    uint32_t lines[FRAMES_MAX];
    size_t walked, next; /* of those */
};

static void put(napi_env env, napi_value array, uint32_t index, double number)
{
    napi_value value;
    napi_create_double(env, number, &value);
    napi_set_element(env, array, index, value);
}

static void put_text(napi_env env, napi_value array, uint32_t index, const char *text, size_t bytes)
{
    napi_value value;
    napi_create_string_utf8(env, text, bytes, &value);
    napi_set_element(env, array, index, value);
}

/* Writes [name, script, place, line, whether the id is that of file, place and source, id]. */
static void tell(struct asked *asked, const struct js_description *told)
{
    const struct js_description it = *told;
    napi_value frame;
    while (asked->next < asked->walked && asked->ids[asked->next] == the_v8.builtin_id) {
        asked->next++;
    }
    size_t at = asked->next++, skip = js_path_prefix_bytes(&the_v8.roots, it.file, it.file_bytes);
    uint64_t id = v8_id_of(&it, skip);
    napi_create_array(asked->env, &frame);
    put_text(asked->env, frame, 0, it.name, it.name_bytes);
    put_text(asked->env, frame, 1, it.file, it.file_bytes);
    put(asked->env, frame, 2, it.position);
    put(asked->env, frame, 3, at < asked->walked ? (double)(asked->lines[at] & ~STALLBOX_PROVIDER_BORDER) : -1);
    put(asked->env, frame, 4, at < asked->walked && asked->ids[at] == id);
    char digits[20];
    put_text(asked->env, frame, 5, digits, (size_t)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)id));
    napi_set_element(asked->env, asked->list, asked->count++, frame);
}

/* While the stack is walked no function of V8 is called, because making an array may move what is read. */
struct kept {
    struct asked *asked;
    struct v8_told told[JS_INLINED_MAX];
    struct js_description descriptions[FRAMES_MAX];
    uint32_t count;
};

static bool keep(void *to, const struct js_frame *frame)
{
    struct kept *kept = to;
    struct asked *asked = kept->asked;
    uint32_t count = 0;
    if (frame->function != 0) {
        count = v8_functions_of(&asked->pages, asked->isolate, &asked->code, frame, kept->told);
    }
    for (uint32_t i = 0; i < count && kept->count < FRAMES_MAX; i++) {
        struct js_description *it = &kept->descriptions[kept->count++];
        if (!js_function_describe(&asked->pages, &the_v8.layout, &kept->told[i].function, it)) {
            it->name_bytes = it->file_bytes = 0;
        }
    }
    return true;
}

static napi_value ours(napi_env env, napi_info info)
{
    (void)info;
    static struct asked asked; /* only one thread asks */
    static struct kept kept;
    void *isolate = v8_resolve();
    memset(&asked.pages, 0, sizeof asked.pages);
    asked.isolate = (uint64_t)(uintptr_t)isolate;
    asked.env = env;
    asked.count = 0;
    asked.next = 0;
    asked.code = v8_code_of(isolate);
    asked.walked = v8_walk_at(isolate, NULL, 0, asked.ids, asked.lines, FRAMES_MAX);
    kept.asked = &asked;
    kept.count = 0;
    struct js_begin begin = {.sp = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
    uint64_t top = js_isolate_top(&the_v8.isolates, &the_v8.layout, &asked.pages, asked.isolate, begin.sp);
    (void)js_stack_walk(&the_v8.layout, &asked.pages, asked.isolate, top, &begin, &asked.code, keep, &kept);
    napi_create_array(env, &asked.list);
    for (uint32_t i = 0; i < kept.count; i++) {
        tell(&asked, &kept.descriptions[i]);
    }
    return asked.list;
}

/* The functions that await the one that runs here: [name, line, whether the id is that of file, place and source], the
 * nearest first. */
static napi_value awaits(napi_env env, napi_info info)
{
    (void)info;
    enum {
        MOST = 64
    };
    static struct js_description descriptions[MOST];
    static struct js_jobs jobs;
    uint64_t ids[MOST];
    uint32_t lines[MOST], known = 0;
    struct js_pages pages = {.known = {0}};
    struct js_awaits at;
    struct js_awaiting awaiting;
    napi_value list, item;
    void *isolate = v8_resolve();
    size_t count = v8_awaited_by(isolate, NULL, ids, lines, MOST);
    bool begun = js_awaits_begin(&at, &the_v8.layout, &pages, &jobs, (uint64_t)(uintptr_t)isolate);
    while (begun && known < MOST && js_awaits_next(&at, &awaiting)) { /* no function of V8 is called meanwhile */
        struct js_function function;
        if (js_function_look(&pages, &the_v8.layout, (uint64_t)(uintptr_t)isolate, awaiting.function, &function) ==
                JS_FUNCTION &&
            !js_function_describe(&pages, &the_v8.layout, &function, &descriptions[known++])) {
            descriptions[known - 1].name_bytes = descriptions[known - 1].file_bytes = 0;
        }
    }
    napi_create_array(env, &list);
    for (uint32_t i = 0; i < count; i++) {
        const struct js_description *it = &descriptions[i < known ? i : 0];
        napi_create_array(env, &item);
        put_text(env, item, 0, it->name, it->name_bytes);
        put(env, item, 1, (double)(lines[i] & ~STALLBOX_PROVIDER_BORDER));
        put(env, item, 2,
            i < known && v8_id_of(it, js_path_prefix_bytes(&the_v8.roots, it->file, it->file_bytes)) == ids[i]);
        napi_set_element(env, list, i, item);
    }
    return list;
}

/* ---- a storm of signals ---- */

enum {
    PAIRS = 1 << 14
};

static struct {
    uint64_t pairs[PAIRS][2]; /* function and caller, as on the stacks; 0: free */
    volatile uint64_t signals, walks, frames, unknown, broken;
    timer_t timer;
} storm;

static __thread uint64_t storm_ids[FRAMES_MAX];
static __thread uint32_t storm_lines[FRAMES_MAX];

static void note_pair(uint64_t callee, uint64_t caller)
{
    uint64_t at = (callee * 31 + caller) * UINT64_C(0x9e3779b97f4a7c15) >> 50;
    for (uint32_t i = 0; i < 64; i++, at = (at + 1) % PAIRS) {
        if (storm.pairs[at][0] == callee && storm.pairs[at][1] == caller) {
            return;
        }
        if (storm.pairs[at][0] == 0) {
            storm.pairs[at][0] = callee;
            storm.pairs[at][1] = caller;
            return;
        }
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    const ucontext_t *at = context;
    const greg_t *registers = at->uc_mcontext.gregs;
    struct stallbox_interrupted interrupted = {(uint64_t)registers[REG_RIP], (uint64_t)registers[REG_RSP],
                                               (uint64_t)registers[REG_RBP], (const uint64_t *)(const void *)registers};
    void *isolate = v8_resolve();
    storm.signals++;
    if (isolate == NULL) {
        return;
    }
    size_t count = v8_walk_at(isolate, &interrupted, 0, storm_ids, storm_lines, FRAMES_MAX);
    storm.walks += count != 0;
    storm.frames += count;
    for (size_t i = 0; i < count && i < FRAMES_MAX; i++) {
        storm.unknown += storm_ids[i] == 0;
        if (i > 0 && (storm_lines[i - 1] & STALLBOX_PROVIDER_BORDER) == 0) {
            note_pair(storm_ids[i - 1], storm_ids[i]);
        }
    }
    storm.broken += count != 0 && count <= FRAMES_MAX && (storm_lines[count - 1] & STALLBOX_PROVIDER_BORDER) == 0;
}

/* storm(microseconds): send signals to the calling thread; 0: stop. Returns [signals, stacks, frames, frames without a
 * name, stacks that did not reach the root]. */
static napi_value make_storm(napi_env env, napi_info info)
{
    size_t count = 1;
    napi_value argument, list;
    double microseconds = 0;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    napi_get_value_double(env, argument, &microseconds);
    if (microseconds > 0) {
        struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 5};
        struct itimerspec spec = {{0, (long)microseconds * 1000}, {0, (long)microseconds * 1000}};
        event._sigev_un._tid = gettid();
        /* The first access to a module's thread storage allocates, so it must not be in a handler that may have
         * interrupted malloc(). */
        memset(storm_ids, 0, sizeof storm_ids);
        memset(storm_lines, 0, sizeof storm_lines);
        __asm__ volatile("" : : "r"(storm_ids), "r"(storm_lines) : "memory");
        sigaction(SIGRTMIN + 5, &action, NULL);
        timer_create(CLOCK_MONOTONIC, &event, &storm.timer);
        timer_settime(storm.timer, 0, &spec, NULL);
    } else {
        timer_delete(storm.timer);
    }
    napi_create_array(env, &list);
    put(env, list, 0, (double)storm.signals);
    put(env, list, 1, (double)storm.walks);
    put(env, list, 2, (double)storm.frames);
    put(env, list, 3, (double)storm.unknown);
    put(env, list, 4, (double)storm.broken);
    return list;
}

/* [[id, id of its caller]...] */
static napi_value pairs(napi_env env, napi_info info)
{
    (void)info;
    napi_value list, pair;
    uint32_t count = 0;
    napi_create_array(env, &list);
    for (uint32_t i = 0; i < PAIRS; i++) {
        char digits[20];
        if (storm.pairs[i][0] == 0) {
            continue;
        }
        napi_create_array(env, &pair);
        for (uint32_t side = 0; side < 2; side++) {
            int bytes = snprintf(digits, sizeof digits, "%016llx", (unsigned long long)storm.pairs[i][side]);
            put_text(env, pair, side, digits, (size_t)bytes);
        }
        napi_set_element(env, list, count++, pair);
    }
    return list;
}

/* bench(rounds): the nanoseconds of one walk at this place, with ids and lines, and the number of its frames. */
static napi_value bench(napi_env env, napi_info info)
{
    size_t count = 1, frames = 0;
    napi_value argument, list;
    double rounds = 1;
    struct timespec from, to;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    napi_get_value_double(env, argument, &rounds);
    void *isolate = v8_resolve();
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (double i = 0; i < rounds; i++) {
        frames = v8_walk_at(isolate, NULL, 0, storm_ids, storm_lines, 128);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    napi_create_array(env, &list);
    put(env, list, 0, ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / rounds);
    put(env, list, 1, (double)frames);
    return list;
}

static void walk_once(void *isolate)
{
    (void)v8_walk_at(isolate, NULL, 0, storm_ids, storm_lines, 128);
}

static void ask_once(void *isolate)
{
    struct stallbox_running_work work;
    (void)v8_runs(isolate, NULL, &work);
}

/* steps(): the instructions of one walk at this place, and of the question which function runs. */
static napi_value steps(napi_env env, napi_info info)
{
    (void)info;
    napi_value list;
    void *isolate = v8_resolve();
    napi_create_array(env, &list);
    put(env, list, 0, (double)bench_count_steps(walk_once, isolate));
    put(env, list, 1, (double)bench_count_steps(ask_once, isolate));
    return list;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
    static const struct {
        const char *name;
        napi_function function;
    } functions[] = {{"ours", ours},   {"storm", make_storm}, {"bench", bench},
                     {"steps", steps}, {"pairs", pairs},      {"awaits", awaits}};
    char why[128];
    napi_value value;
    if (the_v8.provider == NULL && stallbox_runtime_attach(why, sizeof why) <= 0) {
        fprintf(stderr, "%s\n", why);
        return exports;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_create_function(env, functions[i].name, strlen(functions[i].name), functions[i].function, NULL, &value);
        napi_set_named_property(env, exports, functions[i].name, value);
    }
    return exports;
}
