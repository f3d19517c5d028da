/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c - registers the Java walk as a provider of the agent: libstallbox-hotspot.so.
 *
 * When libjvm.so is loaded, the agent's module thread calls stallbox_runtime_attach() again and again until the JVM has
 * started. From then on the agent asks, on each thread that records itself, which Java frames the thread runs
 * (docs/PROVIDERS.md). */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <sys/ucontext.h>

#include "deoptimized.h"
#include "java_name.h"
#include "java_stack.h"
#include "java_thread.h"
#include "library_symbol.h"
#include "name_cache.h"
#include "stallbox/stallbox.h"

static struct sbx_java_vm the_vm;
static struct sbx_java_threads the_threads;
static struct sbx_name_cache the_ids;
static struct sbx_place_cache the_places;
static struct sbx_call_sites the_sites;
/* The JVM's own counters: frames that it deoptimized, and compilations that it began. NULL: its library does not show
 * where they are. */
static const uint32_t *frames_deoptimized, *compilations_begun;
static struct stallbox_provider *the_provider;

/* ---- guarded loads ---- */

SBX_SIGNAL_SAFE static bool load_word(uint64_t address, uint64_t *word_out)
{
    const uint64_t *at = (const uint64_t *)(uintptr_t)address;
    if (!stallbox_provider_can_read(at, sizeof *at)) {
        return false;
    }
    *word_out = *at;
    return true;
}

SBX_SIGNAL_SAFE static bool load_words(uint64_t address, uint64_t *words_out, uint32_t count)
{
    const uint64_t *at = (const uint64_t *)(uintptr_t)address;
    if (!stallbox_provider_can_read(at, count * sizeof *at)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        words_out[i] = at[i];
    }
    return true;
}

/* ---- names ---- */

/* Called for a method that was not met before. Its name goes to the map now, because classes may be unloaded. Returns 0
 * if it is no method. *is_told_out: the name is in the map. */
SBX_SIGNAL_SAFE static __attribute__((noinline)) uint64_t first_sight(uint64_t address, uint64_t key, bool *is_told_out)
{
    struct sbx_method method;
    struct sbx_java_name name;
    *is_told_out = false;
    if (!sbx_method_read(&method, &the_vm.layout, address)) {
        return 0;
    }
    sbx_java_name_make(&name, &method, &the_vm.layout);
    if (stallbox_provider_tell_name(the_provider, name.id, name.line, name.file, name.file_bytes, name.function,
                                    name.function_bytes) != 0) {
        sbx_name_cache_put(&the_ids, key, name.id);
        *is_told_out = true;
    }
    return name.id;
}

static uint32_t line_of(uint64_t address, int32_t bci)
{
    struct sbx_method method;
    return bci >= 0 && sbx_method_read(&method, &the_vm.layout, address) ? sbx_method_line(&method, &the_vm.layout, bci)
                                                                         : 0;
}

/* ---- the walk ---- */

enum {
    DEOPTIMIZED_LOOKS = 4 /* inlined methods have no code of their own, so their callers are tested, too */
};

struct list {
    uint64_t *functions;
    uint32_t *lines;
    size_t first, max;
    size_t count; /* frames so far, with those that are not wanted */
    uint32_t
        looks; /* interpreted leaf frames still to be tested for former code; 0: none. For interrupted threads only */
};

static void put(struct list *list, uint64_t function, uint32_t line)
{
    size_t at = list->count++ - list->first;
    if (list->count > list->first && at < list->max) {
        list->functions[at] = function;
        list->lines[at] = line;
    }
}

/* A method that was compiled before and no longer runs compiled is shown as calling a function of the JVM. */
SBX_SIGNAL_SAFE static void put_deoptimized(struct list *list)
{
    static const char file[] = "<jvm>", name[] = "(deoptimized)";
    static uint32_t is_told;
    uint64_t id = stallbox_function_id(file, sizeof file - 1, 0, name);
    if (sbx_load_relaxed(&is_told) == 0) { /* relaxed: a second report does no harm */
        int told = stallbox_provider_tell_name(the_provider, id, 0, file, sizeof file - 1, name, sizeof name - 1);
        sbx_store_relaxed(&is_told, (uint32_t)(told != 0));
    }
    put(list, id, 0);
}

