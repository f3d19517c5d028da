/* SPDX-License-Identifier: Apache-2.0 */
/* payload_numbers.h - the enumerations that recordings and payloads share.
 *
 * They are the vocabulary of the wire contract: numbers are appended, never moved or reused. The file is in proto/
 * because agent and server share it. It contains numbers only, no code. */
#ifndef SBX_PAYLOAD_NUMBERS_H
#define SBX_PAYLOAD_NUMBERS_H

/* Why a walk ended. */
enum sbx_walk_end {
    SBX_WALK_COMPLETE = 0,     /* reached the thread's first frame (undefined return address, or _start) */
    SBX_WALK_NO_MODULE = 1,    /* the program counter is in no known module */
    SBX_WALK_NO_ROW = 2,       /* the module has no unwind row there, and there is no frame pointer chain to follow */
    SBX_WALK_UNSUPPORTED = 3,  /* an unwind rule that a row cannot represent */
    SBX_WALK_BAD_MEMORY = 4,   /* the next slot is outside of the readable stack */
    SBX_WALK_TOO_DEEP = 5,     /* more frames than are stored */
    SBX_WALK_NO_PROGRESS = 6,  /* the next frame would not be farther out */
    SBX_WALK_ROWS_PENDING = 7, /* the module's rows are still being built */
};

/* What was dropped, by kind. The counts begin with the recording and are never reset. */
enum sbx_drop {
    SBX_DROP_NO_CHUNK = 0,          /* no ring chunk was available */
    SBX_DROP_NESTED = 1,            /* the sampler interrupted our own code */
    SBX_DROP_NO_THREAD = 2,         /* no thread entry was free */
    SBX_DROP_STACK_OVERFLOW = 3,    /* callstack table full */
    SBX_DROP_FRAME_OVERFLOW = 4,    /* frame table full */
    SBX_DROP_TRUNCATED = 5,         /* stacks whose walk did not reach the end */
    SBX_DROP_SIGNAL_LATE = 6,       /* an asynchronous capture without an answer in time */
    SBX_DROP_SIGNAL_TAKEN = 7,      /* the host owns our signal: asynchronous capture is off */
    SBX_DROP_OBSERVE_FAILED = 8,    /* a blocked thread could not be read */
    SBX_DROP_NO_MODULE = 9,         /* module table full */
    SBX_DROP_SNAPSHOT_BUSY = 10,    /* a trigger fired while a snapshot was in flight */
    SBX_DROP_SNAPSHOT_RATE = 11,    /* a trigger fired within min_gap_ms of the last */
    SBX_DROP_SNAPSHOT_FAILED = 12,  /* the snapshot could not be written; header.last_error has errno */
    SBX_DROP_TORN_CHUNK = 13,       /* reader: a chunk was recycled while it was read */
    SBX_DROP_BAD_RECORD = 14,       /* reader: bytes that are no record */
    SBX_DROP_STALE_STACK = 15,      /* reader: the callstack's epoch is gone */
    SBX_DROP_FOREIGN_SLOT = 16,     /* GOT slots left unchanged: bound to another definition */
    SBX_DROP_NO_WAITER_SEAT = 17,   /* a wait without a seat in the table of waiters: its waker is not known */
    SBX_DROP_CLOCK_FOREIGN = 18,    /* times read from the kernel because other code uses the thread's rseq area */
    SBX_DROP_CUT = 19,              /* stacks deeper than is stored: both ends are there, the middle is not */
    SBX_DROP_TORN_RUN = 20,         /* reader: a run of equal samples was being written when it was read */
    SBX_DROP_LOGICAL_OVERFLOW = 21, /* logical frames whose function found no room: they have no name */
    SBX_DROP_NO_WATCH = 22,         /* a watch or a deadline that found no free entry: it is not checked */
    SBX_DROP_NO_CONSENT = 23,       /* a trigger fired while the user's consent was not given */
    SBX_DROP_LOGICAL_SKIPPED = 24,  /* stacks of a runtime that could not be read at that point: perhaps in a handler */
    SBX_DROP_SIGNAL_DEAF =
        25, /* threads not sampled by signal: they block it, lack room for it, or are strangers; one a traced program */
    SBX_DROP_CALL_CUT = 26,     /* calls that a sample's signal ended with EINTR: on kernels before 5.11 only */
    SBX_DROP_THREAD_UNMET = 27, /* threads whose start was not recorded: no seat was free for it */
    SBX_DROP_CALL_MOVED = 28, /* calls that ended elsewhere than they began: their stack was left or switched inside */
    SBX_DROP_STALL_END = 29,  /* stalls reported while they went on, whose end could not be stored or written */
    SBX_DROP_NO_TASK = 30,  /* queued tasks that were not followed: no free entry, or too many open ones in a thread */
    SBX_DROP_NO_QUEUE = 31, /* tasks put into a queue for which there was no entry: counted in no queue */
    SBX_DROP_UNREADABLE = 32, /* structures of a runtime that could not be read: a load would have faulted */
    SBX_DROP_LOADER_HELD =
        33, /* forks while our own thread held the loader's lock: the child's copy stays locked for ever */
    SBX_DROP_COUNT = 34
};

