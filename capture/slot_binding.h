/* SPDX-License-Identifier: Apache-2.0 */
/* slot_binding.h - what a GOT slot leads to: the definition that a point's hook forwards to, or another.
 *
 * This is apart from got_hook.c because nothing here changes anything: it reads the loader's data and follows the
 * loader's rules. All of it runs inside dl_iterate_phdr, where no module can be unmapped, on one thread at a time. */
#ifndef SBX_SLOT_BINDING_H
#define SBX_SLOT_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_image.h"

enum sbx_binding {
    SBX_BINDING_FOREIGN,
    SBX_BINDING_ORIGINAL,
    SBX_BINDING_OPEN, /* not known before it is bound */
};

/* Results of one walk over the loader's list; all zero at its begin. */
struct sbx_binding_walk {
    struct sbx_elf_image home; /* the module that defines the point asked about last */
    uint32_t loaded_count;     /* modules listed, with a mark for those needed at the start; 0: no list yet */
};

/* What does the slot of `relocation`, which holds `now`, lead to? If it is not bound yet: what would the loader bind it
 * to? For modules that the program needs, the loader looks from the program on, as we did for the original. A module
 * loaded by dlopen() may have a scope of its own that comes first (RTLD_DEEPBIND). No readable data says so, and the
 * dlopen() call may have passed no hook of ours. For such a module the answer is known only if it is the same in every
 * order. Otherwise the slot is not patched until it is bound. */
enum sbx_binding sbx_slot_binding(const struct sbx_elf_image *image, const ElfW(Rela) * relocation, uintptr_t now,
                                  uint32_t point, struct sbx_binding_walk *walk);

#endif
