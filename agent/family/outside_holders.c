/* SPDX-License-Identifier: Apache-2.0 */
/* outside_holders.c - waits, /proc, the table in the header. */
#include "outside_holders.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "family.h"
#include "file_locks.h"
#include "open_file_locks.h"
#include "order.h"
#include "other_end.h"
#include "process_life.h"
#include "shared_hands.h"
#include "shared_memory.h"
#include "stack_copy.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "thread_where.h"

enum {
    ASKED = 64,                /* waits whose last look-up is remembered */
    QUESTIONS_A_SECOND = 20,   /* each reads one or two files of /proc: some 20 us */
    QUESTIONS_AT_TRIGGER = 16, /* a stall does not wait for more */
    LOCKS_BYTES = 64 * 1024
};
#define YOUNG_NS UINT64_C(30000000) /* most waits end sooner */
#define PATIENT_NS \
    UINT64_C(200000000) /* for a look-up that examines many descriptors, or needs a system call of its own */
#define AGAIN_NS  UINT64_C(500000000)
#define SECOND_NS UINT64_C(1000000000)

static struct {
    struct {
        uint64_t begin_ns, asked_ns; /* of which wait, and time of the last look-up */
    } asked[ASKED];                  /* by thread */
    uint64_t second;
    uint32_t questions; /* in that second */
} outside;

static char locks_text[LOCKS_BYTES];

/* No point covers System V semaphores: the kernel tells in which call the thread is. */
static bool waits_for_semaphore(const struct sbx_where *where)
{
    return where->is_blocked && (where->call == SYS_semtimedop
#ifdef SYS_semop
                                 || where->call == SYS_semop
#endif
                                );
}

/* Is the object shared between processes, and has one of them noted it? */
static bool is_shared(const struct sbx_thread_entry *entry)
{
    struct sbx_hands hands;
    return sbx_hands_find(entry->call_object, &hands);
}

/* What kind of look-up a thread's wait needs, if another process may end the wait. For pipes and sockets only when a
 * message waits. */
static enum sbx_holder_kind kind_of(const struct sbx_thread_entry *entry, uint64_t waited_ns)
{
    bool is_stall = sbx_load_relaxed(&entry->message_begin_ns) != 0 && waited_ns >= PATIENT_NS;
    switch (entry->call_op) {
    case SBX_OP_MUTEX_LOCK:
    case SBX_OP_MUTEX_TIMEDLOCK:
    case SBX_OP_MUTEX_CLOCKLOCK:
        return entry->call_peer != 0 ? SBX_HOLDER_MUTEX : SBX_HOLDER_NONE;
    case SBX_OP_RWLOCK_RDLOCK:
    case SBX_OP_RWLOCK_WRLOCK:
    case SBX_OP_RWLOCK_TIMEDRDLOCK:
    case SBX_OP_RWLOCK_TIMEDWRLOCK:
        return entry->call_peer != 0 ? SBX_HOLDER_MUTEX : is_shared(entry) ? SBX_HOLDER_HANDS : SBX_HOLDER_NONE;
    case SBX_OP_SEM_WAIT:
    case SBX_OP_SEM_TIMEDWAIT:
    case SBX_OP_COND_WAIT:
    case SBX_OP_COND_TIMEDWAIT:
    case SBX_OP_COND_CLOCKWAIT:
        return is_shared(entry) ? SBX_HOLDER_HANDS : SBX_HOLDER_NONE;
    case SBX_OP_FLOCK:
    case SBX_OP_FCNTL_LOCK:
    case SBX_OP_LOCKF:
        return SBX_HOLDER_FILE_LOCK;
    case SBX_OP_READ:
    case SBX_OP_READV:
    case SBX_OP_WRITE:
    case SBX_OP_WRITEV:
    case SBX_OP_RECV:
    case SBX_OP_RECVFROM:
    case SBX_OP_RECVMSG:
    case SBX_OP_SEND:
    case SBX_OP_SENDTO:
    case SBX_OP_SENDMSG:
    case SBX_OP_POLL:
    case SBX_OP_PPOLL:
        return is_stall ? SBX_HOLDER_OTHER_END : SBX_HOLDER_NONE;
    default:
        return SBX_HOLDER_NONE;
    }
}