/* Flags of a thread; in a recording's entry (the first two) and in a payload. */
enum sbx_thread_flag {
    SBX_THREAD_FLAG_MAIN = 1,
    SBX_THREAD_FLAG_LOOP = 2,  /* it runs the loop whose messages are judged */
    SBX_THREAD_FLAG_ENDED = 4, /* before the trigger */
};

/* Platform.arch of a payload. */
enum sbx_architecture {
    SBX_ARCHITECTURE_OTHER = 0,
    SBX_ARCHITECTURE_X86_64 = 1,
    SBX_ARCHITECTURE_AARCH64 = 2,
    SBX_ARCHITECTURE_COUNT = 3
};

/* The kinds of triggers. The numbers are part of the payload. */
enum sbx_trigger_kind {
    SBX_TRIGGER_NONE = 0,
    SBX_TRIGGER_ANR = 1,
    SBX_TRIGGER_DEADLINE = 2,
    SBX_TRIGGER_SLOW_MESSAGE = 3,
    SBX_TRIGGER_SLOW_FRAME = 4,
    SBX_TRIGGER_WATCHDOG = 5,
    SBX_TRIGGER_MANUAL = 6,
    SBX_TRIGGER_KILLED = 7,
    SBX_TRIGGER_CRASH = 8,
    SBX_TRIGGER_END = 9, /* no stall: the end of a stall that was reported while it went on */
    SBX_TRIGGER_KINDS = 10
};

/* How a stall ended that was reported while it went on. */
enum sbx_stall_end {
    SBX_END_NONE = 0,
    SBX_END_ANSWERED = 1, /* the thread continued */
    SBX_END_DIED = 2,     /* the process ended first, by a signal or by itself */
    SBX_END_UNSEEN = 3,   /* recording stopped first */
    SBX_END_KINDS = 4
};

/* A promise that a time limit watches (recording_format.h, struct sbx_watch_entry). */
enum sbx_watch_kind {
    SBX_WATCH_NONE = 0,
    SBX_WATCH_WATCHDOG = 1, /* a thread reports repeatedly that it is alive */
    SBX_WATCH_DEADLINE = 2, /* something is done by a certain time, once */
};

/* The state of a watch or deadline at the trigger. */
enum sbx_watch_state {
    SBX_WATCH_FREE = 0,
    SBX_WATCH_FILLING = 1, /* being set up */
    SBX_WATCH_OPEN = 2,
    SBX_WATCH_RESTING = 3, /* the thread rests and promises nothing */
    SBX_WATCH_LATE = 4,    /* a deadline that was kept, but late */
    SBX_WATCH_TOLD = 5,    /* a missed deadline that was reported, and whose end is awaited; only in a recording */
};

#define SBX_WEIGHT_MAX (1 << 20) /* stalls that one payload may stand for */
#define SBX_SIGNAL_MAX 64        /* signal numbers are Linux's, 1 to 64 */

