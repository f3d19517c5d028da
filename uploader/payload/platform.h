/* SPDX-License-Identifier: Apache-2.0 */
/* platform.h - the machine in six small numbers.
 *
 * They are coarse on purpose: distribution and major version, the kernel's two numbers, powers of two. This is enough
 * to recognise a regression of one platform, and too little to identify a machine. Platform.arch is the recording's
 * architecture, not the machine's. */
#ifndef SBX_PLATFORM_H
#define SBX_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

struct sbx_platform {
    uint32_t os, os_major, kernel_major, kernel_minor, log2_cores, log2_ram_gib; /* payload.proto, Platform */
};

/* Read from the system. Values that it does not give are 0. */
void sbx_platform_read(struct sbx_platform *platform_out);

/* Pure parts. `text` is an os-release file (not NUL-terminated); `release` is what uname -r prints. */
void sbx_platform_parse_os_release(const char *text, size_t bytes, struct sbx_platform *platform);
void sbx_platform_parse_kernel(const char *release, struct sbx_platform *platform);
/* Returns the power of two that is nearest to `value`. For example, 3 GiB, and the memory of a "4 GiB" machine, both
 * give 2 (GiB). */
uint32_t sbx_platform_log2(uint64_t value);

#endif
