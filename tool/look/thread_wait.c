/* SPDX-License-Identifier: Apache-2.0 */
/* thread_wait.c - describes the wait for each kind of call. */
#include "thread_wait.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "descriptor.h"
#include "futex_owner.h"
#include "proc_file.h"
#include "process_memory.h"

enum {
    DESCRIPTORS_TOLD = 3, /* of the many that a loop may poll */
    POLLED_MAX = 64,
    PATH_BYTES = 256
};

static void add(struct sbx_thread_wait *wait, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct sbx_thread_wait *wait, const char *format, ...)
{
    size_t length = strlen(wait->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wait->text + length, sizeof wait->text - length, format, arguments);
    va_end(arguments);
}

/* ---- words of memory ---- */

struct futex_context {
    const struct sbx_thread_numbers *threads;
    bool is_shared; /* shared by several processes */
};

static pid_t process_of(uint32_t tid)
{
    char text[1024];
    if (sbx_proc_file_read(text, sizeof text, "/proc/%u/status", tid) <= 0) {
        return 0;
    }
    const char *line = strstr(text, "\nTgid:");
    return line != NULL ? (pid_t)strtol(line + strlen("\nTgid:"), NULL, 10) : 0;
}

/* sbx_is_thread */
static bool is_thread(void *context, uint32_t tid)
{
    const struct futex_context *of = context;
    for (size_t i = 0; i < of->threads->count; i++) {
        if (of->threads->inner_tids[i] == tid) {
            return true;
        }
    }
    return of->is_shared && process_of(tid) != 0;
}

static void name_holder(const struct sbx_thread_numbers *threads, uint32_t inner_tid, struct sbx_thread_wait *wait)
{
    for (size_t i = 0; i < threads->count; i++) {
        if (threads->inner_tids[i] == inner_tid) {
            wait->holder_pid = threads->pid;
            wait->holder = threads->tids[i];
            return;
        }
    }
    wait->holder_pid = process_of(inner_tid);
    wait->holder = (pid_t)inner_tid;
}

static void find_futex(const struct sbx_thread_numbers *threads, size_t waiter,
                       const struct sbx_thread_position *position, const char *function, struct sbx_thread_wait *wait)
{
    static const char *const objects[] = {[SBX_FUTEX_UNKNOWN] = "for a change of the word",
                                          [SBX_FUTEX_MUTEX] = "for the mutex",
                                          [SBX_FUTEX_THREAD_END] = "for the end of a thread, at",
                                          [SBX_FUTEX_WRITE_LOCK] = "for the read-write lock"};
    const uint64_t before = SBX_FUTEX_WORDS_BEFORE * sizeof(uint32_t);
    uint32_t words[SBX_FUTEX_WORDS] = {0};
    struct futex_context context = {threads, (position->arguments[1] & FUTEX_PRIVATE_FLAG) == 0};
    wait->object = position->arguments[0];
    /* At the edge of a mapping only a part is there. */
    if (sbx_process_memory_read(threads->pid, wait->object - before, words, sizeof words) != 0) {
        (void)sbx_process_memory_read_some(threads->pid, wait->object, &words[SBX_FUTEX_WORDS_BEFORE],
                                           sizeof words - before);
    }
    struct sbx_futex_owner owner =
        sbx_futex_owner_of(function, position->arguments[1], (uint32_t)position->arguments[2], words,
                           threads->inner_tids[waiter], is_thread, &context);
    if (owner.object != SBX_FUTEX_UNKNOWN) {
        name_holder(threads, owner.tid, wait);
    }
    bool is_condition =
        function != NULL && (strncmp(function, "pthread_cond", 12) == 0 || strncmp(function, "cnd_", 4) == 0);
    add(wait, "%s %#" PRIx64, is_condition ? "for the condition variable at" : objects[owner.object], wait->object);
}

/* ---- descriptors ---- */

static void add_descriptor(struct sbx_thread_wait *wait, pid_t pid, const char *what, int descriptor)
{
    char text[SBX_DESCRIPTOR_TEXT];
    sbx_descriptor_describe(pid, descriptor, text);
    add(wait, "%s%s (descriptor %d)", what, text, descriptor);
}

static void add_descriptors(struct sbx_thread_wait *wait, pid_t pid, const int *descriptors, size_t told, size_t count)
{
    add(wait, "for %zu descriptor%s: ", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < told; i++) {
        add_descriptor(wait, pid, i == 0 ? "" : ", ", descriptors[i]);
    }
    if (count > told) {
        add(wait, "%s...", told > 0 ? ", " : "");
    }
}

static void find_polled(pid_t pid, const struct sbx_thread_position *position, struct sbx_thread_wait *wait)
{
    struct pollfd polled[POLLED_MAX];
    int told[DESCRIPTORS_TOLD];
    size_t count = position->arguments[1], put = 0, read = count < POLLED_MAX ? count : POLLED_MAX;
    if (sbx_process_memory_read(pid, position->arguments[0], polled, read * sizeof polled[0]) != 0) {
        read = 0;
    }
    for (size_t i = 0; i < read && put < DESCRIPTORS_TOLD; i++) {
        if (polled[i].fd >= 0) {
            told[put++] = polled[i].fd;
        }
    }
    if (count == 0) {
        add(wait, "for a time");
    } else {
        add_descriptors(wait, pid, told, put, count);
    }
}

