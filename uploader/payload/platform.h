/* SPDX-License-Identifier: Apache-2.0 */
/* platform.h - the machine in six small numbers.
 *
 * Coarse on purpose: distribution and major version, kernel's two numbers, powers of two. Enough to tell a regression
 * of one platform, too little to tell one machine. Platform.arch is not the machine's but the recording's. */
#ifndef SBX_PLATFORM_H
#define SBX_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

struct sbx_platform {
    uint32_t os, os_major, kernel_major, kernel_minor, log2_cores, log2_ram_gib; /* payload.proto, Platform */
};

/* Ask the system. What it does not tell is 0. */
void sbx_platform_read(struct sbx_platform *platform_out);

/* Pure parts. `text` is an os-release file (not NUL-terminated); `release` is what uname -r prints. */
void sbx_platform_parse_os_release(const char *text, size_t bytes, struct sbx_platform *platform);
void sbx_platform_parse_kernel(const char *release, struct sbx_platform *platform);
/* The power of two nearest to `value`: 3 GiB and what a "4 GiB" machine has left are both 2. */
uint32_t sbx_platform_log2(uint64_t value);

#endif
