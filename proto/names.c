/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - tables with which a payload can carry numbers instead of strings.
 *
 * Both sides are compiled with them. The tables are indexed by the enum itself, so that a name always belongs to its
 * number. */
#include "names.h"

#include <stdbool.h>
#include <string.h>

#include "payload_numbers.h"

#define ENTRIES(table) (sizeof(table) / sizeof((table)[0]))

/* Returns one entry of a table that is indexed by its enum. Unused numbers, and numbers beyond the end, give
 * "unknown". */
static const char *name_at(const char *const *table, size_t entries, uint64_t number)
{
    return number < entries && table[number] != NULL ? table[number] : "unknown";
}

const char *sbx_trigger_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_TRIGGER_NONE] = "none",
        [SBX_TRIGGER_ANR] = "anr",
        [SBX_TRIGGER_DEADLINE] = "deadline",
        [SBX_TRIGGER_SLOW_MESSAGE] = "slow_message",
        [SBX_TRIGGER_SLOW_FRAME] = "slow_frame",
        [SBX_TRIGGER_WATCHDOG] = "watchdog",
        [SBX_TRIGGER_MANUAL] = "manual",
        [SBX_TRIGGER_KILLED] = "killed",
        [SBX_TRIGGER_CRASH] = "crash",
        [SBX_TRIGGER_END] = "stall_end",
    };
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_stall_end_name(uint32_t how)
{
    static const char *const table[] = {
        [SBX_END_NONE] = "none",
        [SBX_END_ANSWERED] = "answered",
        [SBX_END_DIED] = "died",
        [SBX_END_UNSEEN] = "unseen",
    };
    return name_at(table, ENTRIES(table), how);
}

const char *sbx_signal_name(uint32_t number)
{
    static const char *const table[] = {
        /* Linux on x86-64 and aarch64 */
        [1] = "SIGHUP",   [2] = "SIGINT",     [3] = "SIGQUIT",  [4] = "SIGILL",     [5] = "SIGTRAP",  [6] = "SIGABRT",
        [7] = "SIGBUS",   [8] = "SIGFPE",     [9] = "SIGKILL",  [10] = "SIGUSR1",   [11] = "SIGSEGV", [12] = "SIGUSR2",
        [13] = "SIGPIPE", [14] = "SIGALRM",   [15] = "SIGTERM", [16] = "SIGSTKFLT", [17] = "SIGCHLD", [18] = "SIGCONT",
        [19] = "SIGSTOP", [20] = "SIGTSTP",   [21] = "SIGTTIN", [22] = "SIGTTOU",   [23] = "SIGURG",  [24] = "SIGXCPU",
        [25] = "SIGXFSZ", [26] = "SIGVTALRM", [27] = "SIGPROF", [28] = "SIGWINCH",  [29] = "SIGIO",   [30] = "SIGPWR",
        [31] = "SIGSYS",
    };
    return number >= 32 && number <= SBX_SIGNAL_MAX ? "SIGRT" : name_at(table, ENTRIES(table), number);
}

const char *sbx_fault_text(uint32_t fault)
{
    static const char *const table[] = {
        [SBX_FAULT_UNKNOWN] = "why is not known",
        [SBX_FAULT_SENT] = "sent by another process",
        [SBX_FAULT_ABORT] = "raised by the program itself",
        [SBX_FAULT_UNMAPPED] = "no memory at the address",
        [SBX_FAULT_PROTECTED] = "memory that may not be used so",
        [SBX_FAULT_WILD] = "an impossible address",
        [SBX_FAULT_ALIGNMENT] = "an address that is not aligned",
        [SBX_FAULT_BACKING] = "mapped memory beyond its file's end",
        [SBX_FAULT_HARDWARE] = "a memory error of the machine",
        [SBX_FAULT_INSTRUCTION] = "an instruction that does not exist",
        [SBX_FAULT_DIVISION] = "a division by zero",
        [SBX_FAULT_ARITHMETIC] = "an arithmetic exception",
        [SBX_FAULT_BREAKPOINT] = "a breakpoint without a debugger",
        [SBX_FAULT_SECCOMP] = "a system call that a filter forbids",
        [SBX_FAULT_STACK] = "its stack overflowed",
        [SBX_FAULT_NO_MEMORY] = "the kernel killed it for lack of memory",
    };
    return name_at(table, ENTRIES(table), fault);
}