/* Is it time to look this wait up? Each wait is looked up again when it has become longer by a quarter. */
static bool is_due(uint32_t thread, uint64_t begin_ns, uint64_t now_ns, bool is_trigger)
{
    uint64_t asked_ns = outside.asked[thread % ASKED].begin_ns == begin_ns ? outside.asked[thread % ASKED].asked_ns : 0;
    uint64_t again_ns = (now_ns - begin_ns) / 4 > AGAIN_NS ? (now_ns - begin_ns) / 4 : AGAIN_NS;
    if (is_trigger ? asked_ns == now_ns : now_ns - begin_ns < YOUNG_NS || now_ns - asked_ns < again_ns) {
        return false;
    }
    if (now_ns / SECOND_NS != outside.second) {
        outside.second = now_ns / SECOND_NS;
        outside.questions = 0;
    }
    if (!is_trigger && outside.questions >= QUESTIONS_A_SECOND) {
        return false;
    }
    outside.questions++;
    outside.asked[thread % ASKED].begin_ns = begin_ns;
    outside.asked[thread % ASKED].asked_ns = now_ns;
    return true;
}

/* Reads a small file of /proc completely, up to `bytes` - 1. */
static bool read_text(const char *path, char *text, size_t bytes)
{
    size_t have = 0;
    ssize_t got = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && have < bytes - 1 && (got = read(file, text + have, bytes - 1 - have)) > 0) {
        have += (size_t)got;
    }
    if (file >= 0) {
        close(file);
    }
    text[have] = '\0';
    return have > 0;
}

static bool is_there(const char *folder, uint32_t number)
{
    char path[48];
    struct stat status;
    snprintf(path, sizeof path, "%s/%u", folder, number);
    return stat(path, &status) == 0;
}

/* Does a system call filter apply to the watch thread? A filter that kills for unknown calls does not allow these
 * calls, and a filter that was installed before the recorder began has not been seen (docs/SANDBOXES.md). */
static bool is_filtered(void)
{
    char text[2048];
    const char *line = read_text("/proc/thread-self/status", text, sizeof text) ? strstr(text, "\nSeccomp:") : NULL;
    return line == NULL || strtoul(line + sizeof "\nSeccomp:" - 1, NULL, 10) != 0;
}

/* ---- mutexes ---- */

/* The process of thread `tid`; 0: it is ours, has ended, or may not be read. */
static uint32_t process_of(uint32_t tid)
{
    char path[48], text[1024];
    if (is_there("/proc/self/task", tid)) {
        return 0;
    }
    snprintf(path, sizeof path, "/proc/%u/status", tid);
    const char *line = read_text(path, text, sizeof text) ? strstr(text, "\nTgid:") : NULL;
    unsigned long pid = line != NULL ? strtoul(line + sizeof "\nTgid:" - 1, NULL, 10) : 0;
    return pid <= INT32_MAX && pid != sbx_the_capture.header->pid ? (uint32_t)pid : 0;
}

static bool is_own(uint32_t tid)
{
    uint32_t count = sbx_thread_count();
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && thread->tid == tid) {
            return true;
        }
    }
    return false;
}

/* ---- locks on files ---- */

/* The file that the thread waits for, read from its descriptor; 0: unknown. */
static uint64_t inode_of(uint32_t tid, uint64_t object)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/self/task/%u/fd/%llu", tid, (unsigned long long)object - 1);
    return object != 0 && stat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* The process of the family that has the open file to which the lock belongs. */
static uint32_t find_open_file(uint32_t pid, uint64_t inode)
{
    uint32_t members[1 + SBX_FAMILY_SEATS];
    const char *lock = sbx_file_lock_of_open_file(locks_text, pid, inode);
    uint32_t count = lock != NULL ? sbx_family_members(members, sizeof members / sizeof members[0]) : 0;
    return count > 0 ? sbx_open_file_lock_find(lock, members, count) : 0;
}

/* First by the file's inode number, if it is the number of the list; on some file systems it is not. */
static uint32_t find_lock_holder(uint32_t tid, uint64_t object)
{
    if (!read_text("/proc/locks", locks_text, sizeof locks_text)) {
        return 0;
    }
    uint32_t pid = sbx_the_capture.header->pid;
    uint64_t inode = inode_of(tid, object);
    uint32_t holder = inode != 0 ? sbx_file_lock_holder(locks_text, pid, inode) : 0;
    holder = holder != 0 ? holder : find_open_file(pid, inode);
    return holder != 0 ? holder : sbx_file_lock_holder(locks_text, pid, 0);
}