/* The cause of a fatal signal, from its number and si_code; never an address. */
enum sbx_fault {
    SBX_FAULT_UNKNOWN = 0,
    SBX_FAULT_SENT = 1,      /* a process sent it: kill(2), tgkill(2), sigqueue(3) */
    SBX_FAULT_ABORT = 2,     /* the process sent it to itself: abort(3), raise(3) */
    SBX_FAULT_UNMAPPED = 3,  /* no memory at the address */
    SBX_FAULT_PROTECTED = 4, /* memory that does not allow this access */
    SBX_FAULT_WILD = 5,      /* a non-canonical address, or a general protection fault */
    SBX_FAULT_ALIGNMENT = 6,
    SBX_FAULT_BACKING = 7,     /* memory beyond the end of its file, or whose device failed */
    SBX_FAULT_HARDWARE = 8,    /* a memory error of the machine */
    SBX_FAULT_INSTRUCTION = 9, /* an illegal instruction, or one that is not allowed here */
    SBX_FAULT_DIVISION = 10,   /* integer division by zero, or its overflow */
    SBX_FAULT_ARITHMETIC = 11, /* another arithmetic exception */
    SBX_FAULT_BREAKPOINT = 12, /* a breakpoint or trace trap without a debugger */
    SBX_FAULT_SECCOMP = 13,    /* a system call that a filter forbids */
    SBX_FAULT_STACK = 14,      /* the thread's stack overflowed */
    SBX_FAULT_NO_MEMORY = 15,  /* the kernel killed it: its control group or the machine had no memory left */
    SBX_FAULT_KINDS = 16
};

/* The kind of a record. An interval has begin < end; a sample has begin == end. */
enum sbx_record_kind {
    SBX_RECORD_NONE = 0,
    SBX_RECORD_ALLOC = 1,   /* sample at an allocation */
    SBX_RECORD_ASYNC = 2,   /* sample of a running thread, taken by signal */
    SBX_RECORD_BLOCKED = 3, /* sample of a blocked thread, read from outside; its call is in op and object */
    SBX_RECORD_LOCK = 4,    /* interval: waited for a mutex */
    SBX_RECORD_COND = 5,    /* interval: waited for a condition variable */
    SBX_RECORD_POLL = 6,    /* interval: poll family, not the outermost loop's */
    SBX_RECORD_SLEEP = 7,   /* interval */
    SBX_RECORD_FILE = 8,    /* interval: file input or output; amount: bytes */
    SBX_RECORD_SOCKET = 9,  /* interval; amount: bytes */
    SBX_RECORD_SYNC = 10,   /* interval: fsync family */
    SBX_RECORD_IDLE = 11,   /* interval: the outermost loop waited for work; no stall */
    SBX_RECORD_MESSAGE =
        12, /* interval: one message, or `amount` short ones merged, from the first one's begin to the last one's end;
             * op: the kind that the application gave it, 0 none */
    SBX_RECORD_WAIT = 13,    /* interval: waited for a semaphore, a barrier, a thread's end, an eventfd, a futex */
    SBX_RECORD_PROCESS = 14, /* interval: created another process, or waited for it */
    SBX_RECORD_LOADER = 15,  /* interval: the dynamic loader */
    SBX_RECORD_WAKE = 16,  /* moment: this thread woke a waiter; object and wait are the waiter's, peer is its thread */
    SBX_RECORD_FRAME = 17, /* interval: one frame, or `amount` short ones merged, between two presents, or as the
                             * application said (op 0) */
    SBX_RECORD_LEAF = 18,  /* sample at a leaf that is no allocation: a clock read, a small read or write; see op */
    SBX_RECORD_MEMORY = 19, /* interval: mapped or unmapped memory; amount: bytes */
    SBX_RECORD_KERNEL = 20, /* moment: a number that the kernel counts; op: enum sbx_kernel_count; amount: its value */
    SBX_RECORD_HOP =
        21, /* interval: a task was in a queue (`object`), from when it was queued until it began to run on this thread.
             * peer and message are those of the thread that queued it; wait is the hop's id; amount: how many tasks
             * were before it; with SBX_FLAG_MERGED, how many more times it was queued, where that is counted. With
             * SBX_FLAG_OPEN it is still there. With SBX_FLAG_CANCELLED it was taken out and never ran, and its stack is
             * here */
    SBX_RECORD_TASK = 22,    /* interval: a task ran; wait is the hop's id, and stack is that of the code that queued
                              * it. With SBX_FLAG_OPEN it still runs */
    SBX_RECORD_AWAITED = 23, /* interval: the functions of `stack`, of an embedded runtime, awaited what ran on the
                              * thread. They are suspended until it ends. A longer interval with the same begin and
                              * stack contains all information of this one */
    SBX_RECORD_KINDS = 24
};
/* A sample (ALLOC, LEAF, ASYNC, BLOCKED) with begin < end stands for `repeats` + 1 samples of the same stack in the
 * same message, the first at begin and the last at end. No sample between them found another stack. */