const char *sbx_record_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_RECORD_NONE] = "none",       [SBX_RECORD_ALLOC] = "alloc",   [SBX_RECORD_ASYNC] = "async",
        [SBX_RECORD_BLOCKED] = "blocked", [SBX_RECORD_LOCK] = "lock",     [SBX_RECORD_COND] = "cond",
        [SBX_RECORD_POLL] = "poll",       [SBX_RECORD_SLEEP] = "sleep",   [SBX_RECORD_FILE] = "file",
        [SBX_RECORD_SOCKET] = "socket",   [SBX_RECORD_SYNC] = "sync",     [SBX_RECORD_IDLE] = "idle",
        [SBX_RECORD_MESSAGE] = "message", [SBX_RECORD_WAIT] = "wait",     [SBX_RECORD_PROCESS] = "process",
        [SBX_RECORD_LOADER] = "loader",   [SBX_RECORD_WAKE] = "wake",     [SBX_RECORD_FRAME] = "frame",
        [SBX_RECORD_LEAF] = "leaf",       [SBX_RECORD_MEMORY] = "memory", [SBX_RECORD_KERNEL] = "kernel",
        [SBX_RECORD_HOP] = "hop",         [SBX_RECORD_TASK] = "task",     [SBX_RECORD_AWAITED] = "awaited",
    };
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_op_name(uint32_t op)
{
    static const char *const table[] = {
        [SBX_OP_NONE] = "none",
        [SBX_OP_MALLOC] = "malloc",
        [SBX_OP_CALLOC] = "calloc",
        [SBX_OP_REALLOC] = "realloc",
        [SBX_OP_FREE] = "free",
        [SBX_OP_ALIGNED_ALLOC] = "aligned_alloc",
        [SBX_OP_MUTEX_LOCK] = "pthread_mutex_lock",
        [SBX_OP_MUTEX_TIMEDLOCK] = "pthread_mutex_timedlock",
        [SBX_OP_COND_WAIT] = "pthread_cond_wait",
        [SBX_OP_COND_TIMEDWAIT] = "pthread_cond_timedwait",
        [SBX_OP_COND_CLOCKWAIT] = "pthread_cond_clockwait",
        [SBX_OP_POLL] = "poll",
        [SBX_OP_PPOLL] = "ppoll",
        [SBX_OP_EPOLL_WAIT] = "epoll_wait",
        [SBX_OP_EPOLL_PWAIT] = "epoll_pwait",
        [SBX_OP_SELECT] = "select",
        [SBX_OP_PSELECT] = "pselect",
        [SBX_OP_EPOLL_PWAIT2] = "epoll_pwait2",
        [SBX_OP_NANOSLEEP] = "nanosleep",
        [SBX_OP_CLOCK_NANOSLEEP] = "clock_nanosleep",
        [SBX_OP_USLEEP] = "usleep",
        [SBX_OP_SLEEP] = "sleep",
        [SBX_OP_READ] = "read",
        [SBX_OP_WRITE] = "write",
        [SBX_OP_PREAD] = "pread",
        [SBX_OP_PWRITE] = "pwrite",
        [SBX_OP_READV] = "readv",
        [SBX_OP_WRITEV] = "writev",
        [SBX_OP_OPEN] = "open",
        [SBX_OP_FSYNC] = "fsync",
        [SBX_OP_FDATASYNC] = "fdatasync",
        [SBX_OP_FLOCK] = "flock",
        [SBX_OP_SYNC_FILE_RANGE] = "sync_file_range",
        [SBX_OP_CONNECT] = "connect",
        [SBX_OP_ACCEPT] = "accept",
        [SBX_OP_SEND] = "send",
        [SBX_OP_RECV] = "recv",
        [SBX_OP_SENDTO] = "sendto",
        [SBX_OP_RECVFROM] = "recvfrom",
        [SBX_OP_SENDMSG] = "sendmsg",
        [SBX_OP_RECVMSG] = "recvmsg",
        [SBX_OP_GETADDRINFO] = "getaddrinfo",
        [SBX_OP_SYSCALL] = "syscall",
        [SBX_OP_RUNNING] = "running",
        [SBX_OP_PAGE_FAULT] = "page fault",
        [SBX_OP_RWLOCK_RDLOCK] = "pthread_rwlock_rdlock",
        [SBX_OP_RWLOCK_WRLOCK] = "pthread_rwlock_wrlock",
        [SBX_OP_RWLOCK_TIMEDRDLOCK] = "pthread_rwlock_timedrdlock",
        [SBX_OP_RWLOCK_TIMEDWRLOCK] = "pthread_rwlock_timedwrlock",
        [SBX_OP_SPIN_LOCK] = "pthread_spin_lock",
        [SBX_OP_MUTEX_CLOCKLOCK] = "pthread_mutex_clocklock",
        [SBX_OP_MUTEX_UNLOCK] = "pthread_mutex_unlock",
        [SBX_OP_RWLOCK_UNLOCK] = "pthread_rwlock_unlock",
        [SBX_OP_SPIN_UNLOCK] = "pthread_spin_unlock",
        [SBX_OP_COND_SIGNAL] = "pthread_cond_signal",
        [SBX_OP_COND_BROADCAST] = "pthread_cond_broadcast",
        [SBX_OP_SEM_POST] = "sem_post",
        [SBX_OP_EVENTFD_WRITE] = "eventfd_write",
        [SBX_OP_FUTEX_WAKE] = "futex_wake",
        [SBX_OP_THREAD_EXIT] = "thread_exit",
        [SBX_OP_BARRIER_LAST] = "barrier_last",
        [SBX_OP_SEM_WAIT] = "sem_wait",
        [SBX_OP_SEM_TIMEDWAIT] = "sem_timedwait",
        [SBX_OP_BARRIER_WAIT] = "pthread_barrier_wait",
        [SBX_OP_JOIN] = "pthread_join",
        [SBX_OP_TIMEDJOIN] = "pthread_timedjoin_np",
        [SBX_OP_EVENTFD_READ] = "eventfd_read",
        [SBX_OP_FUTEX_WAIT] = "futex_wait",
        [SBX_OP_REALLOCARRAY] = "reallocarray",
        [SBX_OP_MMAP] = "mmap",
        [SBX_OP_MUNMAP] = "munmap",
        [SBX_OP_MREMAP] = "mremap",
        [SBX_OP_MADVISE] = "madvise",
        [SBX_OP_CLOSE] = "close",
        [SBX_OP_PREADV] = "preadv",
        [SBX_OP_PWRITEV] = "pwritev",
        [SBX_OP_STAT] = "stat",
        [SBX_OP_FSTAT] = "fstat",
        [SBX_OP_STATX] = "statx",
        [SBX_OP_ACCESS] = "access",
        [SBX_OP_READLINK] = "readlink",
        [SBX_OP_RENAME] = "rename",
        [SBX_OP_UNLINK] = "unlink",
        [SBX_OP_MKDIR] = "mkdir",
        [SBX_OP_RMDIR] = "rmdir",
        [SBX_OP_LINK] = "link",
        [SBX_OP_OPENDIR] = "opendir",
        [SBX_OP_READDIR] = "readdir",
        [SBX_OP_GETDENTS] = "getdents",
        [SBX_OP_FCNTL_LOCK] = "fcntl_lock",
        [SBX_OP_LOCKF] = "lockf",
        [SBX_OP_TRUNCATE] = "truncate",
        [SBX_OP_FALLOCATE] = "fallocate",
        [SBX_OP_SENDFILE] = "sendfile",
        [SBX_OP_COPY_FILE_RANGE] = "copy_file_range",
        [SBX_OP_SPLICE] = "splice",
        [SBX_OP_SYNC] = "sync",
        [SBX_OP_SYNCFS] = "syncfs",
        [SBX_OP_MSYNC] = "msync",
        [SBX_OP_STATFS] = "statfs",
        [SBX_OP_FOPEN] = "fopen",
        [SBX_OP_FCLOSE] = "fclose",
        [SBX_OP_FREAD] = "fread",
        [SBX_OP_FWRITE] = "fwrite",
        [SBX_OP_FGETS] = "fgets",
        [SBX_OP_FPUTS] = "fputs",
        [SBX_OP_FPRINTF] = "fprintf",
        [SBX_OP_FFLUSH] = "fflush",
        [SBX_OP_GETLINE] = "getline",
        [SBX_OP_PUTS] = "puts",
        [SBX_OP_FGETC] = "fgetc",
        [SBX_OP_FORK] = "fork",
        [SBX_OP_POSIX_SPAWN] = "posix_spawn",
        [SBX_OP_WAITPID] = "waitpid",
        [SBX_OP_WAITID] = "waitid",
        [SBX_OP_SYSTEM] = "system",
        [SBX_OP_POPEN] = "popen",
        [SBX_OP_PCLOSE] = "pclose",
        [SBX_OP_DLOPEN] = "dlopen",
        [SBX_OP_DLCLOSE] = "dlclose",
        [SBX_OP_CLOCK_GETTIME] = "clock_gettime",
        [SBX_OP_GETTIMEOFDAY] = "gettimeofday",
        [SBX_OP_TIME] = "time",
        [SBX_OP_SDL_RENDER_PRESENT] = "SDL_RenderPresent",
        [SBX_OP_SDL_SWAP_WINDOW] = "SDL_GL_SwapWindow",
        [SBX_OP_EGL_SWAP_BUFFERS] = "eglSwapBuffers",
        [SBX_OP_GLX_SWAP_BUFFERS] = "glXSwapBuffers",
        [SBX_OP_VK_QUEUE_PRESENT] = "vkQueuePresentKHR",
        [SBX_OP_SENDMMSG] = "sendmmsg",
        [SBX_OP_RECVMMSG] = "recvmmsg",
        [SBX_OP_GETNAMEINFO] = "getnameinfo",
        [SBX_OP_GETHOSTBYNAME] = "gethostbyname",
        [SBX_OP_PAUSE] = "pause",
        [SBX_OP_SIGSUSPEND] = "sigsuspend",
        [SBX_OP_SIGTIMEDWAIT] = "sigtimedwait",
        [SBX_OP_RUNTIME_LOCK] = "interpreter lock",
        [SBX_OP_TASK] = "task",
        [SBX_OP_G_IDLE_ADD] = "g_idle_add",
        [SBX_OP_G_TIMEOUT_ADD] = "g_timeout_add",
        [SBX_OP_G_SOURCE_ATTACH] = "g_source_attach",
        [SBX_OP_G_MAIN_CONTEXT_INVOKE] = "g_main_context_invoke",
        [SBX_OP_G_THREAD_POOL_PUSH] = "g_thread_pool_push",
        [SBX_OP_G_TASK_RUN_IN_THREAD] = "g_task_run_in_thread",
        [SBX_OP_G_ASYNC_QUEUE_PUSH] = "g_async_queue_push",
        [SBX_OP_PTHREAD_CREATE] = "pthread_create",
        [SBX_OP_UV_QUEUE_WORK] = "uv_queue_work",
        [SBX_OP_UV_ASYNC_SEND] = "uv_async_send",
        [SBX_OP_UV_TIMER_START] = "uv_timer_start",
        [SBX_OP_UV_FS] = "uv_fs",
        [SBX_OP_QT_POST_EVENT] = "QCoreApplication::postEvent",
        [SBX_OP_EVENT_ACTIVE] = "event_active",
        [SBX_OP_QT_TIMER] = "QTimer",
        [SBX_OP_QT_THREAD_POOL] = "QThreadPool::start",
        [SBX_OP_EVENT_ADD] = "event_add",
        [SBX_OP_G_DBUS_CALL] = "g_dbus_connection_call",
        [SBX_OP_IO_URING_SUBMIT] = "io_uring_submit",
        [SBX_OP_IO_URING_WAIT] = "io_uring_wait_cqe",
        [SBX_OP_CALL_SOON] = "call_soon",
        [SBX_OP_CALL_LATER] = "call_later",
        [SBX_OP_CREATE_TASK] = "create_task",
        [SBX_OP_TO_THREAD] = "to_thread",
        [SBX_OP_SUBMIT] = "submit",
        [SBX_OP_SET_TIMEOUT] = "setTimeout",
        [SBX_OP_SET_INTERVAL] = "setInterval",
        [SBX_OP_JS_CALLBACK] = "callback",
    };
    return name_at(table, ENTRIES(table), op);
}

