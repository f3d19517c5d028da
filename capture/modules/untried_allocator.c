/* SPDX-License-Identifier: Apache-2.0 */
/* untried_allocator.c - finds the module that defines malloc(), and code that used it before the agent. Only malloc is
 * looked up, because it always exists: a lookup that fails would allocate memory for its error. */
#include "untried_allocator.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

struct view {
    uintptr_t allocator;
    bool is_first_seen; /* the first module is the executable */
    bool is_in_program, is_tried;
};

static bool holds(const struct dl_phdr_info *module, uintptr_t address)
{
    for (ElfW(Half) i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - module->dlpi_addr - segment->p_vaddr < segment->p_memsz) {
            return true;
        }
    }
    return false;
}

static bool begins_before_all(const struct dl_phdr_info *module)
{
    for (ElfW(Half) i = 0; i < module->dlpi_phnum; i++) {
        if (module->dlpi_phdr[i].p_type != PT_DYNAMIC) {
            continue;
        }
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_PREINIT_ARRAY) {
                return true;
            }
        }
    }
    return false;
}

static int look_at(struct dl_phdr_info *module, size_t bytes, void *context)
{
    struct view *view = context;
    (void)bytes;
    if (!view->is_first_seen) {
        view->is_first_seen = true;
        view->is_in_program = holds(module, view->allocator);
        view->is_tried = begins_before_all(module);
    } else {
        view->is_tried |= module->dlpi_name != NULL && strstr(module->dlpi_name, "/libstdc++.so") != NULL;
    }
    return 0;
}

bool sbx_has_untried_allocator(void)
{
    struct view view = {.allocator = (uintptr_t)dlsym(RTLD_DEFAULT, "malloc")};
    dl_iterate_phdr(look_at, &view);
    return view.is_in_program && !view.is_tried;
}
