/* SPDX-License-Identifier: Apache-2.0 */
/* record_kinds.c - which kinds of records there are, and which functions make them. */
#include "record_kinds.h"

enum kind_trait {
    IS_SAMPLE = 1,
    IS_RUNNING = 2,
    IS_WAIT = 4,
    IS_BOUNDARY = 8,
};

static unsigned traits_of(uint32_t kind)
{
    static const uint8_t traits[SBX_RECORD_KINDS] = {
        [SBX_RECORD_ALLOC] = IS_SAMPLE | IS_RUNNING,
        [SBX_RECORD_LEAF] = IS_SAMPLE | IS_RUNNING,
        [SBX_RECORD_ASYNC] = IS_SAMPLE | IS_RUNNING,
        [SBX_RECORD_BLOCKED] = IS_SAMPLE,
        [SBX_RECORD_LOCK] = IS_WAIT,
        [SBX_RECORD_COND] = IS_WAIT,
        [SBX_RECORD_POLL] = IS_WAIT,
        [SBX_RECORD_SLEEP] = IS_WAIT,
        [SBX_RECORD_FILE] = IS_WAIT,
        [SBX_RECORD_SOCKET] = IS_WAIT,
        [SBX_RECORD_SYNC] = IS_WAIT,
        [SBX_RECORD_IDLE] = IS_WAIT,
        [SBX_RECORD_WAIT] = IS_WAIT,
        [SBX_RECORD_PROCESS] = IS_WAIT,
        [SBX_RECORD_LOADER] = IS_WAIT,
        [SBX_RECORD_MEMORY] = IS_WAIT,
        [SBX_RECORD_MESSAGE] = IS_BOUNDARY,
        [SBX_RECORD_FRAME] = IS_BOUNDARY,
    };
    return kind < SBX_RECORD_KINDS ? traits[kind] : 0;
}

bool sbx_kind_is_sample(uint32_t kind)
{
    return (traits_of(kind) & IS_SAMPLE) != 0;
}

bool sbx_kind_is_running_sample(uint32_t kind)
{
    return (traits_of(kind) & IS_RUNNING) != 0;
}

bool sbx_kind_is_wait(uint32_t kind)
{
    return (traits_of(kind) & IS_WAIT) != 0;
}

bool sbx_kind_is_boundary(uint32_t kind)
{
    return (traits_of(kind) & IS_BOUNDARY) != 0;
}

bool sbx_record_is_unbiased(const struct sbx_stall_record *record)
{
    return record->kind == SBX_RECORD_ASYNC ||
           (record->kind == SBX_RECORD_BLOCKED && (record->flags & SBX_FLAG_IN_CALL) != 0);
}

uint64_t sbx_record_looks(const struct sbx_stall_record *record)
{
    return !sbx_kind_is_sample(record->kind) ? 0 : record->repeats != 0 ? record->repeats : 1;
}

bool sbx_stall_sees_processes(const struct sbx_stall *stall)
{
    for (size_t i = 0; i < stall->record_count; i++) {
        if (stall->records[i].kind == SBX_RECORD_PROCESS) {
            return true;
        }
    }
    return false;
}

uint32_t sbx_kind_of_op(uint32_t op)
{
    static const struct {
        uint8_t first, last; /* the numbers in payload_numbers.h form groups */
        uint8_t kind;
    } groups[] = {
        {SBX_OP_MUTEX_LOCK, SBX_OP_MUTEX_TIMEDLOCK, SBX_RECORD_LOCK},
        {SBX_OP_COND_WAIT, SBX_OP_COND_CLOCKWAIT, SBX_RECORD_COND},
        {SBX_OP_POLL, SBX_OP_EPOLL_PWAIT2, SBX_RECORD_POLL},
        {SBX_OP_NANOSLEEP, SBX_OP_SLEEP, SBX_RECORD_SLEEP},
        {SBX_OP_READ, SBX_OP_OPEN, SBX_RECORD_FILE},
        {SBX_OP_FSYNC, SBX_OP_FDATASYNC, SBX_RECORD_SYNC},
        {SBX_OP_FLOCK, SBX_OP_FLOCK, SBX_RECORD_FILE},
        {SBX_OP_SYNC_FILE_RANGE, SBX_OP_SYNC_FILE_RANGE, SBX_RECORD_SYNC},
        {SBX_OP_CONNECT, SBX_OP_GETADDRINFO, SBX_RECORD_SOCKET},
        {SBX_OP_RWLOCK_RDLOCK, SBX_OP_MUTEX_CLOCKLOCK, SBX_RECORD_LOCK},
        {SBX_OP_SEM_WAIT, SBX_OP_FUTEX_WAIT, SBX_RECORD_WAIT},
        {SBX_OP_MMAP, SBX_OP_MADVISE, SBX_RECORD_MEMORY},
        {SBX_OP_CLOSE, SBX_OP_SPLICE, SBX_RECORD_FILE},
        {SBX_OP_SYNC, SBX_OP_MSYNC, SBX_RECORD_SYNC},
        {SBX_OP_STATFS, SBX_OP_FGETC, SBX_RECORD_FILE},
        {SBX_OP_FORK, SBX_OP_PCLOSE, SBX_RECORD_PROCESS},
        {SBX_OP_DLOPEN, SBX_OP_DLCLOSE, SBX_RECORD_LOADER},
        {SBX_OP_SENDMMSG, SBX_OP_GETHOSTBYNAME, SBX_RECORD_SOCKET},
        {SBX_OP_PAUSE, SBX_OP_SIGTIMEDWAIT, SBX_RECORD_SLEEP},
        {SBX_OP_RUNTIME_LOCK, SBX_OP_RUNTIME_LOCK, SBX_RECORD_LOCK},
        {SBX_OP_IO_URING_WAIT, SBX_OP_IO_URING_WAIT, SBX_RECORD_FILE},
    };
    for (unsigned i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (op >= groups[i].first && op <= groups[i].last) {
            return groups[i].kind;
        }
    }
    return SBX_RECORD_NONE;
}

bool sbx_is_file_lock(uint32_t op)
{
    return op == SBX_OP_FLOCK || op == SBX_OP_FCNTL_LOCK || op == SBX_OP_LOCKF;
}