const char *sbx_point_name(uint32_t group)
{
    static const char *const table[] = {
        [SBX_GROUP_ALLOC] = "alloc",
        [SBX_GROUP_LOCK] = "lock",
        [SBX_GROUP_COND] = "cond",
        [SBX_GROUP_POLL] = "poll",
        [SBX_GROUP_SLEEP] = "sleep",
        [SBX_GROUP_FILE] = "file",
        [SBX_GROUP_SOCKET] = "socket",
        [SBX_GROUP_ASYNC] = "async",
        [SBX_GROUP_FREE] = "free",
        [SBX_GROUP_MAP] = "map",
        [SBX_GROUP_RWLOCK] = "rwlock",
        [SBX_GROUP_SPIN] = "spin",
        [SBX_GROUP_WAKE] = "wake",
        [SBX_GROUP_SEMAPHORE] = "semaphore",
        [SBX_GROUP_BARRIER] = "barrier",
        [SBX_GROUP_JOIN] = "join",
        [SBX_GROUP_EVENTFD] = "eventfd",
        [SBX_GROUP_FUTEX] = "futex",
        [SBX_GROUP_OPEN] = "open",
        [SBX_GROUP_SYNC] = "sync",
        [SBX_GROUP_STAT] = "stat",
        [SBX_GROUP_DIRECTORY] = "directory",
        [SBX_GROUP_FILE_LOCK] = "file_lock",
        [SBX_GROUP_STDIO] = "stdio",
        [SBX_GROUP_LOOKUP] = "lookup",
        [SBX_GROUP_PROCESS] = "process",
        [SBX_GROUP_LOADER] = "loader",
        [SBX_GROUP_CLOCK] = "clock",
        [SBX_GROUP_FRAME] = "frame",
        [SBX_GROUP_TASK] = "task",
        [SBX_GROUP_GLIB] = "glib",
        [SBX_GROUP_QT] = "qt",
        [SBX_GROUP_UV] = "uv",
        [SBX_GROUP_LIBEVENT] = "libevent",
        [SBX_GROUP_SELF_PIPE] = "self_pipe",
        [SBX_GROUP_URING] = "io_uring",
        [SBX_GROUP_ASYNCIO] = "asyncio",
        [SBX_GROUP_JAVASCRIPT] = "javascript",
    };
    return name_at(table, ENTRIES(table), group);
}

