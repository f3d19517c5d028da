/* SPDX-License-Identifier: Apache-2.0 */
/* old_version.c - a module as if linked against an old glibc: it needs symbol versions that are no longer the default.
 * The old version of dlopen is the same function; that of posix_spawn is another function. */
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>

__asm__(".symver posix_spawn,posix_spawn@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");

int use_old_versions(void);

int use_old_versions(void)
{
    pid_t pid;
    return posix_spawn(&pid, "/bin/true", 0, 0, 0, 0) + (dlopen("x", 1) != 0) + waitpid(pid, 0, 0);
}
