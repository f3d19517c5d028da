/* SPDX-License-Identifier: Apache-2.0 */
/* point_loader.c - notices that modules came or went.
 *
 * The hooks only leave word: the module thread does the looking, because it may wait for the loader's lock and the
 * calling thread, which may hold it in a constructor, must not wait for us. */
#include "point.h"

#include <dlfcn.h>

#ifndef __GLIBC__
typedef long Lmid_t; /* the hook of a function that is not there is never called */
#endif

uint32_t sbx_modules_dirty;

static void *(*real_dlopen)(const char *, int);
static void *(*real_dlmopen)(Lmid_t, const char *, int);
static int (*real_dlclose)(void *);

static void leave_word(void)
{
    sbx_store_release(&sbx_modules_dirty, 1); /* order: release modules_dirty - read by the module thread */
    if (sbx_capture_is_open()) {
        sbx_capture_ring_bell();
    }
}

static void *hook_dlopen(const char *name, int flags)
{
    /* Not through dlopen's own idea of its caller: glibc takes it from the return address, for $ORIGIN and namespaces,
     * so the original is entered by a tail call and sees the program. */
    leave_word();
    return real_dlopen(name, flags);
}

static void *hook_dlmopen(Lmid_t space, const char *name, int flags)
{
    leave_word();
    return real_dlmopen(space, name, flags);
}

static int hook_dlclose(void *handle)
{
    leave_word();
    return real_dlclose(handle);
}

static const struct sbx_point points[] = {
    SBX_POINT("dlopen", hook_dlopen, real_dlopen, SBX_GROUP_LOADER),
    SBX_POINT("dlmopen", hook_dlmopen, real_dlmopen, SBX_GROUP_LOADER),
    SBX_POINT("dlclose", hook_dlclose, real_dlclose, SBX_GROUP_LOADER),
};
const struct sbx_point_list sbx_points_loader = SBX_POINT_LIST(points);
