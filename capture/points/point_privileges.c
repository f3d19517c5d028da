/* SPDX-License-Identifier: Apache-2.0 */
/* point_privileges.c - the program asks for something that only a process of one thread gets, or that all threads must
 * get alike. Nothing is recorded. Without the agent such a program has one thread. With the agent's two threads beside
 * it
 *
 *   - unshare() of a user namespace, of memory or of signal handlers fails with EINVAL, and setns() may fail too
 *     (unshare(2), setns(2)). landlock_restrict_self() would leave the agent's threads outside of the program's
 *     restrictions;
 *   - libc makes setuid() and its family for each thread, because in the kernel these ids belong to a thread. If the
 *     threads get different answers, libc ends the process (glibc nptl/nptl_setxid.c, __nptl_setxid_error; musl
 *     src/unistd/setxid.c). The answers differ when the program has changed its own rights, by capset() or a secure
 *     bit: then the agent's threads have rights that the program does not have, or the other way round.
 *
 * The recorder ends before such a call. A program that has several threads of its own gets the kernel's answer as
 * without the agent. These points are in the loader's group: they are hooked as long as anything is. */
#include "point.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process_threads.h"
#include "raw_syscall.h"

enum {
    OF_ONE_THREAD = CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
    OF_ANY_PROCESS = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP | CLONE_NEWPID, /* for setns() */
};

/* Has the program one thread? */
static bool is_of_one_thread(void)
{
    uint32_t threads = sbx_raw_thread_count();
    return threads <= SBX_OWN_THREAD_COUNT + 1; /* 0: no /proc and not known, so leave */
}

/* Has the calling thread other rights than the agent's threads? */
static bool is_otherwise_privileged(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct theirs[_LINUX_CAPABILITY_U32S_3] = {{0}}, ours[_LINUX_CAPABILITY_U32S_3] = {{0}};
    long result = sbx_raw_syscall(SYS_capget, (long)(uintptr_t)&header, (long)(uintptr_t)theirs, 0, 0, 0, 0);
    header.pid = (int)sbx_load_relaxed(&sbx_the_capture.own_tid); /* relaxed: set before capture.leave */
    if (result == 0) {
        result = sbx_raw_syscall(SYS_capget, (long)(uintptr_t)&header, (long)(uintptr_t)ours, 0, 0, 0, 0);
    }
    return result != 0 || memcmp(theirs, ours, sizeof theirs) != 0;
}

/* End the recorder when `cannot_stay` says so. A forked child that is not recorded has no recorder. */
static void leave_if(bool (*cannot_stay)(void), enum sbx_settle what)
{
    if (SBX_UNLIKELY(sbx_the_capture.settle != NULL)) { /* a recorder that has not begun has no thread */
        sbx_the_capture.settle(what);
    }
    void (*leave)(void) = sbx_load_acquire(&sbx_the_capture.leave); /* order: acquire capture.leave */
    if (leave == NULL || !sbx_capture_is_ours()) {
        return;
    }
    int saved_errno = errno;
    if (cannot_stay()) {
        leave();
    }
    errno = saved_errno;
}

void sbx_one_thread_wanted(void)
{
    leave_if(is_of_one_thread, SBX_SETTLE_ONE_THREAD);
}

void sbx_unshare_begins(uint64_t flags)
{
    if ((flags & OF_ONE_THREAD) != 0) {
        sbx_one_thread_wanted();
    }
}

/* `type` is 0 when any kind of namespace is allowed. Only a process that shares its working folder with no other may
 * enter a mount namespace. */
void sbx_setns_begins(uint64_t type)
{
    if (type == 0 || (type & ~(uint64_t)OF_ANY_PROCESS) != 0) {
        sbx_one_thread_wanted();
    }
}

static int (*real_unshare)(int);
static int (*real_setns)(int, int);

static int hook_unshare(int flags)
{
    sbx_unshare_begins((uint64_t)(unsigned)flags);
    return real_unshare(flags);
}

static int hook_setns(int file, int type)
{
    sbx_setns_begins((uint64_t)(unsigned)type);
    return real_setns(file, type);
}

#define IDENTITY_HOOK(name, parameters, arguments)            \
    static int(*real_##name) parameters;                      \
    static int hook_##name parameters                         \
    {                                                         \
        leave_if(is_otherwise_privileged, SBX_SETTLE_RIGHTS); \
        return real_##name arguments;                         \
    }

static bool stays(void)
{
    return false;
}

static int (*real_chroot)(const char *);

/* After chroot() no path of the agent leads to a recording. */
static int hook_chroot(const char *path)
{
    leave_if(stays, SBX_SETTLE_RIGHTS);
    return real_chroot(path);
}

IDENTITY_HOOK(setuid, (uid_t user), (user))
IDENTITY_HOOK(seteuid, (uid_t user), (user))
IDENTITY_HOOK(setreuid, (uid_t real, uid_t user), (real, user))
IDENTITY_HOOK(setresuid, (uid_t real, uid_t user, uid_t saved), (real, user, saved))
IDENTITY_HOOK(setgid, (gid_t group), (group))
IDENTITY_HOOK(setegid, (gid_t group), (group))
IDENTITY_HOOK(setregid, (gid_t real, gid_t group), (real, group))
IDENTITY_HOOK(setresgid, (gid_t real, gid_t group, gid_t saved), (real, group, saved))
IDENTITY_HOOK(setgroups, (size_t count, const gid_t *groups), (count, groups))
IDENTITY_HOOK(initgroups, (const char *user, gid_t group), (user, group))

static const struct sbx_point points[] = {
    SBX_POINT("unshare", hook_unshare, real_unshare, SBX_GROUP_LOADER),
    SBX_POINT("setns", hook_setns, real_setns, SBX_GROUP_LOADER),
    SBX_POINT("chroot", hook_chroot, real_chroot, SBX_GROUP_LOADER),
    SBX_POINT("setuid", hook_setuid, real_setuid, SBX_GROUP_LOADER),
    SBX_POINT("seteuid", hook_seteuid, real_seteuid, SBX_GROUP_LOADER),
    SBX_POINT("setreuid", hook_setreuid, real_setreuid, SBX_GROUP_LOADER),
    SBX_POINT("setresuid", hook_setresuid, real_setresuid, SBX_GROUP_LOADER),
    SBX_POINT("setgid", hook_setgid, real_setgid, SBX_GROUP_LOADER),
    SBX_POINT("setegid", hook_setegid, real_setegid, SBX_GROUP_LOADER),
    SBX_POINT("setregid", hook_setregid, real_setregid, SBX_GROUP_LOADER),
    SBX_POINT("setresgid", hook_setresgid, real_setresgid, SBX_GROUP_LOADER),
    SBX_POINT("setgroups", hook_setgroups, real_setgroups, SBX_GROUP_LOADER),
    SBX_POINT("initgroups", hook_initgroups, real_initgroups, SBX_GROUP_LOADER),
};
const struct sbx_point_list sbx_points_privileges = SBX_POINT_LIST(points);
