/* SPDX-License-Identifier: Apache-2.0 */
/* function_starts.h - where functions begin, from the search table of a module's unwind data. Works for stripped
 * programs too. */
#ifndef SBX_FUNCTION_STARTS_H
#define SBX_FUNCTION_STARTS_H

#include <stdint.h>

#include "process_modules.h"

/* The address where the function with `address` begins, according to .eh_frame_hdr (a function, or a part that the
 * compiler placed elsewhere); 0: unknown. */
uint64_t sbx_function_start(struct sbx_process_modules *modules, uint64_t address);

#endif
