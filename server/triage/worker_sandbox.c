/* SPDX-License-Identifier: Apache-2.0 */
/* worker_sandbox.c - sets limits, then a filter of system calls by number and, when files are opened, by flags. */
#include "worker_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define MEMORY_BYTES (UINT64_C(512) << 20) /* writable memory; mapped symbol files do not count */
enum {
    DESCRIPTORS = 1024 /* a symbolizer keeps some 48 files open, with their parts */
};

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_real = false;
#else
static const bool is_real = true;
#endif

bool sbx_worker_sandbox_is_real(void)
{
    return is_real;
}

static int set_limit(__rlimit_resource_t resource, uint64_t limit)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && now.rlim_max < limit)
        limit = now.rlim_max; /* the limit is lower already */
    const struct rlimit both = {limit, limit};
    return setrlimit(resource, &both) == 0 ? 0 : -errno;
}

#ifdef OWN_ARCHITECTURE
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int set_filter(bool has_connections)
{
    static const struct sock_filter begin[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        /* openat: its flags are the third argument, and are all in the lower half */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    static const struct sock_filter middle[] = {
        ALLOW(read),         ALLOW(readv),           ALLOW(pread64),
        ALLOW(write),        ALLOW(writev),          ALLOW(lseek),
        ALLOW(fstat),        ALLOW(newfstatat),      ALLOW(statx),
        ALLOW(fstatfs),      ALLOW(close),           ALLOW(fcntl),
        ALLOW(getdents64),   ALLOW(readlinkat),      ALLOW(faccessat),
        ALLOW(mmap),         ALLOW(munmap),          ALLOW(mremap),
        ALLOW(mprotect),     ALLOW(madvise),         ALLOW(brk),
        ALLOW(futex),        ALLOW(getrandom),       ALLOW(clock_gettime),
        ALLOW(gettimeofday), ALLOW(utimensat),       ALLOW(getcwd),
        ALLOW(getpid),       ALLOW(gettid),          ALLOW(tgkill),
        ALLOW(getuid),       ALLOW(geteuid),         ALLOW(sysinfo),
        ALLOW(uname),        ALLOW(clock_nanosleep), ALLOW(rt_sigreturn),
        ALLOW(rt_sigaction), ALLOW(rt_sigprocmask),  ALLOW(exit),
        ALLOW(exit_group),   ALLOW(restart_syscall),
#ifdef __x86_64__
        ALLOW(readlink),     ALLOW(access),          ALLOW(time),
#endif
    };
    /* The system calls behind send(), recv() and poll(). A sendto() with an address, or with MSG_FASTOPEN, would
     * connect. */
    static const struct sock_filter network[] = {
        ALLOW(recvfrom),
        ALLOW(ppoll),
#ifdef __x86_64__
        ALLOW(poll),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendto, 0, 8),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MSG_FASTOPEN, 5, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4]) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    static const struct sock_filter end = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    enum {
        BEGIN = sizeof begin / sizeof *begin,
        MIDDLE = sizeof middle / sizeof *middle,
        NETWORK = sizeof network / sizeof *network
    };
    struct sock_filter program[BEGIN + MIDDLE + NETWORK + 1];
    size_t count = 0;
    for (size_t i = 0; i < BEGIN; i++)
        program[count++] = begin[i];
    for (size_t i = 0; i < MIDDLE; i++)
        program[count++] = middle[i];
    for (size_t i = 0; i < NETWORK && has_connections; i++)
        program[count++] = network[i];
    program[count++] = end;
    const struct sock_fprog filter = {.len = (unsigned short)count, .filter = program};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 ? 0 : -errno;
}
#else
static int set_filter(bool has_connections)
{
    (void)has_connections;
    return 0;
}
#endif

int sbx_worker_sandbox_close(bool has_connections)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return -errno;
    int result = set_limit(RLIMIT_CORE, 0);
    if (result == 0 && is_real)
        result = set_limit(RLIMIT_DATA, MEMORY_BYTES);
    if (result == 0)
        result = set_limit(RLIMIT_NOFILE, DESCRIPTORS);
    if (result == 0 && is_real)
        result = set_filter(has_connections);
    return result;
}
