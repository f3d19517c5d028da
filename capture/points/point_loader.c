/* SPDX-License-Identifier: Apache-2.0 */
/* point_loader.c - the dynamic loader: notices that modules came or went, and times the calls.
 *
 * The hooks set a flag before the call, and the module thread looks at the modules. It may wait for the loader's lock.
 * The calling thread must not wait for the agent, because it may hold that lock in a constructor.
 *
 * dlopen() learns its caller from its return address. From the caller's module it takes the DT_RUNPATH and DT_RPATH in
 * which it searches, the meaning of $ORIGIN, and the namespace. A hook that calls dlopen() and returns is another
 * caller; tools that do so break programs that have plugins beside them. So the call is timed only where the caller
 * does not matter. Elsewhere it is a tail call, and the sampler sees its inside like any code:
 *   - glibc (elf/dl-load.c, _dl_map_object) uses the caller's DT_RUNPATH only for a name without a slash: then the
 *     caller must have none;
 *   - it uses the DT_RPATH of the caller, of the module that loaded the caller, and so on: no module of the process may
 *     have one (the installer sees each module before the module can call a hook);
 *   - it expands $ only in names that contain one;
 *   - the hook and the real caller are both in the namespace of the program, because no other namespace is hooked.
 * musl (ldso/dynlink.c of 1.2, dlopen) does not use the caller: it always searches for the program. */
#include "point.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#ifndef __GLIBC__
typedef long Lmid_t; /* the hook of a missing function is never called */
#endif

uint32_t sbx_modules_dirty;
uint32_t sbx_loader_rpath_seen;

static void *(*real_dlopen)(const char *, int);
static void *(*real_dlmopen)(Lmid_t, const char *, int);
static int (*real_dlclose)(void *);

static void leave_word(void)
{
    sbx_store_release(&sbx_modules_dirty, 1); /* order: release modules_dirty - read by the module thread */
    if (sbx_capture_is_open()) {
        sbx_capture_ring_bell();
    } else {
        sbx_capture_ask_late(SBX_GROUP_LOADER, 0, NULL);
    }
}

/* These hooks are installed as long as any hook is, because of the flag that they set. Records are made only while the
 * group is on. */
static bool is_timed(void)
{
    return sbx_capture_is_open() && /* before the start there is no control page */
           (sbx_load_relaxed(&sbx_the_capture.control->in_force.points) & SBX_POINT_BIT(SBX_GROUP_LOADER)) != 0;
}

#ifndef __GLIBC__
static bool is_caller_without_matter(const char *name, void *caller)
{
    (void)name;
    (void)caller;
    return true;
}
#else
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc from 2.35 on; lock-free */
extern int _dl_find_object(void *address, struct dl_find_object *found) __attribute__((weak));
#endif

static bool has_no_runpath(void *code)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object == NULL || _dl_find_object(code, &found) != 0 || found.dlfo_link_map == NULL) {
        return false;
    }
    for (const ElfW(Dyn) *entry = found.dlfo_link_map->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH) {
            return false;
        }
    }
    return true;
#else
    (void)code;
    return false; /* not known */
#endif
}

static bool is_caller_without_matter(const char *name, void *caller)
{
    if (sbx_load_relaxed(&sbx_loader_rpath_seen) != 0) { /* relaxed: set before such a module can call the hook */
        return false;
    }
    if (name == NULL) {
        return true; /* the program itself: nothing is searched */
    }
    if (strchr(name, '$') != NULL) {
        return false;
    }
    return strchr(name, '/') != NULL || (has_no_runpath(caller) && has_no_runpath((void *)leave_word));
}
#endif

SBX_NOINLINE static void *timed_dlopen(const char *name, int flags)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_blocking_begin(&call, SBX_GROUP_LOADER, SBX_RECORD_LOADER, SBX_OP_DLOPEN, 0, 0);
    void *result = real_dlopen(name, flags);
    sbx_blocking_end(&call, 0, result == NULL, -1);
    leave_word(); /* now the module is there: one look is enough */
    return result;
}

static void *hook_dlopen(const char *name, int flags)
{
    leave_word();
    if (is_timed() && is_caller_without_matter(name, __builtin_return_address(0))) {
        return timed_dlopen(name, flags);
    }
    return real_dlopen(name, flags);
}

static void *hook_dlmopen(Lmid_t space, const char *name, int flags)
{
    leave_word();
    return real_dlmopen(space, name, flags);
}

/* For dlclose() the caller does not matter. */
static int hook_dlclose(void *handle)
{
    leave_word();
    if (!is_timed()) {
        return real_dlclose(handle);
    }
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_blocking_begin(&call, SBX_GROUP_LOADER, SBX_RECORD_LOADER, SBX_OP_DLCLOSE, 0, 0);
    int result = real_dlclose(handle);
    sbx_blocking_end(&call, 0, result != 0, -1);
    leave_word();
    return result;
}

static const struct sbx_point points[] = {
    SBX_POINT("dlopen", hook_dlopen, real_dlopen, SBX_GROUP_LOADER),
    SBX_POINT("dlmopen", hook_dlmopen, real_dlmopen, SBX_GROUP_LOADER),
    SBX_POINT("dlclose", hook_dlclose, real_dlclose, SBX_GROUP_LOADER),
};
const struct sbx_point_list sbx_points_loader = SBX_POINT_LIST(points);
