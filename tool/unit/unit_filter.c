/* SPDX-License-Identifier: Apache-2.0 */
/* unit_filter.c - compares words and sets of calls with the recorder's calls. */
#include "unit_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The list of docs/SANDBOXES.md; tests/lint/sandbox_calls.sh compares it with this and with the agent. The old calls of
 * x86-64 are not in it, because the C library has not used them for a long time. */
static const char *const needed[] = {
    /* begin of calls */
    "arch_prctl",
    "capget",
    "clock_gettime",
    "clock_nanosleep",
    "close",
    "close_range",
    "exit",
    "faccessat",
    "fallocate",
    "fchmod",
    "fcntl",
    "flock",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "futex",
    "getdents64",
    "geteuid",
    "getpid",
    "getrandom",
    "getrusage",
    "getsockopt",
    "gettid",
    "getuid",
    "getxattr",
    "kill",
    "lseek",
    "madvise",
    "membarrier",
    "mkdirat",
    "mmap",
    "mprotect",
    "munmap",
    "newfstatat",
    "openat",
    "prctl",
    "pread64",
    "prlimit64",
    "process_vm_readv",
    "pwrite64",
    "read",
    "readlinkat",
    "renameat",
    "renameat2",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigtimedwait",
    "rt_tgsigqueueinfo",
    "sched_getaffinity",
    "sched_getscheduler",
    "sigaltstack",
    "statx",
    "tgkill",
    "timer_create",
    "timer_delete",
    "timer_settime",
    "unlinkat",
    "unshare",
    "utimensat",
    "write",
    /* end of calls */
};

/* Further calls of a companion: of `stallbox run --beside` before the service starts, and of the companion that goes
 * on. A test runs both under a filter that kills at any other call (tests/integration/unit/filtered_test). Some calls
 * are rare, or are made by the C library of another machine. */
static const char *const companion[] = {
    /* begin of the companion's */
    "access",
    "brk",
    "chdir",
    "clone",
    "clone3",
    "dup",
    "dup2",
    "dup3",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_wait",
    "eventfd2",
    "execve",
    "exit_group",
    "faccessat2",
    "fdatasync",
    "getcwd",
    "getegid",
    "getgid",
    "getppid",
    "getsid",
    "inotify_add_watch",
    "inotify_init1",
    "inotify_rm_watch",
    "ioctl",
    "linkat",
    "memfd_create",
    "mkdir",
    "mremap",
    "pidfd_open",
    "pipe2",
    "poll",
    "ppoll",
    "readlink",
    "rename",
    "restart_syscall",
    "rmdir",
    "rseq",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "setsid",
    "signalfd4",
    "sysinfo",
    "umask",
    "uname",
    "unlink",
    "wait4",
    "writev",
    /* end of the companion's */
};

/* Further calls when it sends to a server. */
static const char *const sender[] = {
    /* begin of the sender's */
    "bind",     "connect", "getpeername", "getsockname", "recvfrom", "recvmsg",
    "sendmmsg", "sendmsg", "sendto",      "setsockopt",  "socket",   "socketpair",
    /* end of the sender's */
};

enum {
    NEEDED = sizeof needed / sizeof needed[0],
    COMPANION = sizeof companion / sizeof companion[0],
    SENDER = sizeof sender / sizeof sender[0],
    ALL = NEEDED + COMPANION + SENDER,
    DEPTH_MAX = 8, /* nesting of sets */
    SET_BYTES_MAX = 1 << 20
};

struct judgement {
    bool allowed[ALL];
    sbx_unit_expand *expand;
    char unknown[64]; /* "": all sets are known */
};

