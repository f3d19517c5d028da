/* SPDX-License-Identifier: Apache-2.0 */
/* stub_rows_x86_64.c - none: linkers write unwind data for their PLT there. */
#include "stub_rows.h"

int sbx_stub_rows_put(const uint8_t *code, size_t bytes, uint64_t address, sbx_rule_put *put, void *context)
{
    (void)code;
    (void)bytes;
    (void)address;
    (void)put;
    (void)context;
    return 0;
}