const char *sbx_watch_kind_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_WATCH_NONE] = "none", [SBX_WATCH_WATCHDOG] = "watch", [SBX_WATCH_DEADLINE] = "deadline"};
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_watch_state_name(uint32_t state)
{
    static const char *const table[] = {[SBX_WATCH_FREE] = "free",
                                        [SBX_WATCH_FILLING] = "filling",
                                        [SBX_WATCH_OPEN] = "open",
                                        [SBX_WATCH_RESTING] = "resting",
                                        [SBX_WATCH_LATE] = "late"};
    return name_at(table, ENTRIES(table), state);
}

const char *sbx_runtime_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_RUNTIME_PYTHON] = "Python",
        [SBX_RUNTIME_JAVA] = "Java",
        [SBX_RUNTIME_JAVASCRIPT] = "V8",
    };
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_runtime_state_name(uint32_t state)
{
    static const char *const table[] = {
        [SBX_RUNTIME_NOT_YET] = "not up yet",
        [SBX_RUNTIME_ATTACHED] = "its functions are named",
        [SBX_RUNTIME_LEFT_ALONE] = "left alone",
        [SBX_RUNTIME_SWITCHED_OFF] = "left alone, as STALLBOX_RUNTIMES wants it",
        [SBX_RUNTIME_NO_PROVIDER] = "left alone, without its provider",
    };
    return name_at(table, ENTRIES(table), state);
}

