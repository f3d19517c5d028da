/* SPDX-License-Identifier: Apache-2.0 */
/* function_starts.h - where functions begin, by the search table of a module's unwind data: also in stripped programs. */
#ifndef SBX_FUNCTION_STARTS_H
#define SBX_FUNCTION_STARTS_H

#include <stdint.h>

#include "process_modules.h"

/* The address at which the code that holds `address` begins, as .eh_frame_hdr has it (a function, or the part of one that a compiler moved away);
 * 0: not known. */
uint64_t sbx_function_start(struct sbx_process_modules *modules, uint64_t address);

#endif
