/* SPDX-License-Identifier: Apache-2.0 */
/* deoptimized.h - methods that had been compiled and run without that: the machine gave their code up.
 *
 *     Method --> MethodCounters  the highest compiler that it had code of, the same of code that was entered in a loop
 *        '-----> nmethod         code of it that is in use
 *
 * They are interpreted, and then run in code of the lesser compiler that counts what it does, until the optimizing one has made the next. */
#ifndef SBX_DEOPTIMIZED_H
#define SBX_DEOPTIMIZED_H

#include "code_cache.h"
#include "vm_memory.h"
#include "vm_structs.h"

/* `method` is interpreted. Had it been compiled? By the optimizing compiler; or by the other one, and it has no code now. */
SBX_SIGNAL_SAFE bool sbx_deoptimized_is(const struct sbx_vm_layout *layout, uint64_t method);

/* `code` runs. Is it code of the lesser compiler that counts, of a method that had been optimized? */
SBX_SIGNAL_SAFE bool sbx_deoptimized_is_lesser(const struct sbx_vm_layout *layout, const struct sbx_code *code);

#endif