/* ---- the other end ---- */

/* The descriptor of the call. For a poll, the only descriptor in it. -1: none, or several. */
static int descriptor_of(const struct sbx_thread *thread, const struct sbx_thread_entry *entry)
{
    struct sbx_where where;
    struct pollfd polled = {.fd = -1};
    if (entry->call_kind != SBX_RECORD_POLL) {
        return entry->call_object != 0 && entry->call_object <= INT_MAX ? (int)entry->call_object - 1 : -1;
    }
    bool is_poll = sbx_where_read(thread->tid, &where) && where.is_blocked && where.arguments[1] == 1;
    return is_poll && sbx_copy_stack(where.arguments[0], sizeof polled, (uint8_t *)&polled) == sizeof polled ? polled.fd
                                                                                                             : -1;
}

static bool is_write(uint32_t op)
{
    return op == SBX_OP_WRITE || op == SBX_OP_WRITEV || op == SBX_OP_SEND || op == SBX_OP_SENDTO ||
           op == SBX_OP_SENDMSG;
}

static uint32_t find_other_end(const struct sbx_thread *thread, const struct sbx_thread_entry *entry)
{
    uint32_t members[1 + SBX_FAMILY_SEATS];
    uint32_t count = sbx_family_members(members, sizeof members / sizeof members[0]);
    int fd = descriptor_of(thread, entry);
    return count > 0 && fd >= 0
               ? sbx_other_end_find(thread->tid, fd, !is_write(entry->call_op), !is_filtered(), members, count)
               : 0;
}

/* ---- semaphores of System V ---- */

/* The process that last changed the first semaphore of the call. If the semaphore is used as a lock, that is its
 * holder. */
static uint32_t find_last_changer(const struct sbx_where *where)
{
    struct sembuf operation;
    if (is_filtered() ||
        sbx_copy_stack(where->arguments[1], sizeof operation, (uint8_t *)&operation) != sizeof operation) {
        return 0;
    }
    long pid = syscall(SYS_semctl, (int)where->arguments[0], (int)operation.sem_num, GETPID, 0);
    bool is_other = pid > 0 && pid <= INT32_MAX && pid != (long)sbx_the_capture.header->pid;
    return is_other && is_there("/proc", (uint32_t)pid) ? (uint32_t)pid : 0;
}

/* ---- what processes share ---- */

/* The thread of another process that `who` names, if that process is alive and has the same memory at this address.
 * False: it is in this process, or there is none. */
static bool name_hands(uint64_t object, uint64_t who, struct sbx_holder_entry *found)
{
    found->pid = (uint32_t)(who >> 32);
    found->tid = (uint32_t)who;
    bool is_other = found->pid != 0 && found->pid <= INT32_MAX && found->pid != sbx_the_capture.header->pid &&
                    sbx_process_lives(found->pid, 0) && sbx_memory_is_shared(object, found->pid);
    found->pid = is_other ? found->pid : 0;
    return is_other;
}

static void find_hands(struct sbx_holder_entry *found)
{
    struct sbx_hands hands;
    if (sbx_hands_find(found->object, &hands)) {
        (void)name_hands(found->object, sbx_hands_next(&hands), found);
    }
}

/* ---- the table ---- */

/* The snapshot copies the table on this thread. The companion may copy it at any moment and find a half-written entry:
 * it checks what the entry refers to. */
static void note(const struct sbx_holder_entry *found)
{
    struct sbx_holder_entry *holders = sbx_the_capture.header->holders, *place = &holders[0];
    for (uint32_t i = 0; i < SBX_HOLDERS_MAX; i++) {
        bool is_same = holders[i].thread == found->thread && holders[i].begin_ns == found->begin_ns &&
                       holders[i].kind == found->kind;
        if (is_same) {
            place = &holders[i];
            break;
        }
        place = holders[i].seen_ns < place->seen_ns ? &holders[i] : place;
    }
    *place = *found;
    sbx_family_name_holder(found->pid, found->seen_ns);
}

