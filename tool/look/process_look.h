/* SPDX-License-Identifier: Apache-2.0 */
/* process_look.h - one look at another process: where each thread is, what it waits for, which thread has that, and
 * whether some wait in a circle. The process is not stopped, and nothing is put into it. */
#ifndef SBX_PROCESS_LOOK_H
#define SBX_PROCESS_LOOK_H

#include <stdint.h>
#include <sys/types.h>

#include "frame_names.h"
#include "process_image.h"
#include "processor_clock.h"
#include "process_modules.h"
#include "stack_reader.h"
#include "thread_wait.h"

enum {
    SBX_LOOK_NOBODY = -1
};

struct sbx_look_thread {
    pid_t tid;
    struct sbx_thread_status status;
    struct sbx_thread_position position;
    struct sbx_thread_stack *stack; /* owned */
    struct sbx_thread_wait wait;    /* for a sleeping thread */
    int64_t asleep_ns;              /* -1: unknown */
    int waits_for;                  /* index of the thread that has what it waits for, or SBX_LOOK_NOBODY */
    int circle;                     /* number of the circle it waits in, from 1; 0: none */
};

struct sbx_process_look {
    pid_t pid;
    char name[32];       /* comm of the main thread */
    int64_t realtime_ns; /* begin of the look */
    int64_t took_ns;
    struct sbx_look_thread *threads; /* the main one first, then by number */
    size_t thread_count;
    size_t circle_count;
    size_t unread_count; /* threads that ended meanwhile or could not be read */
    bool has_begun_anew; /* it called exec since the last look, so it is another program */
};

/* State that all looks at one process share: modules, unwind rows and names are found once. */
struct sbx_process_view {
    pid_t pid;
    struct sbx_process_image image; /* as it was at the last look */
    bool is_in_other_namespace;     /* its threads have other numbers in their own namespace */
    struct sbx_process_modules modules;
    struct sbx_frame_names *names;
    struct sbx_stack_reader *reader;
    struct sbx_processor_clocks clocks;
};

/* Returns 0, or why the process cannot be looked at: -ESRCH (no such process), -EACCES and -EPERM (it belongs to
 * another user, or the kernel's rules for tracing forbid it), -ENOMEM. */
int sbx_process_view_open(struct sbx_process_view *view_out, pid_t pid, struct sbx_rows_cache *cache,
                          const char *const *symbol_dirs, size_t symbol_dir_count);
void sbx_process_view_close(struct sbx_process_view *view);

/* Returns the same errors; -ESRCH also when another process has the number now. Release the look before the view. */
int sbx_process_look_take(struct sbx_process_view *view, struct sbx_process_look *look_out);
void sbx_process_look_release(struct sbx_process_look *look);

/* The public function of the C library that a thread is in ("pthread_mutex_lock"), from its stack; NULL: none. */
const char *sbx_process_look_function(struct sbx_process_view *view, const struct sbx_thread_stack *stack);

#endif
