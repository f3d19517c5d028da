/* SPDX-License-Identifier: Apache-2.0 */
/* points_by_name.h - the capture points of this process, found by the name of the hooked function, and the original
 * that each hook forwards to.
 *
 * This is apart from got_hook.c because it is about the process, not about a slot. Other files name a point by its
 * index here. One thread at a time, as got_hook.h says. */
#ifndef SBX_POINTS_BY_NAME_H
#define SBX_POINTS_BY_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_image.h"
#include "point.h"

enum {
    SBX_POINTS_MAX = 768
};
#define SBX_NO_POINT UINT32_MAX

/* Groups with originals in a library that may be loaded, and unloaded, at any time. */
#define SBX_POINTS_THAT_COME_LATE                                                                   \
    (SBX_POINT_BIT(SBX_GROUP_FRAME) | SBX_POINT_BIT(SBX_GROUP_GLIB) | SBX_POINT_BIT(SBX_GROUP_QT) | \
     SBX_POINT_BIT(SBX_GROUP_UV) | SBX_POINT_BIT(SBX_GROUP_LIBEVENT) | SBX_POINT_BIT(SBX_GROUP_URING))

/* Find the originals of all points. Once; later calls do nothing. */
void sbx_points_resolve(void);

/* The point that hooks the function `name`, or SBX_NO_POINT. */
uint32_t sbx_point_named(const char *name);
const struct sbx_point *sbx_point_at(uint32_t point);
uint32_t sbx_point_count(void);
uint32_t sbx_point_hash(uint32_t point); /* sbx_gnu_hash() of its name */

/* Is the point of such a group? */
bool sbx_point_may_come_late(const struct sbx_point *point);
/* Look for originals that are there now, and forget those that are gone. */
void sbx_points_find_late(void);
/* A number that changes whenever an original is found or lost. */
uint32_t sbx_point_finds(void);

/* Is this the vdso? It is in no search order, although it has names of functions that libc takes from it. */
bool sbx_is_vdso(const struct sbx_elf_image *image);
/* The first: the module that holds the code at `address`. The second: the first module in the loader's order that
 * defines the point's name, and the address there. False: none. */
bool sbx_find_module_at(uintptr_t address, struct sbx_elf_image *image_out);
bool sbx_find_definition(uint32_t point, struct sbx_elf_image *image_out, uintptr_t *address_out);

#endif
