/* SPDX-License-Identifier: Apache-2.0 */
/* look_watch.h - many looks at one process: how each thread used its time, and where it slept. */
#ifndef SBX_LOOK_WATCH_H
#define SBX_LOOK_WATCH_H

#include <stdint.h>

#include "process_look.h"

/* A stack that a thread was seen with, and how often. */
struct sbx_watched_stack {
    uint64_t hash;
    uint32_t looks;
    struct sbx_look_thread last; /* the thread when last seen with it; the watch owns its stack */
};

struct sbx_watched_thread {
    pid_t tid;
    char name[32];
    uint32_t looks, asleep_looks;
    int64_t first_ns, last_ns;         /* first and last look at it */
    int64_t cpu_ns[2], runnable_ns[2]; /* at the first and the last look; -1: unknown */
    struct sbx_watched_stack *stacks;  /* most seen first, after sbx_look_watch_sort() */
    size_t stack_count;
    uint32_t other_looks; /* looks at stacks that are not kept */
};

struct sbx_look_watch {
    pid_t pid;
    char name[32];
    int64_t begin_realtime_ns, duration_ns, looking_ns; /* looking_ns: time that looking took */
    uint32_t looks, circle_looks;
    struct sbx_watched_thread *threads;
    size_t thread_count;
};

void sbx_look_watch_begin(struct sbx_look_watch *watch, pid_t pid);
/* Count a look, and copy what is kept of it. Returns 0 or -ENOMEM. */
int sbx_look_watch_add(struct sbx_look_watch *watch, const struct sbx_process_look *look, int64_t now_ns);
/* Sort stacks by how often they were seen. */
void sbx_look_watch_sort(struct sbx_look_watch *watch);
void sbx_look_watch_release(struct sbx_look_watch *watch);

/* Two threads with the same frames in the same modules have the same hash. */
uint64_t sbx_stack_hash(const struct sbx_thread_stack *stack);

#endif
