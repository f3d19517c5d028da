/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_modules.c - recognizes runtimes by the names of the program's modules, and loads the providers of their
 * frames.
 *
 * A runtime that is linked into the executable has no module of its own: it is recognized by a symbol that it
 * exports. */
#include "runtime_modules.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_image.h"
#include "loader_visit.h"
#include "module_map.h"
#include "recording_format.h"
#include "the_capture.h"

typedef int (*attach_function)(char *why, size_t why_bytes);
typedef uint32_t (*version_function)(void);

static struct runtime {
    enum sbx_runtime_kind kind;
    const char *name;
    const char *module; /* the beginning of the module's file name */
    const char *symbol; /* exported when the runtime is part of the executable; NULL: it never is */
    attach_function attach;
    version_function version; /* NULL: its provider reports none */
    uint32_t state;           /* enum sbx_runtime_state */
    uint32_t pause_ms;
} runtimes[] = {
    {.kind = SBX_RUNTIME_PYTHON, .name = "cpython", .module = "libpython3", .symbol = "_PyRuntime"},
    {.kind = SBX_RUNTIME_JAVA, .name = "hotspot", .module = "libjvm.so"},
    {.kind = SBX_RUNTIME_JAVASCRIPT, .name = "v8", .module = "libnode.so", .symbol = "_ZN2v82V810GetVersionEv"},
};
static_assert(SBX_COUNT_OF(runtimes) <= SBX_RUNTIMES_MAX, "each has its entry");

static bool are_left_alone; /* STALLBOX_RUNTIMES=off */

void sbx_runtime_modules_look_at_environment(void)
{
    const char *runtimes_word = getenv("STALLBOX_RUNTIMES");
    are_left_alone = runtimes_word != NULL && strcmp(runtimes_word, "off") == 0;
}

/* Writes for people what happened to the runtime. */
static void tell(const struct runtime *runtime, const char *why)
{
    struct sbx_runtime_entry *entry = &sbx_the_capture.header->runtimes[runtime - runtimes];
    snprintf(entry->name, sizeof entry->name, "%s", runtime->name);
    snprintf(entry->why, sizeof entry->why, "%s", why);
    uint32_t version = runtime->version != NULL ? runtime->version() : 0;
    entry->kind = runtime->kind;
    entry->major = version >> 16;
    entry->minor = version & 0xffff;
    /* order: release header.runtimes - the words are whole */
    sbx_store_release(&entry->state, runtime->state);
}

static bool is_loaded(const char *begin)
{
    const struct sbx_recording_header *header = sbx_the_capture.header;
    for (uint32_t i = 0; i < header->module_count; i++) {
        const struct sbx_module_entry *module = &sbx_the_capture.modules[i];
        const char *slash = strrchr(module->path, '/'), *name = slash == NULL ? module->path : slash + 1;
        if ((module->flags & SBX_MODULE_UNLOADED) == 0 && strncmp(name, begin, strlen(begin)) == 0) {
            return true;
        }
    }
    return false;
}

/* Called within a loader visit. */
static void load(struct runtime *runtime)
{
    char path[SBX_PATH_MAX + 64];
    Dl_info own;
    if (are_left_alone) {
        runtime->state = SBX_RUNTIME_SWITCHED_OFF;
        tell(runtime, "STALLBOX_RUNTIMES is off");
        return;
    }
    runtime->state = SBX_RUNTIME_NO_PROVIDER;
    const char *slash = dladdr((const void *)&runtimes, &own) != 0 ? strrchr(own.dli_fname, '/') : NULL;
    if (slash == NULL) {
        tell(runtime, "where its provider would lie is not known");
        return;
    }
    if ((size_t)snprintf(path, sizeof path, "%.*s/stallbox/libstallbox-%s.so", (int)(slash - own.dli_fname),
                         own.dli_fname, runtime->name) >= sizeof path) {
        tell(runtime, "the path of its provider is too long");
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    runtime->attach = library != NULL ? (attach_function)dlsym(library, "stallbox_runtime_attach") : NULL;
    runtime->version = library != NULL ? (version_function)dlsym(library, "stallbox_runtime_version") : NULL;
    if (runtime->attach == NULL) {
        tell(runtime, "its provider is not installed");
        return;
    }
    runtime->state = SBX_RUNTIME_NOT_YET;
    runtime->pause_ms = SBX_RUNTIME_PAUSE_MIN_MS;
}

static int look_for_symbol(struct dl_phdr_info *info, size_t bytes, void *symbol)
{
    struct sbx_elf_image image;
    uint32_t hash = sbx_gnu_hash(symbol);
    (void)bytes;
    return sbx_elf_image_read(&image, info) && (sbx_elf_image_find(&image, symbol, hash, NULL) != 0 ||
                                                sbx_elf_image_find_variable(&image, symbol, hash) != 0);
}

/* Called within a loader visit. Does not use dlsym(), which allocates its error message: our thread would get a malloc
 * arena for it, and each fork of the program would copy that arena. */
static bool is_exported(const char *symbol)
{
    char name[64];
    snprintf(name, sizeof name, "%s", symbol);
    return sbx_loader_visit_each(look_for_symbol, name) != 0;
}

/* Called within a loader visit. */
static void ask(struct runtime *runtime)
{
    char why[SBX_RUNTIME_WHY_MAX] = "";
    int result = runtime->attach(why, sizeof why);
    runtime->state = result > 0 ? SBX_RUNTIME_ATTACHED : result == 0 ? SBX_RUNTIME_NOT_YET : SBX_RUNTIME_LEFT_ALONE;
    runtime->pause_ms =
        runtime->pause_ms * 2 < SBX_RUNTIME_PAUSE_MAX_MS ? runtime->pause_ms * 2 : SBX_RUNTIME_PAUSE_MAX_MS;
    tell(runtime, why);
}

uint32_t sbx_runtime_modules_step(bool modules_changed)
{
    static uint64_t loads_then; /* the modules that are known to contain no new runtime; also valid in a forked child */
    uint64_t loads = sbx_module_map_loads();
    uint32_t pause_ms = 0;
    modules_changed = modules_changed && (loads == 0 || loads != loads_then);
    loads_then = loads;
    for (struct runtime *runtime = runtimes; runtime < runtimes + SBX_COUNT_OF(runtimes); runtime++) {
        if (runtime->state == SBX_RUNTIME_ATTACHED &&
            sbx_load_relaxed(&sbx_the_capture.header->runtimes[runtime - runtimes].state) == 0) {
            tell(runtime, ""); /* a forked child's recording: the provider was inherited */
        }
        bool may_be_there = runtime->state == SBX_RUNTIME_NONE && modules_changed;
        if (runtime->state != SBX_RUNTIME_NOT_YET && !may_be_there) {
            continue;
        }
        sbx_loader_visit_begin();
        if (may_be_there && (is_loaded(runtime->module) || (runtime->symbol != NULL && is_exported(runtime->symbol)))) {
            load(runtime);
        }
        if (runtime->state == SBX_RUNTIME_NOT_YET) {
            ask(runtime);
        }
        sbx_loader_visit_end();
        if (runtime->state == SBX_RUNTIME_NOT_YET && (pause_ms == 0 || runtime->pause_ms < pause_ms)) {
            pause_ms = runtime->pause_ms;
        }
    }
    return pause_ms;
}