static void ask(const struct sbx_thread *thread, enum sbx_holder_kind kind, uint64_t begin_ns, uint64_t now_ns)
{
    const struct sbx_thread_entry *entry = thread->entry;
    struct sbx_holder_entry found = {
        .thread = thread->index, .kind = kind, .begin_ns = begin_ns, .seen_ns = now_ns, .object = entry->call_object};
    if (kind == SBX_HOLDER_MUTEX) {
        found.tid = entry->call_peer;
        found.pid = is_own(found.tid) ? 0 : process_of(found.tid);
    } else if (kind == SBX_HOLDER_HANDS) {
        find_hands(&found);
    } else if (kind == SBX_HOLDER_FILE_LOCK) {
        found.pid = find_lock_holder(thread->tid, found.object);
    } else {
        found.pid = find_other_end(thread, entry);
    }
    /* order: acquire entry.call - still the same wait, so that the result belongs to it */
    bool is_same =
        sbx_load_acquire(&entry->call_kind) != SBX_RECORD_NONE && sbx_load_relaxed(&entry->call_begin_ns) == begin_ns;
    if (found.pid != 0 && is_same) {
        note(&found);
    }
}

/* A thread with an open message that is in no recorded call and has not run for a while. */
static void ask_kernel(const struct sbx_thread *thread, uint64_t begin_ns, uint64_t now_ns)
{
    struct sbx_where where, again;
    if (!sbx_where_read(thread->tid, &where) || !waits_for_semaphore(&where)) {
        return;
    }
    const struct sbx_holder_entry found = {.thread = thread->index,
                                           .kind = SBX_HOLDER_SEMAPHORE,
                                           .pid = find_last_changer(&where),
                                           .begin_ns = begin_ns,
                                           .seen_ns = now_ns};
    bool is_same = sbx_where_read(thread->tid, &again) && waits_for_semaphore(&again) && again.sp == where.sp;
    if (found.pid != 0 && is_same) {
        note(&found);
    }
}

/* The thread's long wait is over, and another process has ended it. */
static void take_word(struct sbx_thread *thread, uint64_t now_ns)
{
    uint64_t begin_ns = sbx_load_acquire(&thread->shared_wait.begin_ns); /* order: acquire thread.shared_wait */
    if (SBX_LIKELY(begin_ns == 0)) {
        return;
    }
    struct sbx_holder_entry found = {.thread = thread->index,
                                     .kind = SBX_HOLDER_HANDS,
                                     .begin_ns = begin_ns,
                                     .seen_ns = now_ns,
                                     .object = thread->shared_wait.object};
    if (name_hands(found.object, thread->shared_wait.ended_by, &found)) {
        note(&found);
    }
    sbx_store_release(&thread->shared_wait.begin_ns, 0); /* order: release thread.shared_wait - the entry was read */
}

void sbx_outside_holders_look(uint64_t now_ns, bool is_trigger)
{
    uint32_t count = sbx_thread_count();
    unsigned left = QUESTIONS_AT_TRIGGER;
    for (uint32_t i = 0; i < count && left > 0; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL) {
            take_word(thread, now_ns);
        }
        uint32_t call = thread != NULL ? sbx_load_acquire(&thread->entry->call_kind) /* order: acquire entry.call */
                                       : SBX_RECORD_IDLE;
        if (call == SBX_RECORD_IDLE) {
            continue;
        }
        bool is_told = call != SBX_RECORD_NONE;
        uint64_t begin_ns = is_told ? sbx_load_relaxed(&thread->entry->call_begin_ns) : thread->stirred_ns;
        uint64_t waited_ns = now_ns > begin_ns ? now_ns - begin_ns : 0;
        bool may_be = is_told ? kind_of(thread->entry, waited_ns) != SBX_HOLDER_NONE
                              : waited_ns >= PATIENT_NS && sbx_load_relaxed(&thread->entry->message_begin_ns) != 0;
        if (!may_be || !is_due(i, begin_ns, now_ns, is_trigger)) {
            continue;
        }
        left--;
        if (is_told) {
            ask(thread, kind_of(thread->entry, waited_ns), begin_ns, now_ns);
        } else {
            ask_kernel(thread, begin_ns, now_ns);
        }
    }
}
