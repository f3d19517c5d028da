/* SPDX-License-Identifier: Apache-2.0 */
/* point_process.c - processes made and waited for.
 *
 * fork() returns twice, the second time in a copy of the hook's frame. The parent records how long it took; a large
 * process spends milliseconds copying page tables. In the child the recording is still the parent's, and
 * sbx_blocking_end() does nothing. The hook of fork() is installed as long as any hook is, because it holds signals
 * back (hold_signals()).
 *
 * vfork() is not a point. Its child runs on the same stack and returns through it first, so the hook's frame would be
 * gone when the parent returns. Calls of a vfork child before exec are recorded as the parent's, which is asleep. */
#include "point.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork_path.h"
#include "process_threads.h"
#include "thread_timer.h"

#define ASK_AGAIN_NS UINT64_C(100000000)

#define MAKES(type, name, parameters, arguments, op, failed) \
    SBX_BLOCKING_HOOK(type, name, parameters, arguments, SBX_GROUP_PROCESS, SBX_RECORD_PROCESS, op, 0, 0, failed, -1)

static pid_t (*real_fork)(void);

/* A program of one thread may call fork() in a signal handler that has interrupted fork(). Without the agent the C
 * library does not take its locks then (glibc 2.36 sysdeps/nptl/fork.c, multiple_threads; musl 1.2 src/process/fork.c,
 * need_locks). With the agent's threads beside the program's it takes them, and the second fork() would wait for the
 * first one for ever. So no signal handler runs meanwhile.
 *
 * In a program with several threads of its own, the C library takes these locks without the agent as well. There the
 * program's handlers of pthread_atfork() may wait for another thread, which waits until this thread has handled its
 * signal. So nothing is held back there. */
struct held_signals {
    uint64_t before, during; /* the thread's signal mask */
};

/* The answer is kept for a while, because the kernel is asked for it: 1.5 us with warm caches. A thread that the program
 * makes ends that (point_thread.c). */
static bool is_of_one_thread(uint32_t own)
{
    uint64_t now_ns = sbx_now_ns();
    bool is_of_one = now_ns < sbx_load_relaxed(&sbx_the_capture.of_one_thread_until_ns); /* relaxed: a hint's age */
    if (!is_of_one) {
        uint32_t all = sbx_raw_thread_count();
        is_of_one = all != 0 && all <= own + 1;
        sbx_store_relaxed(&sbx_the_capture.of_one_thread_until_ns, is_of_one ? now_ns + ASK_AGAIN_NS : 0);
    }
    return is_of_one;
}

static bool hold_signals(struct held_signals *held)
{
    uint32_t own = sbx_load_relaxed(&sbx_the_capture.own_threads); /* relaxed: one that ends just now counts or not */
    /* 0: not recorded yet, perhaps below a filter of its own, which may kill for a call of ours */
    bool holds = own != 0 && is_of_one_thread(own);
    if (holds) {
        held->before = sbx_raw_block_signals();
        held->during = held->before | SBX_BLOCKED_SIGNALS;
    }
    return holds;
}

/* In the parent and in the child. What a handler of pthread_atfork() has unblocked stays so. */
SBX_FORK_CODE static void let_signals(const struct held_signals *held)
{
    uint64_t unblocked = held->during & ~sbx_raw_signal_mask();
    sbx_raw_set_signals(held->before & ~unblocked);
}

/* Records are made only while the group is on. The first call may begin the recorder. */
static bool is_wanted(void)
{
    return !sbx_capture_is_open() ||
           (sbx_load_relaxed(&sbx_the_capture.control->in_force.points) & SBX_POINT_BIT(SBX_GROUP_PROCESS)) != 0;
}

static pid_t hook_fork(void) SBX_FORK_CODE;
static pid_t hook_fork(void)
{
    struct sbx_blocking call;
    struct held_signals held = {0, 0};
    SBX_SAVE_FRAME_POINTER();
    bool is_timed = is_wanted();
    if (is_timed) {
        sbx_blocking_begin(&call, SBX_GROUP_PROCESS, SBX_RECORD_PROCESS, SBX_OP_FORK, 0, 0);
    }
    bool holds = hold_signals(&held);
    pid_t result = real_fork();
    if (holds) {
        let_signals(&held);
    }
    if (is_timed) {
        sbx_blocking_end(&call, 0, result < 0, -1);
    }
    return result;
}

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
    SBX_POINT("fork", hook_fork, real_fork, SBX_GROUP_LOADER),
    POINT(posix_spawn),
    POINT(posix_spawnp),
    POINT(wait),
    POINT(waitpid),
    POINT(wait3),
    POINT(wait4),
    POINT(waitid),
    POINT(system),
    POINT(popen),
    POINT(pclose),
};
const struct sbx_point_list sbx_points_process = SBX_POINT_LIST(points);
