/* SPDX-License-Identifier: Apache-2.0 */
/* stall_crc32c.h - CRC-32C (Castagnoli) of the reading side, because agent and server share no code. */
#ifndef SBX_STALL_CRC32C_H
#define SBX_STALL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of further bytes after those that gave `crc`; begin with 0. */
uint32_t sbx_stall_crc32c(uint32_t crc, const void *bytes, size_t count);

#endif