/* What the kernel counts, and two numbers of an embedded runtime. Times are microseconds. All but SWAPPED_KIB are
 * totals that only grow. A recording has the totals. A payload has their growth since the first one of this kind and
 * thread in it. */
enum sbx_kernel_count {
    SBX_KERNEL_NONE = 0,
    SBX_KERNEL_RUN_DELAY = 1,   /* the thread was ready but did not run (schedstat) */
    SBX_KERNEL_MEMORY_SOME = 2, /* some task of the machine waited for memory (pressure stall information) */
    SBX_KERNEL_MEMORY_FULL = 3, /* all tasks with work waited for memory */
    SBX_KERNEL_IO_SOME = 4,     /* the same for disks */
    SBX_KERNEL_IO_FULL = 5,
    SBX_KERNEL_CPU_SOME = 6,          /* some task of the machine was ready but did not run */
    SBX_KERNEL_GROUP_MEMORY_SOME = 7, /* as above, for the process's control group */
    SBX_KERNEL_GROUP_MEMORY_FULL = 8,
    SBX_KERNEL_GROUP_THROTTLED = 9, /* the control group had used its share of the CPUs */
    SBX_KERNEL_MINOR_FAULTS = 10,   /* of the thread */
    SBX_KERNEL_MAJOR_FAULTS = 11,
    SBX_KERNEL_SWAPPED_KIB = 12, /* of the process, now */
    SBX_KERNEL_DEOPTIMIZED =
        13,                   /* of the process: frames of compiled code that a runtime replaced by interpreted ones */
    SBX_KERNEL_COMPILED = 14, /* of the process: compilations that the runtime began */
    SBX_KERNEL_COUNTS = 15
};

