/* SPDX-License-Identifier: Apache-2.0 */
/* line_table.h - the line of a bytecode, from the packed pairs that HotSpot keeps behind a method's bytecodes. */
#ifndef SBX_LINE_TABLE_H
#define SBX_LINE_TABLE_H

#include "vm_memory.h"

/* The line of the bytecode at `bci`: that of the nearest pair at or before it. 0: not told. `table` ends where the method does. */
SBX_SIGNAL_SAFE uint32_t sbx_line_of(struct sbx_vm_bytes table, uint32_t excess, int32_t bci);

#endif