SBX_SIGNAL_SAFE static void look_at_leaf(struct list *list, const struct sbx_java_call *call)
{
    if (call->bci < 0) {
        return; /* a method handle's: the interpreter is about to enter its target, or has just left it */
    }
    if (!call->is_interpreted) {
        list->looks = 0;
    } else if (sbx_deoptimized_is(&the_vm.layout, call->method)) {
        list->looks = 0;
        put_deoptimized(list);
    } else {
        list->looks--;
    }
}

/* The thread was interrupted at `pc`. If this is not compiled code but the interpreter or the JVM's own code, the leaf
 * method is tested. */
SBX_SIGNAL_SAFE static void look_at_code(struct list *list, uint64_t pc)
{
    if (!sbx_code_cache_holds(&the_vm.code, pc) || sbx_code_cache_interprets(&the_vm.code, pc)) {
        list->looks = DEOPTIMIZED_LOOKS;
        return;
    }
    struct sbx_code code = sbx_code_find(&the_vm.code, &the_vm.layout, pc);
    if (sbx_deoptimized_is_lesser(&the_vm.layout, &code)) {
        put_deoptimized(list);
    }
}

/* Names a frame that the walk found without a name. */
SBX_SIGNAL_SAFE static void name_call(struct sbx_java_call *call)
{
    struct sbx_method_glance method = {.key = call->key};
    call->id = 0;
    call->line = 0;
    if (method.key == 0 && !sbx_method_look(&method, &the_vm.layout, call->method, NULL)) {
        return;
    }
    call->key = method.key;
    call->has_name = true;
    if (sbx_place_find(&the_places, sbx_place_key(method.key, call->bci), &call->id, &call->line)) {
        return;
    }
    if (SBX_UNLIKELY(!sbx_name_cache_find(&the_ids, method.key, &call->id))) {
        call->id = first_sight(call->method, method.key, &call->has_name);
    }
    call->line = line_of(call->method, call->bci);
}

SBX_SIGNAL_SAFE static bool add_frame(void *to, struct sbx_java_call *call)
{
    struct list *list = to;
    if (list->looks != 0) {
        look_at_leaf(list, call);
    }
    if (list->count < list->first || list->count - list->first >= list->max) {
        list->count++; /* only counted */
        return true;
    }
    if (SBX_UNLIKELY(!call->has_name)) {
        name_call(call);
    }
    put(list, call->id, call->line | (call->is_border ? STALLBOX_PROVIDER_BORDER : 0));
    return true;
}

SBX_SIGNAL_SAFE static void *resolve(void)
{
    uint64_t thread = sbx_java_thread_self(&the_threads);
    if (SBX_UNLIKELY(thread == 0 && the_threads.key == 0)) {
        (void)sbx_java_threads_learn(&the_threads, &the_vm);
        thread = sbx_java_thread_self(&the_threads);
    }
    return (void *)(uintptr_t)thread;
}

SBX_SIGNAL_SAFE static size_t walk_at(void *context, const struct stallbox_interrupted *interrupted, size_t first,
                                      uint64_t *functions, uint32_t *lines, size_t max)
{
    struct list list = {.functions = functions, .lines = lines, .first = first, .max = max};
    struct sbx_java_begin begin = {.sp = (uint64_t)(uintptr_t)__builtin_frame_address(0) & ~UINT64_C(7)};
    if (interrupted != NULL) {
        begin = (struct sbx_java_begin){.pc = interrupted->pc,
                                        .sp = interrupted->sp,
                                        .fp = interrupted->fp,
                                        .bytecode = interrupted->registers[REG_R13],
                                        .method = interrupted->registers[REG_RBX]};
        look_at_code(&list, interrupted->pc);
    }
    int saved_errno = errno;
    (void)sbx_java_walk(&the_vm, (uint64_t)(uintptr_t)context, &begin, add_frame, &list);
    errno = saved_errno;
    return list.count;
}

SBX_SIGNAL_SAFE static uint32_t holder(void *context)
{
    uint64_t thread = (uint64_t)(uintptr_t)context;
    if (!sbx_java_thread_waits_for_monitor(&the_vm, thread)) {
        return 0;
    }
    uint32_t tid = sbx_java_monitor_holder(&the_threads, &the_vm, thread);
    return tid != 0 ? tid : sbx_java_class_holder(&the_threads, &the_vm, thread);
}

