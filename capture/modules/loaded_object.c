/* SPDX-License-Identifier: Apache-2.0 */
/* loaded_object.c - asks the loader, without its lock, which module contains an address. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "loaded_object.h"

#include <dlfcn.h>
#include <stddef.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc from 2.35 on */
extern int _dl_find_object(void *address, struct dl_find_object *found) __attribute__((weak));

SBX_HOOK_SAFE const struct link_map *sbx_loaded_object(const void *address, uint64_t *begin_out, uint64_t *end_out)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)address, &found) != 0) {
        return NULL;
    }
    *begin_out = (uint64_t)(uintptr_t)found.dlfo_map_start;
    *end_out = (uint64_t)(uintptr_t)found.dlfo_map_end;
    return found.dlfo_link_map;
}
#else
SBX_HOOK_SAFE const struct link_map *sbx_loaded_object(const void *address, uint64_t *begin_out, uint64_t *end_out)
{
    (void)address;
    (void)begin_out;
    (void)end_out;
    return NULL;
}
#endif
