/* SPDX-License-Identifier: Apache-2.0 */
/* stub_rows.h - rows for PLT stubs on aarch64: linkers write this code without unwind data.
 *
 * A sample in a stub interrupts it there, so its return address is still in x30. Without a row the walk would follow
 * the frame pointer and lose the function that called the stub. Each architecture has its own stub_rows_ARCH.c. */
#ifndef SBX_STUB_ROWS_H
#define SBX_STUB_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "cfa_program.h"
#include "unwind_rule.h"

enum {
    SBX_STUBS_MIN_BYTES = 48, /* a shorter gap between functions is padding */
    /* Bytes searched in a module before its first function: bfd, gold and mold put the PLT there. Enough for 4,000
     * stubs. */
    SBX_STUBS_MAX_BYTES = SBX_HAS_LINK_REGISTER ? 1 << 16 : 0,
};

/* Put the rows of the stubs among `bytes` of code at `address` in the module's numbering, in order of address. A row
 * SBX_RULE_NONE ends each run of stubs. Returns 0, or what `put` returned. */
SBX_MUST_CHECK int sbx_stub_rows_put(const uint8_t *code, size_t bytes, uint64_t address, sbx_rule_put *put,
                                     void *context);

#endif
