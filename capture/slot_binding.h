/* SPDX-License-Identifier: Apache-2.0 */
/* slot_binding.h - what a GOT slot leads to: the definition that a point's hook forwards to, or another.
 *
 * Apart from got_hook.c because nothing here changes anything; it reads what the loader knows and does what the loader would. All
 * of it inside dl_iterate_phdr, where no module can be unmapped, by one thread at a time. */
#ifndef SBX_SLOT_BINDING_H
#define SBX_SLOT_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_image.h"

enum sbx_binding {
    SBX_BINDING_FOREIGN,
    SBX_BINDING_ORIGINAL,
    SBX_BINDING_OPEN, /* nobody can tell before it is bound */
};

/* What was found out in one walk over the loader's list; zeroed at its begin. */
struct sbx_binding_walk {
    struct sbx_elf_image home; /* the module that defines what was last asked about */
    uint32_t loaded_count;     /* modules listed, with who belongs to the start; 0: not asked for */
};

/* What does the slot of `relocation`, which holds `now`, lead to; or, when it is not bound yet, where would the loader have it
 * lead? For what the program needs, the loader looks from the program on, as we did for the original. A module that came by
 * dlopen() may have been given a scope of its own that comes before (RTLD_DEEPBIND); nothing that can be read says so, and the
 * call that said so may have passed no hook of ours. There the answer is known only if it is the same in every order; else the slot
 * is left alone until it is bound. */
enum sbx_binding sbx_slot_binding(const struct sbx_elf_image *image, const ElfW(Rela) * relocation, uintptr_t now,
                                  uint32_t point, struct sbx_binding_walk *walk);

#endif
