/* SPDX-License-Identifier: Apache-2.0 */
/* whole_write.h - all of it, or an error. */
#ifndef SBX_WHOLE_WRITE_H
#define SBX_WHOLE_WRITE_H

#include <stddef.h>

/* Write `count` bytes to the open file, however often the kernel takes a part only. Returns 0 or -errno. */
int sbx_write_all(int fd, const char *bytes, size_t count);

#endif
