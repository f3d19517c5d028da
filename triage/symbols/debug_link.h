/* SPDX-License-Identifier: Apache-2.0 */
/* debug_link.h - .gnu_debuglink: what a stripped file calls its debug file, read without any ELF library. */
#ifndef SBX_DEBUG_LINK_H
#define SBX_DEBUG_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* The name into `name_out`, which is a file's and leads into no other folder. False when the file behind `fd` has none. */
bool sbx_debug_link_read(int fd, char *name_out, size_t bytes);

#endif