const char *sbx_drop_name(uint32_t drop)
{
    static const char *const table[] = {
        [SBX_DROP_NO_CHUNK] = "no_chunk",
        [SBX_DROP_NESTED] = "nested",
        [SBX_DROP_NO_THREAD] = "no_thread",
        [SBX_DROP_STACK_OVERFLOW] = "stack_overflow",
        [SBX_DROP_FRAME_OVERFLOW] = "frame_overflow",
        [SBX_DROP_TRUNCATED] = "truncated",
        [SBX_DROP_SIGNAL_LATE] = "signal_late",
        [SBX_DROP_SIGNAL_TAKEN] = "signal_taken",
        [SBX_DROP_OBSERVE_FAILED] = "observe_failed",
        [SBX_DROP_NO_MODULE] = "no_module",
        [SBX_DROP_SNAPSHOT_BUSY] = "snapshot_busy",
        [SBX_DROP_SNAPSHOT_RATE] = "snapshot_rate",
        [SBX_DROP_SNAPSHOT_FAILED] = "snapshot_failed",
        [SBX_DROP_TORN_CHUNK] = "torn_chunk",
        [SBX_DROP_BAD_RECORD] = "bad_record",
        [SBX_DROP_STALE_STACK] = "stale_stack",
        [SBX_DROP_FOREIGN_SLOT] = "foreign_slot",
        [SBX_DROP_NO_WAITER_SEAT] = "no_waiter_seat",
        [SBX_DROP_CLOCK_FOREIGN] = "clock_foreign",
        [SBX_DROP_CUT] = "cut",
        [SBX_DROP_TORN_RUN] = "torn_run",
        [SBX_DROP_LOGICAL_OVERFLOW] = "logical_overflow",
        [SBX_DROP_LOGICAL_SKIPPED] = "logical_skipped",
        [SBX_DROP_NO_WATCH] = "no_watch",
        [SBX_DROP_NO_CONSENT] = "no_consent",
        [SBX_DROP_SIGNAL_DEAF] = "signal_deaf",
        [SBX_DROP_CALL_CUT] = "call_cut",
        [SBX_DROP_THREAD_UNMET] = "thread_unmet",
        [SBX_DROP_CALL_MOVED] = "call_moved",
        [SBX_DROP_STALL_END] = "stall_end",
        [SBX_DROP_NO_TASK] = "no_task",
        [SBX_DROP_NO_QUEUE] = "no_queue",
        [SBX_DROP_UNREADABLE] = "unreadable",
        [SBX_DROP_LOADER_HELD] = "loader_held",
    };
    return name_at(table, ENTRIES(table), drop);
}

