/* SPDX-License-Identifier: Apache-2.0 */
/* deoptimized.h - methods that were compiled before and no longer run compiled, because the JVM has discarded their
 * code.
 *
 *     Method --> MethodCounters  the highest level at which it was compiled; the same for code entered in a loop
 *        '-----> nmethod         its code in use
 *
 * Such methods are interpreted. Then they run in code of the lower compiler, which counts calls and loops, until the
 * optimizing compiler has compiled them again. */
#ifndef SBX_DEOPTIMIZED_H
#define SBX_DEOPTIMIZED_H

#include "code_cache.h"
#include "vm_memory.h"
#include "vm_structs.h"

/* Was `method`, which is interpreted, compiled before? True if the optimizing compiler compiled it, or if another level
 * did and the method has no code now. */
SBX_SIGNAL_SAFE bool sbx_deoptimized_is(const struct sbx_vm_layout *layout, uint64_t method);

/* Is the running `code` counting code of the lower compiler, for a method that was optimized before? */
SBX_SIGNAL_SAFE bool sbx_deoptimized_is_lesser(const struct sbx_vm_layout *layout, const struct sbx_code *code);

#endif
