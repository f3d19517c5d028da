/* SPDX-License-Identifier: Apache-2.0 */
/* payload_numbers.h - the enumerations that a recording and a payload have in common.
 *
 * The wire contract's vocabulary: numbers are appended, never moved or reused. It lies in proto/ because it is what agent
 * and server share; it holds numbers only, no code. */
#ifndef SBX_PAYLOAD_NUMBERS_H
#define SBX_PAYLOAD_NUMBERS_H

/* Why a walk ended where it did. */
enum sbx_walk_end {
    SBX_WALK_COMPLETE = 0,     /* reached the thread's first frame (undefined return address, or _start) */
    SBX_WALK_NO_MODULE = 1,    /* the program counter lies in no known module */
    SBX_WALK_NO_ROW = 2,       /* the module has no unwind row there, and no frame pointer chain to follow */
    SBX_WALK_UNSUPPORTED = 3,  /* a rule that does not fit a row */
    SBX_WALK_BAD_MEMORY = 4,   /* the next slot lies outside the readable stack */
    SBX_WALK_TOO_DEEP = 5,     /* more frames than are kept */
    SBX_WALK_NO_PROGRESS = 6,  /* the next frame would not be further out */
    SBX_WALK_ROWS_PENDING = 7, /* the module's rows are still being built */
};

/* What was dropped, by kind; counts are since start, never reset. */
enum sbx_drop {
    SBX_DROP_NO_CHUNK = 0,      /* no ring chunk could be had */
    SBX_DROP_NESTED = 1,        /* the sampler interrupted our own code */
    SBX_DROP_NO_THREAD = 2,     /* no thread entry was free */
    SBX_DROP_STACK_OVERFLOW = 3,/* callstack table full */
    SBX_DROP_FRAME_OVERFLOW = 4,/* frame table full */
    SBX_DROP_TRUNCATED = 5,     /* stacks whose walk did not reach the end */
    SBX_DROP_SIGNAL_LATE = 6,   /* an asynchronous capture that was not answered in time */
    SBX_DROP_SIGNAL_TAKEN = 7,  /* the host owns our signal: asynchronous capture is off */
    SBX_DROP_OBSERVE_FAILED = 8,/* a blocked thread could not be read */
    SBX_DROP_NO_MODULE = 9,     /* module table full */
    SBX_DROP_SNAPSHOT_BUSY = 10,/* a trigger fired while a snapshot was in flight */
    SBX_DROP_SNAPSHOT_RATE = 11,/* a trigger fired within min_gap_ms of the last */
    SBX_DROP_SNAPSHOT_FAILED = 12, /* the snapshot could not be written; header.last_error has errno */
    SBX_DROP_TORN_CHUNK = 13,   /* reader: a chunk was recycled while it was read */
    SBX_DROP_BAD_RECORD = 14,   /* reader: bytes that are no record */
    SBX_DROP_STALE_STACK = 15,  /* reader: the callstack's epoch is gone */
    SBX_DROP_FOREIGN_SLOT = 16, /* GOT slots left alone: bound to another definition */
    SBX_DROP_COUNT = 24
};

/* DESIGN.md 3.2; numbers are part of the payload. */
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
    SBX_TRIGGER_KINDS = 9
};

/* What a record tells. An interval has begin < end; a sample has begin == end. */
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
    SBX_RECORD_MESSAGE = 12,/* interval: one message, or `amount` short ones merged, from the first's begin to the last's end */
    SBX_RECORD_KINDS = 13
};

/* Which function the point was. Names: sbx_op_name(). */
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
    SBX_OP_RUNNING = 81, /* the observer found the thread runnable */
    SBX_OP_MAX = 96
};

/* What kind of thing a descriptor was, from fstat at the moment of the record. 0 when not asked. */
enum sbx_fd_class {
    SBX_FD_UNKNOWN = 0, SBX_FD_REGULAR = 1, SBX_FD_DIRECTORY = 2, SBX_FD_PIPE = 3, SBX_FD_SOCKET = 4, SBX_FD_TTY = 5,
    SBX_FD_DEVICE = 6, SBX_FD_OTHER = 7,
};

enum sbx_record_flag {
    SBX_FLAG_AT_TRIGGER = 1, /* taken because a trigger fired: the stack "at the trigger" of its thread */
    SBX_FLAG_FAILED = 2,     /* the call returned an error */
};

#endif
