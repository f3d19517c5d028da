/* SPDX-License-Identifier: Apache-2.0 */
/* stall_crc32c.h - CRC-32C (Castagnoli), the reading side's own: agent and server share no code. */
#ifndef SBX_STALL_CRC32C_H
#define SBX_STALL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of more bytes behind those that gave `crc`; 0 to begin with. */
uint32_t sbx_stall_crc32c(uint32_t crc, const void *bytes, size_t count);

#endif