const char *sbx_walk_end_name(uint32_t reason)
{
    static const char *const table[] = {
        [SBX_WALK_COMPLETE] = "complete",       [SBX_WALK_NO_MODULE] = "no_module",
        [SBX_WALK_NO_ROW] = "no_row",           [SBX_WALK_UNSUPPORTED] = "unsupported",
        [SBX_WALK_BAD_MEMORY] = "bad_memory",   [SBX_WALK_TOO_DEEP] = "too_deep",
        [SBX_WALK_NO_PROGRESS] = "no_progress", [SBX_WALK_ROWS_PENDING] = "rows_pending",
    };
    return name_at(table, ENTRIES(table), reason);
}

const char *sbx_fd_class_name(uint32_t fd_class)
{
    static const char *const table[] = {
        [SBX_FD_UNKNOWN] = "unknown", [SBX_FD_REGULAR] = "regular", [SBX_FD_DIRECTORY] = "directory",
        [SBX_FD_PIPE] = "pipe",       [SBX_FD_SOCKET] = "socket",   [SBX_FD_TTY] = "tty",
        [SBX_FD_DEVICE] = "device",   [SBX_FD_OTHER] = "other",     [SBX_FD_UNIX] = "local socket",
    };
    return name_at(table, ENTRIES(table), fd_class);
}