SBX_SIGNAL_SAFE static uint64_t allocated(void *context)
{
    return sbx_java_thread_allocated(&the_vm, (uint64_t)(uintptr_t)context);
}

static void deoptimized(uint64_t *frames_out, uint64_t *compilations_out)
{
    *frames_out = sbx_load_relaxed(frames_deoptimized); /* relaxed: statistics, as the next */
    *compilations_out = sbx_load_relaxed(compilations_begun);
}

/* Makes one step of the native walk. */
SBX_SIGNAL_SAFE static int step(struct stallbox_code_frame *code)
{
    const struct sbx_java_stack stack = {.low = code->stack_low, .high = code->stack_high, .delta = code->stack_delta};
    struct sbx_java_frame frame = {
        .pc = code->pc,
        .sp = code->sp,
        .fp = code->fp,
        .is_exact = (code->flags & STALLBOX_CODE_EXACT) != 0,
        .has_fp = (code->flags & STALLBOX_CODE_FP) != 0,
        .may_call_native = true, /* it is not known what called it */
    };
    struct sbx_java_found found;
    if (sbx_java_frame_step(&the_vm, &stack, &frame, &found) >= SBX_JAVA_NO_CODE) {
        return 0;
    }
    code->pc = frame.pc;
    code->sp = frame.sp;
    code->fp = frame.fp;
    code->flags = frame.has_fp ? STALLBOX_CODE_FP : 0;
    return 1;
}

/* ---- attaching ---- */

static const void *find_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

__attribute__((visibility("default"))) uint32_t stallbox_runtime_version(void);
uint32_t stallbox_runtime_version(void)
{
    return the_vm.layout.major << 16;
}

/* The first number of the histogram is the sum of all. Neither variable is exported. */
static void find_counts(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) {
        return;
    }
    uint64_t frames = sbx_library_symbol(map->l_name, "_ZN14Deoptimization20_deoptimization_histE");
    uint64_t compilations = sbx_library_symbol(map->l_name, "_ZN13CompileBroker15_compilation_idE");
    if (frames != 0 && compilations != 0) {
        compilations_begun = (const uint32_t *)(uintptr_t)(map->l_addr + compilations);
        frames_deoptimized = (const uint32_t *)(uintptr_t)(map->l_addr + frames);
    }
}

static int register_provider(char *why, size_t why_bytes)
{
    const struct stallbox_provider_options options = {
        .sizeof_options = sizeof options,
        .name = "java",
        .flags = STALLBOX_PROVIDER_SIGNAL_SAFE,
        .resolve = resolve,
        .walk_at = walk_at,
        .step = step,
        .holder = holder,
        .allocated = allocated,
        .deoptimized = frames_deoptimized != NULL ? deoptimized : NULL,
    };
    const void *low = (const void *)(uintptr_t)the_vm.code.low,
               *high = (const void *)(uintptr_t)(the_vm.code.low + the_vm.code.bytes);
    if (stallbox_provider_register(&options, &the_provider) != STALLBOX_OK ||
        stallbox_provider_add_code(the_provider, low, high) != STALLBOX_OK) {
        (void)snprintf(why, why_bytes, "there is no room for another runtime");
        return -1;
    }
    return 1;
}

__attribute__((visibility("default"))) int stallbox_runtime_attach(char *why, size_t why_bytes);
int stallbox_runtime_attach(char *why, size_t why_bytes)
{
    char reason[SBX_VM_REASON_BYTES];
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) {
        return 0;
    }
    the_vm.sites = &the_sites;
    the_vm.places = &the_places;
    sbx_vm_guarded_load = load_word;
    sbx_vm_guarded_load_many = load_words;
    the_threads.get_specific = pthread_getspecific;
    enum sbx_vm_read_result result = sbx_vm_layout_read(&the_vm.layout, find_symbol, library, reason);
    if (result == SBX_VM_READ && frames_deoptimized == NULL) {
        find_counts(library);
    }
    (void)dlclose(library); /* the program keeps it open */
    if (result == SBX_VM_UNKNOWN) {
        (void)snprintf(why, why_bytes, "Java: %s", reason);
        return -1;
    }
    if (result == SBX_VM_NOT_READY || !sbx_code_cache_open(&the_vm.code, &the_vm.layout)) {
        return 0;
    }
    return register_provider(why, why_bytes);
}