/* The function of the capture point. Names: sbx_op_name(). */
/* clang-format off */
enum sbx_op {
    SBX_OP_NONE = 0,
    SBX_OP_MALLOC = 1, SBX_OP_CALLOC = 2, SBX_OP_REALLOC = 3, SBX_OP_FREE = 4, SBX_OP_ALIGNED_ALLOC = 5,
    SBX_OP_MUTEX_LOCK = 10, SBX_OP_MUTEX_TIMEDLOCK = 11,
    SBX_OP_COND_WAIT = 15, SBX_OP_COND_TIMEDWAIT = 16, SBX_OP_COND_CLOCKWAIT = 17,
    SBX_OP_POLL = 20, SBX_OP_PPOLL = 21, SBX_OP_EPOLL_WAIT = 22, SBX_OP_EPOLL_PWAIT = 23, SBX_OP_SELECT = 24,
    SBX_OP_PSELECT = 25, SBX_OP_EPOLL_PWAIT2 = 26,
    SBX_OP_NANOSLEEP = 30, SBX_OP_CLOCK_NANOSLEEP = 31, SBX_OP_USLEEP = 32, SBX_OP_SLEEP = 33,
    SBX_OP_READ = 40, SBX_OP_WRITE = 41, SBX_OP_PREAD = 42, SBX_OP_PWRITE = 43, SBX_OP_READV = 44, SBX_OP_WRITEV = 45,
    SBX_OP_OPEN = 46, SBX_OP_FSYNC = 47, SBX_OP_FDATASYNC = 48, SBX_OP_FLOCK = 49, SBX_OP_SYNC_FILE_RANGE = 50,
    SBX_OP_CONNECT = 60, SBX_OP_ACCEPT = 61, SBX_OP_SEND = 62, SBX_OP_RECV = 63, SBX_OP_SENDTO = 64,
    SBX_OP_RECVFROM = 65, SBX_OP_SENDMSG = 66, SBX_OP_RECVMSG = 67, SBX_OP_GETADDRINFO = 68,
    SBX_OP_SYSCALL = 80, /* a blocked thread outside every point: amount is the system call's number */
    SBX_OP_RUNNING = 81, /* the observer found that the thread could run */
    SBX_OP_PAGE_FAULT = 82, /* a blocked thread outside of every call: it waits for a page */
    /* locks */
    SBX_OP_RWLOCK_RDLOCK = 96, SBX_OP_RWLOCK_WRLOCK = 97, SBX_OP_RWLOCK_TIMEDRDLOCK = 98,
    SBX_OP_RWLOCK_TIMEDWRLOCK = 99, SBX_OP_SPIN_LOCK = 100, SBX_OP_MUTEX_CLOCKLOCK = 101,
    /* release sides: what a WAKE record recorded */
    SBX_OP_MUTEX_UNLOCK = 102, SBX_OP_RWLOCK_UNLOCK = 103, SBX_OP_SPIN_UNLOCK = 104, SBX_OP_COND_SIGNAL = 105,
    SBX_OP_COND_BROADCAST = 106, SBX_OP_SEM_POST = 107, SBX_OP_EVENTFD_WRITE = 108, SBX_OP_FUTEX_WAKE = 109,
    SBX_OP_THREAD_EXIT = 110, SBX_OP_BARRIER_LAST = 111,
    /* waits */
    SBX_OP_SEM_WAIT = 112, SBX_OP_SEM_TIMEDWAIT = 113, SBX_OP_BARRIER_WAIT = 114, SBX_OP_JOIN = 115,
    SBX_OP_TIMEDJOIN = 116, SBX_OP_EVENTFD_READ = 117, SBX_OP_FUTEX_WAIT = 118,
    /* memory */
    SBX_OP_REALLOCARRAY = 120, SBX_OP_MMAP = 121, SBX_OP_MUNMAP = 122, SBX_OP_MREMAP = 123, SBX_OP_MADVISE = 124,
    /* files */
    SBX_OP_CLOSE = 126, SBX_OP_PREADV = 127, SBX_OP_PWRITEV = 128, SBX_OP_STAT = 129, SBX_OP_FSTAT = 130,
    SBX_OP_STATX = 131, SBX_OP_ACCESS = 132, SBX_OP_READLINK = 133, SBX_OP_RENAME = 134, SBX_OP_UNLINK = 135,
    SBX_OP_MKDIR = 136, SBX_OP_RMDIR = 137, SBX_OP_LINK = 138, SBX_OP_OPENDIR = 139, SBX_OP_READDIR = 140,
    SBX_OP_GETDENTS = 141, SBX_OP_FCNTL_LOCK = 142, SBX_OP_LOCKF = 143, SBX_OP_TRUNCATE = 144, SBX_OP_FALLOCATE = 145,
    SBX_OP_SENDFILE = 146, SBX_OP_COPY_FILE_RANGE = 147, SBX_OP_SPLICE = 148, SBX_OP_SYNC = 149, SBX_OP_SYNCFS = 150,
    SBX_OP_MSYNC = 151, SBX_OP_STATFS = 152,
    /* stdio */
    SBX_OP_FOPEN = 154, SBX_OP_FCLOSE = 155, SBX_OP_FREAD = 156, SBX_OP_FWRITE = 157, SBX_OP_FGETS = 158,
    SBX_OP_FPUTS = 159, SBX_OP_FPRINTF = 160, SBX_OP_FFLUSH = 161, SBX_OP_GETLINE = 162, SBX_OP_PUTS = 163,
    SBX_OP_FGETC = 164,
    /* processes */
    SBX_OP_FORK = 166, SBX_OP_POSIX_SPAWN = 167, SBX_OP_WAITPID = 168, SBX_OP_WAITID = 169, SBX_OP_SYSTEM = 170,
    SBX_OP_POPEN = 171, SBX_OP_PCLOSE = 172,
    /* the loader */
    SBX_OP_DLOPEN = 174, SBX_OP_DLCLOSE = 175,
    /* clocks */
    SBX_OP_CLOCK_GETTIME = 176, SBX_OP_GETTIMEOFDAY = 177, SBX_OP_TIME = 178,
    /* frames */
    SBX_OP_SDL_RENDER_PRESENT = 180, SBX_OP_SDL_SWAP_WINDOW = 181, SBX_OP_EGL_SWAP_BUFFERS = 182,
    SBX_OP_GLX_SWAP_BUFFERS = 183, SBX_OP_VK_QUEUE_PRESENT = 184,
    /* more sockets, name lookups and sleeps */
    SBX_OP_SENDMMSG = 186, SBX_OP_RECVMMSG = 187, SBX_OP_GETNAMEINFO = 188, SBX_OP_GETHOSTBYNAME = 189,
    SBX_OP_PAUSE = 190, SBX_OP_SIGSUSPEND = 191, SBX_OP_SIGTIMEDWAIT = 192,
    /* a runtime's own lock, for which it has its own way of waiting */
    SBX_OP_RUNTIME_LOCK = 194,
    /* tasks passed to another thread: how they were queued */
    SBX_OP_TASK = 196, SBX_OP_G_IDLE_ADD = 197, SBX_OP_G_TIMEOUT_ADD = 198, SBX_OP_G_SOURCE_ATTACH = 199,
    SBX_OP_G_MAIN_CONTEXT_INVOKE = 200, SBX_OP_G_THREAD_POOL_PUSH = 201, SBX_OP_G_TASK_RUN_IN_THREAD = 202,
    SBX_OP_G_ASYNC_QUEUE_PUSH = 203, SBX_OP_PTHREAD_CREATE = 204, SBX_OP_UV_QUEUE_WORK = 205,
    SBX_OP_UV_ASYNC_SEND = 206, SBX_OP_UV_TIMER_START = 207, SBX_OP_UV_FS = 208, SBX_OP_QT_POST_EVENT = 209,
    SBX_OP_EVENT_ACTIVE = 210, SBX_OP_QT_TIMER = 211, SBX_OP_QT_THREAD_POOL = 212,
    SBX_OP_EVENT_ADD = 213, SBX_OP_G_DBUS_CALL = 214, SBX_OP_IO_URING_SUBMIT = 215,
    /* and a wait for io_uring requests */
    SBX_OP_IO_URING_WAIT = 216,
    /* work of asyncio's loops */
    SBX_OP_CALL_SOON = 217, SBX_OP_CALL_LATER = 218, SBX_OP_CREATE_TASK = 219, SBX_OP_TO_THREAD = 220,
    SBX_OP_SUBMIT = 221, /* and of a Python thread pool */
    /* and of JavaScript: timers, and what was queued by a run that was itself recorded */
    SBX_OP_SET_TIMEOUT = 222, SBX_OP_SET_INTERVAL = 223, SBX_OP_JS_CALLBACK = 195,
    SBX_OP_MAX = 224,
    SBX_SCENES = 256 /* scenes of an application, 1 to 255 (Trigger.scene) */
};
/* clang-format on */