static void find_selected(pid_t pid, const struct sbx_thread_position *position, struct sbx_thread_wait *wait)
{
    int told[DESCRIPTORS_TOLD];
    size_t put = 0, count = 0;
    uint64_t below = position->arguments[0] < FD_SETSIZE ? position->arguments[0] : FD_SETSIZE;
    fd_set sets[3];
    memset(sets, 0, sizeof sets);
    for (unsigned set = 0; set < 3; set++) {
        if (position->arguments[1 + set] != 0) {
            (void)sbx_process_memory_read_some(pid, position->arguments[1 + set], &sets[set], (below + 63) / 64 * 8);
        }
    }
    for (int descriptor = 0; descriptor < (int)below; descriptor++) {
        if (FD_ISSET(descriptor, &sets[0]) || FD_ISSET(descriptor, &sets[1]) || FD_ISSET(descriptor, &sets[2])) {
            if (put < DESCRIPTORS_TOLD) {
                told[put++] = descriptor;
            }
            count++;
        }
    }
    if (count == 0) {
        add(wait, "for a time");
    } else {
        add_descriptors(wait, pid, told, put, count);
    }
}

static void find_watched(pid_t pid, int descriptor, struct sbx_thread_wait *wait)
{
    int watched[DESCRIPTORS_TOLD];
    size_t count = 0, told = sbx_descriptor_watched(pid, descriptor, watched, DESCRIPTORS_TOLD, &count);
    add_descriptors(wait, pid, watched, told, count);
}

static void find_lock_owner(pid_t pid, int descriptor, struct sbx_thread_wait *wait)
{
    add_descriptor(wait, pid, "for the lock of the file ", descriptor);
    wait->holder_pid = sbx_descriptor_lock_owner(pid, descriptor);
}

/* ---- times, children, paths ---- */

static void find_sleep(pid_t pid, const struct sbx_thread_position *position, struct sbx_thread_wait *wait)
{
    struct timespec asked;
    bool is_clock = position->call == SYS_clock_nanosleep;
    bool is_absolute = is_clock && (position->arguments[1] & TIMER_ABSTIME) != 0;
    uint64_t at = position->arguments[is_clock ? 2 : 0];
    if (is_absolute) {
        add(wait, "until a time");
    } else if (sbx_process_memory_read(pid, at, &asked, sizeof asked) == 0 && asked.tv_sec >= 0 &&
               asked.tv_sec < 1000000000) {
        add(wait, "for %.3f s", (double)asked.tv_sec + (double)asked.tv_nsec / 1e9);
    } else {
        add(wait, "for a time");
    }
}

static void find_child(int64_t child, struct sbx_thread_wait *wait)
{
    char name[SBX_PROC_NAME];
    if (child > 0) {
        bool is_known = sbx_proc_name((pid_t)child, name);
        add(wait, is_known ? "for the child %d (%s)" : "for the child %d%s", (int)child, name);
    } else {
        add(wait, "for any of its children");
    }
}

static void find_path(pid_t pid, uint64_t address, struct sbx_thread_wait *wait)
{
    char path[PATH_BYTES];
    if (sbx_process_memory_read_text(pid, address, path, sizeof path) == 0) {
        add(wait, "for the file system, with the path %s", path);
    }
}

void sbx_thread_wait_find(const struct sbx_thread_numbers *threads, size_t waiter,
                          const struct sbx_thread_position *position, const char *function,
                          struct sbx_thread_wait *wait_out)
{
    memset(wait_out, 0, sizeof *wait_out);
    pid_t pid = threads->pid;
    int descriptor = (int)position->arguments[0];
    if (position->call == SBX_CALL_NONE) {
        wait_out->call = "";
        add(wait_out, "for memory that the kernel has to bring: a page of a file, or one that was swapped out");
        return;
    }
    struct sbx_blocked_call call = sbx_blocked_call_of(position->call);
    wait_out->call = call.name;
    wait_out->kind = call.kind;
    switch (call.kind) {
    case SBX_BLOCKED_FUTEX:
        find_futex(threads, waiter, position, function, wait_out);
        break;
    case SBX_BLOCKED_SLEEP:
        find_sleep(pid, position, wait_out);
        break;
    case SBX_BLOCKED_READ:
        add_descriptor(wait_out, pid, "for input of ", descriptor);
        break;
    case SBX_BLOCKED_WRITE:
        add_descriptor(wait_out, pid, "for room to write to ", descriptor);
        break;
    case SBX_BLOCKED_ACCEPT:
        add_descriptor(wait_out, pid, "for a connection to ", descriptor);
        break;
    case SBX_BLOCKED_FILE:
        add_descriptor(wait_out, pid, "for ", descriptor);
        break;
    case SBX_BLOCKED_FILE_LOCK:
        find_lock_owner(pid, descriptor, wait_out);
        break;
    case SBX_BLOCKED_POLL:
        find_polled(pid, position, wait_out);
        break;
    case SBX_BLOCKED_SELECT:
        find_selected(pid, position, wait_out);
        break;
    case SBX_BLOCKED_EPOLL:
        find_watched(pid, descriptor, wait_out);
        break;
    case SBX_BLOCKED_CHILD:
        find_child((int32_t)position->arguments[0], wait_out);
        break;
    case SBX_BLOCKED_CHILD_BY_ID:
        find_child(position->arguments[0] == P_PID ? (int32_t)position->arguments[1] : 0, wait_out);
        break;
    case SBX_BLOCKED_SIGNAL:
        add(wait_out, "for a signal");
        break;
    case SBX_BLOCKED_OPEN:
        find_path(pid, position->arguments[0], wait_out);
        break;
    case SBX_BLOCKED_OPEN_AT:
        find_path(pid, position->arguments[1], wait_out);
        break;
    case SBX_BLOCKED_SEMAPHORE:
        add(wait_out, "for the System V semaphore %d", descriptor);
        break;
    case SBX_BLOCKED_MESSAGE:
        add(wait_out, "for a message queue");
        break;
    case SBX_BLOCKED_OTHER:
        break;
    }
}
