/* SPDX-License-Identifier: Apache-2.0 */
/* got_hook.h - capture points put into, and taken out of, the GOT slots of every loaded module.
 *
 * Only slots bound to the very definition that our hook forwards to are patched, so a module that sees another malloc
 * keeps it. A slot that is not bound yet (lazy binding) is judged by what the loader would bind it to (slot_binding.h). What was
 * replaced is remembered a slot, and put back exactly. All work happens inside dl_iterate_phdr, where no module can be
 * unmapped; stores are single aligned words, because other threads are calling through them.
 *
 * A module appears in the loader's list before it is relocated, and while the loader relocates it, its pages are the
 * loader's: making one of them read-only again then would crash the loader. So a module is touched only once
 * _dl_find_object knows it, which glibc (2.35) tells it after relocation; the others are left for the next look.
 *
 * One thread at a time: the starting thread first, the module thread ever after. */
#ifndef SBX_GOT_HOOK_H
#define SBX_GOT_HOOK_H

#include <stdint.h>

/* Find the originals of all points. Once. Allocates nothing itself; dlsym may. Points of SBX_POINTS_THAT_COME_LATE lie in
 * libraries that a program may load late: those not found here are looked for again in each sbx_got_hook_apply(). */
void sbx_got_hook_resolve(void);

/* Make the patched slots be those of the points in `points` (SBX_POINT_BIT() of groups): install what is missing, also
 * in modules that came since, remove what is too much; 0 removes everything. Returns the number of slots patched now;
 * *unsettled_out tells how many modules were left for later: the loader is busy with them, or they are behind the one
 * during which CLOCK_MONOTONIC passed `end_ns` (UINT64_MAX: take all the time it takes). In the loader's order, so the program
 * itself comes first. Slots left alone are counted: SBX_DROP_FOREIGN_SLOT. */
uint32_t sbx_got_hook_apply(uint64_t points, uint64_t end_ns, uint32_t *unsettled_out);

#endif
