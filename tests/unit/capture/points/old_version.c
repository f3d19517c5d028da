/* SPDX-License-Identifier: Apache-2.0 */
/* old_version.c - a module as one linked against an old glibc: it wants versions that are no more the default. Of
 * dlopen the old version is the same function, of posix_spawn another. */
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