char *sbx_unit_expand_by_systemd(const char *set)
{
    char *arguments[] = {"systemd-analyze", "--no-pager", "syscall-filter", strdup(set), NULL};
    int ends[2], status = -1;
    pid_t pid;
    char *text = NULL;
    if (arguments[3] == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        free(arguments[3]);
        return NULL;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    free(arguments[3]);
    if (error == 0) {
        size_t used = 0;
        text = calloc(1, SET_BYTES_MAX + 1);
        for (ssize_t got = 1; text != NULL && used < SET_BYTES_MAX && got > 0;) {
            got = read(ends[0], text + used, SET_BYTES_MAX - used);
            used += got > 0 ? (size_t)got : 0;
            got = got < 0 && errno == EINTR ? 1 : got;
        }
    }
    close(ends[0]);
    while (error == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static const char *name_of(size_t call)
{
    return call < NEEDED               ? needed[call]
           : call < NEEDED + COMPANION ? companion[call - NEEDED]
                                       : sender[call - NEEDED - COMPANION];
}

static void set_word(struct judgement *judgement, const char *word, bool allows, int depth);

/* Take every word of a text; '#' begins a comment up to the end of the line. */
static void set_words(struct judgement *judgement, const char *text, bool allows, int depth)
{
    while (*text != '\0') {
        text += strspn(text, " \t\n\"'");
        if (*text == '#') {
            text += strcspn(text, "\n");
            continue;
        }
        char word[64];
        size_t bytes = strcspn(text, " \t\n\"'");
        if (bytes != 0 && bytes < sizeof word) {
            memcpy(word, text, bytes);
            word[bytes] = '\0';
            word[strcspn(word, ":")] = '\0'; /* "call:EPERM": an error for this call only */
            set_word(judgement, word, allows, depth);
        }
        text += bytes;
    }
}

static void set_word(struct judgement *judgement, const char *word, bool allows, int depth)
{
    if (word[0] != '@') {
        for (size_t i = 0; i < ALL; i++) {
            if (strcmp(name_of(i), word) == 0) {
                judgement->allowed[i] = allows;
            }
        }
        return;
    }
    if (depth == 0 && strcmp(word, judgement->unknown) == 0) {
        return;
    }
    char *text = depth < DEPTH_MAX ? judgement->expand(word) : NULL;
    if (text == NULL) {
        snprintf(judgement->unknown, sizeof judgement->unknown, "%s", word);
        return;
    }
    char *rest = strstr(text, word); /* its first word is its own name */
    set_words(judgement, rest != NULL ? rest + strlen(word) : text, allows, depth + 1);
    free(text);
}

enum sbx_unit_filter sbx_unit_filter_judge(const struct sbx_unit_file *unit, enum sbx_unit_caller caller,
                                           sbx_unit_expand *expand, char *calls_out, size_t calls_bytes)
{
    const size_t count = caller == SBX_UNIT_RECORDER ? NEEDED : caller == SBX_UNIT_COMPANION ? NEEDED + COMPANION : ALL;
    struct judgement judgement = {.expand = expand};
    size_t at = 0, used = 0;
    const char *value = sbx_unit_file_next(unit, "SystemCallFilter", &at);
    calls_out[0] = '\0';
    if (value == NULL) {
        return SBX_UNIT_FILTER_NONE;
    }
    bool is_list_of_allowed = value[strspn(value, " \t")] != '~';
    for (size_t i = 0; i < ALL; i++) {
        judgement.allowed[i] = !is_list_of_allowed;
    }
    if (is_list_of_allowed) { /* always there, systemd.exec(5) */
        set_word(&judgement, "@default", true, 0);
    }
    for (; value != NULL; value = sbx_unit_file_next(unit, "SystemCallFilter", &at)) {
        value += strspn(value, " \t");
        bool denies = *value == '~';
        set_words(&judgement, value + denies, !denies, 0);
    }
    if (judgement.unknown[0] != '\0') {
        snprintf(calls_out, calls_bytes, "%s", judgement.unknown);
        return SBX_UNIT_FILTER_UNKNOWN;
    }
    for (size_t i = 0; i < count; i++) {
        if (!judgement.allowed[i] && used + strlen(name_of(i)) + 2 < calls_bytes) {
            used += (size_t)snprintf(calls_out + used, calls_bytes - used, "%s%s", used != 0 ? " " : "", name_of(i));
        }
    }
    const char *error = sbx_unit_file_value(unit, "SystemCallErrorNumber");
    bool is_error = error != NULL && strcmp(error, "kill") != 0;
    return used == 0 ? SBX_UNIT_FILTER_ALLOWS : is_error ? SBX_UNIT_FILTER_REFUSES : SBX_UNIT_FILTER_KILLS;
}
