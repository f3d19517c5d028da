/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - what the points, the sample handler and the watch thread share: one recording and how to write to it.
 *
 * There is one capture a process. It is attached to a mapped recording once and never detached: hooks and handlers may
 * be anywhere in it at any time, so stopping takes the hooks out and shuts the gate, and leaves every page mapped. */
#ifndef SBX_CAPTURE_H
#define SBX_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "callstack_table.h"
#include "capture_settings.h"
#include "frame_walker.h"
#include "marks.h"
#include "order.h"
#include "recording_format.h"
#include "ring_writer.h"
#include "thread_registry.h"

struct sbx_capture {
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    struct sbx_module_entry *modules;
    struct sbx_thread_entry *threads;
    struct sbx_callstack_table table;
    struct sbx_ring ring;
    const struct sbx_code_map *map; /* order: release and acquire code_map; read while `inside` is set (module_map.h) */
    uint32_t *gate; /* 1: record. In a page that fork() wipes: a child finds 0, by whatever call it was made */
    uint64_t agent_begin, agent_end; /* addresses of our own code: its frames are left out of every stack */
    uint64_t wait_min_ns;            /* shorter waits leave no record */
    uint64_t interval_ns;
    uint32_t resting; /* 1: the watch thread sleeps until somebody rings the bell */
};

extern struct sbx_capture sbx_the_capture;

/* The capture tick: moves on while the watch thread is awake. A thread whose last sample has another tick is due. Its
 * own line: every allocation reads it. */
struct sbx_tick {
    uint64_t now;
    uint8_t pad[56];
};
extern struct sbx_tick sbx_the_tick;

/* Attach to a mapped, initialised recording. Single-threaded start-up. */
void sbx_capture_attach(struct sbx_recording_header *header);

/* Take over the numbers (watch thread, or start-up). */
void sbx_capture_apply(const struct sbx_capture_settings *settings);

SBX_SIGNAL_SAFE static inline bool sbx_capture_is_open(void)
{
    return sbx_load_relaxed(sbx_the_capture.gate) != 0; /* relaxed: a late look costs one record more or less */
}

SBX_SIGNAL_SAFE static inline void sbx_count_drop(enum sbx_drop drop)
{
    sbx_add_relaxed(&sbx_the_capture.header->drops[drop], 1); /* relaxed: statistics */
}

/* Call the watch thread. One futex wake-up. */
SBX_HOOK_SAFE void sbx_capture_ring_bell(void);

/* Copy at most SBX_STACK_COPY_BYTES of this process's memory from `from` on into `to`, which has that room. Returns how
 * many bytes there were. One system call; memory that is not there ends the copy where a load would fault. */
SBX_SIGNAL_SAFE size_t sbx_copy_stack(uint64_t from, size_t bytes, uint8_t *to);

/* Walk the calling thread's stack from `start` and intern it; returns the callstack id. The caller holds `inside`. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start);

/* Intern a walk, frames of our own library left out of it. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_intern_walk(struct sbx_walk *walk);

/* Registers of the caller's own frame, as a start for sbx_capture_stack(). */
#if defined(__x86_64__)
#define sbx_registers_here(registers)                                            \
    do {                                                                         \
        uint64_t here_pc_, here_sp_, here_fp_;                                   \
        __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" \
                         : "=r"(here_pc_), "=r"(here_sp_), "=r"(here_fp_));      \
        (registers)->pc = here_pc_;                                              \
        (registers)->sp = here_sp_;                                              \
        (registers)->fp = here_fp_;                                              \
        (registers)->pc_is_exact = true;                                         \
        (registers)->fp_known = true;                                            \
        (registers)->context = NULL;                                             \
    } while (0)
#else
#error "registers of this architecture are not known"
#endif

/* Fill the fields every record of the calling thread has (thread, counters, message, CPU time) and put it into the
 * ring. The caller has set kind, op, times and what else it knows, and holds `inside`. */
SBX_SIGNAL_SAFE void sbx_capture_put(struct sbx_thread *thread, struct sbx_record *record);

/* A synchronous sample of the calling thread, when one is due: the leaf probe of points that run often. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_capture_sample(struct sbx_thread *thread, uint8_t kind, uint8_t op);

/* Around a call that may block. begin() makes the call visible from outside; end() records it when it took at least
 * wait_min. Both keep errno. */
SBX_HOOK_SAFE void sbx_blocking_begin(struct sbx_blocking *call, uint8_t kind, uint8_t op, uint64_t object,
                                      uint32_t peer);
SBX_HOOK_SAFE void sbx_blocking_end(struct sbx_blocking *call, uint64_t amount, bool failed, int fd);

/* The call is over, without a record: give the entry back to the call around it, if there is one. */
SBX_HOOK_SAFE void sbx_leave_call(struct sbx_thread *thread, const struct sbx_blocking *call);

#endif
