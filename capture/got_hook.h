/* SPDX-License-Identifier: Apache-2.0 */
/* got_hook.h - puts capture points into the GOT slots of every loaded module, and removes them.
 *
 * Only slots bound to the definition that our hook forwards to are patched, so a module that sees another malloc keeps
 * it. A slot that is not bound yet (lazy binding) is judged by what the loader would bind it to (slot_binding.h). The
 * replaced word of each slot is remembered and restored exactly. All work is done inside dl_iterate_phdr, where no
 * module can be unmapped. Stores are single aligned words, because other threads are calling through them.
 *
 * A module appears in the loader's list before it is relocated. While the loader relocates it, its pages belong to the
 * loader: making one of them read-only again would crash the loader. So a module is touched only when _dl_find_object
 * knows it, because glibc (2.35) adds a module there after relocation. Other modules are left for the next look.
 *
 * One thread at a time: first the starting thread, later always the module thread. */
#ifndef SBX_GOT_HOOK_H
#define SBX_GOT_HOOK_H

#include <stdint.h>

/* Find the originals of all points. To be called once. Allocates nothing itself, but dlsym may. Points of
 * SBX_POINTS_THAT_COME_LATE lie in libraries that a program may load late. If they are not found here, each
 * sbx_got_hook_apply() looks for them again. */
void sbx_got_hook_resolve(void);

/* Make the patched slots be those of the points in `points` (SBX_POINT_BIT() of groups): install missing hooks, also in
 * modules that came since, and remove the others; 0 removes all. Returns the number of slots patched now.
 * *unsettled_out is the number of modules left for later: the loader is working on them, or they come after the module
 * during which CLOCK_MONOTONIC passed `end_ns` (UINT64_MAX: no time limit). Modules are taken in the loader's order, so
 * the program itself is first. Slots that are not patched are counted: SBX_DROP_FOREIGN_SLOT. */
uint32_t sbx_got_hook_apply(uint64_t points, uint64_t end_ns, uint32_t *unsettled_out);

#endif