/* The type of a descriptor, from fstat at the time of the record. 0 if it was not read. */
enum sbx_fd_class {
    SBX_FD_UNKNOWN = 0,
    SBX_FD_REGULAR = 1,
    SBX_FD_DIRECTORY = 2,
    SBX_FD_PIPE = 3,
    SBX_FD_SOCKET = 4,
    SBX_FD_TTY = 5,
    SBX_FD_DEVICE = 6,
    SBX_FD_OTHER = 7, /* mostly an anonymous inode: an event counter, a timer, an epoll */
    SBX_FD_UNIX = 8,  /* a socket to a process of this machine, for example D-Bus */
    SBX_FD_LAST = SBX_FD_UNIX
};

enum sbx_record_flag {
    SBX_FLAG_AT_TRIGGER = 1, /* taken because a trigger fired: the stack "at the trigger" of its thread */
    SBX_FLAG_FAILED = 2,     /* the call returned an error */
    SBX_FLAG_USAGE = 4,      /* the record has the thread's faults and context switches so far */
    SBX_FLAG_IN_CALL = 8,    /* of BLOCKED: the thread was in the call, but ran, or this was not checked */
    SBX_FLAG_OPEN = 16,      /* of HOP and TASK: not over at the trigger */
    SBX_FLAG_CANCELLED = 32, /* of HOP: taken out of the queue, and never run */
    SBX_FLAG_MERGED = 64,    /* of HOP: queued again while it was in the queue, and run once for all */
};

/* The values of Frames.function. From BEGINS on, it is the number of bytes from the function's start to the frame's
 * offset, plus BEGINS. */
enum sbx_frame_function {
    SBX_FUNCTION_UNKNOWN = 0,
    SBX_FUNCTION_SAME = 1, /* the same start as in the row before */
    SBX_FUNCTION_BEGINS = 2,
};

/* A runtime whose provider comes with the recorder, and the provider's state. */
enum sbx_runtime_kind {
    SBX_RUNTIME_OTHER = 0,
    SBX_RUNTIME_PYTHON = 1,     /* CPython */
    SBX_RUNTIME_JAVA = 2,       /* HotSpot */
    SBX_RUNTIME_JAVASCRIPT = 3, /* V8 */
    SBX_RUNTIME_KIND_COUNT = 4
};