const char *sbx_syscall_name(uint64_t number)
{
    /* From arch/x86/entry/syscalls/syscall_64.tbl. Only calls that can block, or in which a blocked thread is found. */
    static const char *const table[] = {
        [0] = "read",
        [1] = "write",
        [2] = "open",
        [3] = "close",
        [5] = "fstat",
        [7] = "poll",
        [9] = "mmap",
        [10] = "mprotect",
        [11] = "munmap",
        [12] = "brk",
        [16] = "ioctl",
        [17] = "pread64",
        [18] = "pwrite64",
        [19] = "readv",
        [20] = "writev",
        [23] = "select",
        [24] = "sched_yield",
        [25] = "mremap",
        [26] = "msync",
        [28] = "madvise",
        [34] = "pause",
        [35] = "nanosleep",
        [40] = "sendfile",
        [42] = "connect",
        [43] = "accept",
        [44] = "sendto",
        [45] = "recvfrom",
        [46] = "sendmsg",
        [47] = "recvmsg",
        [48] = "shutdown",
        [56] = "clone",
        [57] = "fork",
        [58] = "vfork",
        [59] = "execve",
        [61] = "wait4",
        [65] = "semop",
        [69] = "msgsnd",
        [70] = "msgrcv",
        [72] = "fcntl",
        [73] = "flock",
        [74] = "fsync",
        [75] = "fdatasync",
        [76] = "truncate",
        [77] = "ftruncate",
        [78] = "getdents",
        [82] = "rename",
        [83] = "mkdir",
        [84] = "rmdir",
        [85] = "creat",
        [86] = "link",
        [87] = "unlink",
        [127] = "rt_sigpending",
        [128] = "rt_sigtimedwait",
        [130] = "rt_sigsuspend",
        [149] = "mlock",
        [151] = "mlockall",
        [162] = "sync",
        [165] = "mount",
        [166] = "umount2",
        [202] = "futex",
        [208] = "io_getevents",
        [217] = "getdents64",
        [219] = "restart_syscall",
        [220] = "semtimedop",
        [221] = "fadvise64",
        [230] = "clock_nanosleep",
        [232] = "epoll_wait",
        [242] = "mq_timedsend",
        [243] = "mq_timedreceive",
        [247] = "waitid",
        [257] = "openat",
        [263] = "unlinkat",
        [264] = "renameat",
        [270] = "pselect6",
        [271] = "ppoll",
        [275] = "splice",
        [276] = "tee",
        [277] = "sync_file_range",
        [278] = "vmsplice",
        [281] = "epoll_pwait",
        [285] = "fallocate",
        [288] = "accept4",
        [295] = "preadv",
        [296] = "pwritev",
        [299] = "recvmmsg",
        [306] = "syncfs",
        [307] = "sendmmsg",
        [316] = "renameat2",
        [318] = "getrandom",
        [324] = "membarrier",
        [325] = "mlock2",
        [326] = "copy_file_range",
        [327] = "preadv2",
        [328] = "pwritev2",
        [333] = "io_pgetevents",
        [426] = "io_uring_enter",
        [435] = "clone3",
        [437] = "openat2",
        [441] = "epoll_pwait2",
        [449] = "futex_waitv",
        [454] = "futex_wake",
        [455] = "futex_wait",
    };
    return number < ENTRIES(table) ? table[number] : NULL;
}

uint64_t sbx_app_what(const char *name)
{
    const uint64_t mask = (UINT64_C(1) << 40) - 1;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = name; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    hash = (hash ^ hash >> 40) & mask;
    return name[0] == '\0' ? 0 : hash != 0 ? hash : 1;
}

/* Returns the low 40 bits of FNV-1a over the build-id, the number's low 8 bits, and the sort of number (left out if it
 * is 0). */
static uint64_t number_what(const uint8_t *app_build_id, size_t bytes, uint32_t number, uint8_t sort)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ app_build_id[i]) * UINT64_C(0x100000001b3);
    }
    hash = (hash ^ (number & 0xff)) * UINT64_C(0x100000001b3);
    hash = sort != 0 ? (hash ^ sort) * UINT64_C(0x100000001b3) : hash;
    return bytes == 0 || number == 0 ? 0 : hash & UINT64_C(0xffffffffff);
}

uint64_t sbx_message_kind_what(const uint8_t *app_build_id, size_t bytes, uint32_t kind)
{
    return number_what(app_build_id, bytes, kind, 0);
}

uint64_t sbx_scene_what(const uint8_t *app_build_id, size_t bytes, uint32_t scene)
{
    return number_what(app_build_id, bytes, scene, 's');
}
