/* SPDX-License-Identifier: Apache-2.0 */
/* points_by_name.h - the capture points that there are in this process, by the name of what they hook, and what each forwards
 * to.
 *
 * Apart from got_hook.c because it is about the process, and not about a slot. Where a point is asked for, it is asked by its
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

/* Groups whose originals lie in a library that may be loaded, and unloaded, at any time. */
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

/* Is it of such a group? */
bool sbx_point_may_come_late(const struct sbx_point *point);
/* Look for originals that came and forget those that went. */
void sbx_points_find_late(void);
/* A number that changes whenever an original was found or lost. */
uint32_t sbx_point_finds(void);

/* Is this the vdso? It is in nobody's search order, though it has the names of what libc takes from it. */
bool sbx_is_vdso(const struct sbx_elf_image *image);
/* The module that holds the code at `address`, or the first in the loader's order that defines the point's name, and then where;
 * false: none. */
bool sbx_find_module_at(uintptr_t address, struct sbx_elf_image *image_out);
bool sbx_find_definition(uint32_t point, struct sbx_elf_image *image_out, uintptr_t *address_out);

#endif