enum sbx_runtime_state {
    SBX_RUNTIME_NONE = 0,         /* the program has no such runtime */
    SBX_RUNTIME_NOT_YET = 1,      /* it has not started yet */
    SBX_RUNTIME_ATTACHED = 2,     /* its frames are reported */
    SBX_RUNTIME_LEFT_ALONE = 3,   /* they are not: its version is not known, or its data do not read as they should */
    SBX_RUNTIME_SWITCHED_OFF = 4, /* the same, because the environment says so */
    SBX_RUNTIME_NO_PROVIDER = 5,  /* the same: the provider is not installed */
};

enum sbx_family_role {
    SBX_ROLE_NONE = 0,   /* the recorder does not follow forks */
    SBX_ROLE_MAIN = 1,   /* the first process: started as a program */
    SBX_ROLE_WORKER = 2, /* forked from another process of the family, without a program of its own */
};

/* The capture points, in groups that are switched together. A number is the bit of the group in a mask of points. The
 * numbers are part of the control page and of the payload, and are only ever appended. Names: sbx_point_name(). */
enum sbx_point_group {
    SBX_GROUP_ALLOC = 0,   /* malloc family: counts, and leaf samples */
    SBX_GROUP_LOCK = 1,    /* pthread mutexes */
    SBX_GROUP_COND = 2,    /* condition variable waits */
    SBX_GROUP_POLL = 3,    /* poll family: message boundary on a loop thread, wait elsewhere */
    SBX_GROUP_SLEEP = 4,   /* sleep family */
    SBX_GROUP_FILE = 5,    /* read and write families */
    SBX_GROUP_SOCKET = 6,  /* sockets */
    SBX_GROUP_ASYNC = 7,   /* the asynchronous gap filler: no hook */
    SBX_GROUP_FREE = 8,    /* free: counts */
    SBX_GROUP_MAP = 9,     /* mmap, munmap, mremap: counts, waits */
    SBX_GROUP_RWLOCK = 10, /* pthread read-write locks */
    SBX_GROUP_SPIN = 11,   /* pthread spin locks */
    SBX_GROUP_WAKE = 12,   /* release sides of locks and waits: which thread released which */
    SBX_GROUP_SEMAPHORE = 13,
    SBX_GROUP_BARRIER = 14,
    SBX_GROUP_JOIN = 15,
    SBX_GROUP_EVENTFD = 16,
    SBX_GROUP_FUTEX = 17,     /* futex(2) through syscall() */
    SBX_GROUP_OPEN = 18,      /* open and close families */
    SBX_GROUP_SYNC = 19,      /* fsync family */
    SBX_GROUP_STAT = 20,      /* stat family, access, readlink */
    SBX_GROUP_DIRECTORY = 21, /* rename, unlink, mkdir, directory listings */
    SBX_GROUP_FILE_LOCK = 22, /* flock, fcntl locks, lockf */
    SBX_GROUP_STDIO = 23,
    SBX_GROUP_LOOKUP = 24,     /* name lookups */
    SBX_GROUP_PROCESS = 25,    /* fork family, wait family, system, popen */
    SBX_GROUP_LOADER = 26,     /* dlopen, dlclose */
    SBX_GROUP_CLOCK = 27,      /* clock reads: leaf samples */
    SBX_GROUP_FRAME = 28,      /* presents: frame boundaries */
    SBX_GROUP_TASK = 29,       /* tasks that the application reports, and which thread started a thread */
    SBX_GROUP_GLIB = 30,       /* tasks of GLib: idle and timed sources, thread pools, asynchronous queues */
    SBX_GROUP_QT = 31,         /* tasks of Qt: posted events, queued signals and calls, timers */
    SBX_GROUP_UV = 32,         /* tasks of libuv */
    SBX_GROUP_LIBEVENT = 33,   /* tasks of libevent: timers, events made active */
    SBX_GROUP_SELF_PIPE = 34,  /* tasks of loops that are woken by an eventfd, a pipe or a pair of sockets */
    SBX_GROUP_URING = 35,      /* io_uring by liburing: requests and waits */
    SBX_GROUP_ASYNCIO = 36,    /* work of asyncio's loops: callbacks, timers, tasks */
    SBX_GROUP_JAVASCRIPT = 37, /* work that JavaScript deferred: timers, immediates, ticks */
    SBX_GROUP_COUNT = 38       /* a mask has room for 64 */
};

#define SBX_POINTS_KNOWN (UINT64_MAX >> (64 - SBX_GROUP_COUNT)) /* a mask with every group */

#endif
