/* SPDX-License-Identifier: Apache-2.0 */
/* stub_rows.h - rows for the code that linkers write and give no unwind data: PLT stubs on aarch64.
 *
 * A sample that lands in a stub is interrupted there, so its return address is still in x30; without a row the walk would
 * follow the frame pointer and lose the function that called. Each architecture has its own stub_rows_ARCH.c. */
#ifndef SBX_STUB_ROWS_H
#define SBX_STUB_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "cfa_program.h"
#include "unwind_rule.h"

enum {
    SBX_STUBS_MIN_BYTES = 48, /* a gap between functions that is shorter is padding */
    /* Looked at in a module, before its first function: bfd, gold and mold put the PLT there. 4,000 stubs. */
    SBX_STUBS_MAX_BYTES = SBX_HAS_LINK_REGISTER ? 1 << 16 : 0,
};

/* Put the rows of the stubs among `bytes` of code that lies at `address` in the module's numbering, in order of address,
 * each run of stubs ended by a row SBX_RULE_NONE. 0, or what `put` returned. */
SBX_MUST_CHECK int sbx_stub_rows_put(const uint8_t *code, size_t bytes, uint64_t address, sbx_rule_put *put,
                                     void *context);

#endif
