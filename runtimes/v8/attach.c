/* SPDX-License-Identifier: Apache-2.0 */
/* attach.c - registers a provider for the V8 of this process: libstallbox-v8.so.
 *
 * The agent's module thread calls stallbox_runtime_attach() once it sees V8. No code of the program is called. The
 * functions of V8 that are called only return values (the thread's isolate, the range of its code). */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "v8.h"

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
    return find("_ZN2v82V810GetVersionEv", &the_v8.version) &&
           find("_ZN2v87Isolate13TryGetCurrentEv", &the_v8.current_isolate) &&
           find("_ZN2v87Isolate12GetCodeRangeEPPvPm", &the_v8.code_range) &&
           find("_ZN2v88internal23DefaultEmbeddedBlobCodeEv", &the_v8.builtins) &&
           find("_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv", &the_v8.builtins_bytes);
}

/* node's event loop: the mark of its Environments, and the module with libuv, whose code reads the clock for node's
 * timers. Without them, nothing is reported about the loop. */
static void find_loop(void)
{
    const uint64_t *mark = NULL;
    const void *clock = NULL;
    Dl_info info;
    if (the_v8.layout.type_embedder == 0 || !find("_ZN4node18ContextEmbedderTag18kNodeContextTagPtrE", &mark) ||
        !find("uv_update_time", &clock) || dladdr(clock, &info) == 0) {
        return;
    }
    const ElfW(Ehdr) *head = info.dli_fbase;
    uintptr_t base = head->e_type == ET_EXEC ? 0 : (uintptr_t)info.dli_fbase;
    const ElfW(Phdr) *segment = (const void *)((const char *)info.dli_fbase + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++, segment++) {
        uintptr_t begin = base + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            (uintptr_t)clock - begin < segment->p_memsz) {
            the_v8.clock_code = (const void *)begin;
            the_v8.clock_code_bytes = segment->p_memsz;
        }
    }
    the_v8.environment_mark = *mark;
}

static const char the_file[] = "node:v8", collector[] = "(garbage collector)", builtin[] = "(built-in)";

bool v8_find(char *why, size_t why_bytes)
{
    if (!find_calls()) {
        (void)snprintf(why, why_bytes, "V8 does not export what is asked");
        return false;
    }
    if (!js_layout_read(&the_v8.layout, the_v8.version(), find_number, why, why_bytes)) {
        return false;
    }
    if (the_v8.layout.minor == 2 && !find("_ZN2v88internal7Isolate20isolate_key_created_E", &the_v8.has_isolates)) {
        (void)snprintf(why, why_bytes, "V8 %s does not tell whether it is up", the_v8.version());
        return false;
    }
    js_roots_find(&the_v8.roots);
    find_loop();
    the_v8.collector_id = stallbox_function_id(the_file, sizeof the_file - 1, 0, collector);
    the_v8.builtin_id = stallbox_function_id(the_file, sizeof the_file - 1, 0, builtin);
    the_v8.builtins_code = (struct js_code){.builtins_begin = (uint64_t)(uintptr_t)the_v8.builtins(),
                                            .builtins_bytes = the_v8.builtins_bytes()};
    return true;
}

__attribute__((visibility("default"))) uint32_t stallbox_runtime_version(void);
uint32_t stallbox_runtime_version(void)
{
    const char *text = the_v8.version != NULL ? the_v8.version() : "";
    char *end;
    uint32_t major = (uint32_t)strtoul(text, &end, 10);
    return major << 16 | (*end == '.' ? (uint32_t)strtoul(end + 1, NULL, 10) & 0xffff : 0);
}

static int register_provider(char *why, size_t why_bytes)
{
    const struct stallbox_provider_options options = {
        .sizeof_options = sizeof options,
        .name = "javascript",
        .flags = STALLBOX_PROVIDER_SIGNAL_SAFE,
        .resolve = v8_resolve,
        .walk_at = v8_walk_at,
        .awaited_by = v8_awaited_by,
        .queuing_code = the_v8.clock_code,
        .queuing_code_bytes = the_v8.clock_code_bytes,
        .queues = the_v8.clock_code != NULL ? v8_queues : NULL,
        .runs = the_v8.environment_mark != 0 ? v8_runs : NULL,
    };
    the_v8.builtins_code = (struct js_code){.builtins_begin = (uint64_t)(uintptr_t)the_v8.builtins(),
                                            .builtins_bytes = the_v8.builtins_bytes()};
    const char *begin = the_v8.builtins();
    if (stallbox_provider_register(&options, &the_v8.provider) != STALLBOX_OK ||
        stallbox_provider_add_code(the_v8.provider, begin, begin + the_v8.builtins_bytes()) != STALLBOX_OK) {
        (void)snprintf(why, why_bytes, "there is no room for another runtime");
        return -1;
    }
    return 1;
}

__attribute__((visibility("default"))) int stallbox_runtime_attach(char *why, size_t why_bytes);
int stallbox_runtime_attach(char *why, size_t why_bytes)
{
    if (!v8_find(why, why_bytes)) {
        return -1;
    }
    int result = register_provider(why, why_bytes);
    if (result > 0) { /* the ring is still empty */
        (void)stallbox_provider_tell_name(the_v8.provider, the_v8.collector_id, 0, the_file, sizeof the_file - 1,
                                          collector, sizeof collector - 1);
        (void)stallbox_provider_tell_name(the_v8.provider, the_v8.builtin_id, 0, the_file, sizeof the_file - 1, builtin,
                                          sizeof builtin - 1);
    }
    return result;
}
