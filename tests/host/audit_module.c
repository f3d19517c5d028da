/* SPDX-License-Identifier: Apache-2.0 */
/* audit_module.c - an LD_AUDIT library that watches every binding, as latrace and some profilers do. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>

unsigned int la_version(unsigned int version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)map;
    (void)space;
    (void)cookie;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
