/* SPDX-License-Identifier: Apache-2.0 */
/* whole_write.h - writes all bytes, or returns an error. */
#ifndef SBX_WHOLE_WRITE_H
#define SBX_WHOLE_WRITE_H

#include <stddef.h>

/* Write `count` bytes to the open file, also when the kernel writes only a part per call. Returns 0 or -errno. */
int sbx_write_all(int fd, const char *bytes, size_t count);

#endif
