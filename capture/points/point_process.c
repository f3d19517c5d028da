/* SPDX-License-Identifier: Apache-2.0 */
/* point_process.c - processes made and waited for.
 *
 * fork() returns twice, in a copy of the hook's frame: the parent records how long it took (a large process spends
 * milliseconds copying page tables); in the child the recording is its parent's and sbx_blocking_end() does nothing.
 * vfork() is no point: its child runs on this very stack and returns through it first, so the hook's frame would be
 * gone when the parent returns. What a vfork child calls before exec is recorded as the parent's, which is asleep. */
#include "point.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork_path.h"

#define MAKES(type, name, parameters, arguments, op, failed) \
    SBX_BLOCKING_HOOK(type, name, parameters, arguments, SBX_GROUP_PROCESS, SBX_RECORD_PROCESS, op, 0, 0, failed, -1)

static pid_t hook_fork(void) SBX_FORK_CODE;
MAKES(pid_t, fork, (void), (), SBX_OP_FORK, result < 0)
MAKES(int, posix_spawn,
      (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
       char *const arguments[], char *const environment[]),
      (pid, path, actions, attributes, arguments, environment), SBX_OP_POSIX_SPAWN, result != 0)
MAKES(int, posix_spawnp,
      (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
       char *const arguments[], char *const environment[]),
      (pid, path, actions, attributes, arguments, environment), SBX_OP_POSIX_SPAWN, result != 0)
MAKES(pid_t, wait, (int *status), (status), SBX_OP_WAITPID, result < 0)
MAKES(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options), SBX_OP_WAITPID, result < 0)
MAKES(pid_t, wait3, (int *status, int options, struct rusage *usage), (status, options, usage), SBX_OP_WAITPID,
      result < 0)
MAKES(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage),
      SBX_OP_WAITPID, result < 0)
MAKES(int, waitid, (idtype_t type, id_t id, siginfo_t *out, int options), (type, id, out, options), SBX_OP_WAITID,
      result < 0)
MAKES(int, system, (const char *command), (command), SBX_OP_SYSTEM, result == -1)
MAKES(FILE *, popen, (const char *command, const char *mode), (command, mode), SBX_OP_POPEN, result == NULL)
MAKES(int, pclose, (FILE * stream), (stream), SBX_OP_PCLOSE, result == -1)

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_PROCESS)
static const struct sbx_point points[] = {
    POINT(fork),  POINT(posix_spawn), POINT(posix_spawnp), POINT(wait),  POINT(waitpid), POINT(wait3),
    POINT(wait4), POINT(waitid),      POINT(system),       POINT(popen), POINT(pclose),
};
const struct sbx_point_list sbx_points_process = SBX_POINT_LIST(points);
