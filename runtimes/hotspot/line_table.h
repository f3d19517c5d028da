/* SPDX-License-Identifier: Apache-2.0 */
/* line_table.h - the line of a bytecode, from the packed pairs that HotSpot stores after a method's bytecodes. */
#ifndef SBX_LINE_TABLE_H
#define SBX_LINE_TABLE_H

#include "vm_memory.h"

/* Returns the line of the bytecode at `bci`: that of the nearest pair at or before it. 0: not known. `table` ends where
 * the method ends. */
SBX_SIGNAL_SAFE uint32_t sbx_line_of(struct sbx_vm_bytes table, uint32_t excess, int32_t bci);

#endif
