/* SPDX-License-Identifier: Apache-2.0 */
/* loaded_object.h - asks the loader, without its lock, which module contains an address. */
#ifndef SBX_LOADED_OBJECT_H
#define SBX_LOADED_OBJECT_H

#include <link.h>
#include <stdint.h>

#include "marks.h"

/* The module's entry in the loader's list, and the addresses from its first segment to its last. The entry is borrowed
 * and valid until the module is unloaded. NULL: no module contains the address, or this C library cannot be asked
 * (glibc can from 2.35 on). */
SBX_HOOK_SAFE const struct link_map *sbx_loaded_object(const void *address, uint64_t *begin_out, uint64_t *end_out);

#endif
