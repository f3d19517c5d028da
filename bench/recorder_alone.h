/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_alone.h - the inside of the recorder in this process, set up as the agent does it, but without its threads.
 * So the cost of a point or a capture is measured while no other thread works. */
#ifndef SBX_BENCH_RECORDER_ALONE_H
#define SBX_BENCH_RECORDER_ALONE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_record.h"
#include "capture_settings.h"
#include "marks.h"
#include "registers.h"
#include "thread_block.h"

/* Sets up a recording without a name, the thread clock with its best source, rows of all modules, and the calling
 * thread as registered. No hook is installed. `name` is used in the message on failure. Returns false on failure. Call
 * this once. */
bool bench_recorder_alone(const char *name, const struct sbx_capture_settings *settings);

/* The parts of a capture; selected at compile time. */
enum bench_capture_part {
    BENCH_WALL = 1,    /* read the wall clock */
    BENCH_CPU = 2,     /* and the thread's CPU time */
    BENCH_STACK = 4,   /* walk and intern the stack */
    BENCH_PUT = 8,     /* write the record */
    BENCH_DIFFERS = 16 /* a message of its own: the sample does not repeat the last one, and becomes a record */
};

extern uint64_t bench_invented_ns; /* a clock that costs nothing to read */

/* What a capture point does when a sample is due. */
__attribute__((always_inline)) static inline uint64_t bench_capture(enum bench_capture_part parts)
{
    struct sbx_thread *thread = sbx_self;
    thread->inside = 1;
    sbx_order_with_handler();
    struct sbx_times now = {.wall_ns = bench_invented_ns += 1000};
    if ((parts & BENCH_CPU) != 0) {
        now = sbx_thread_times(thread);
    } else if ((parts & BENCH_WALL) != 0) {
        now.wall_ns = sbx_thread_wall_ns(thread);
    }
    struct sbx_record record = {.kind = SBX_RECORD_ALLOC,
                                .op = SBX_OP_MALLOC,
                                .begin_ns = now.wall_ns,
                                .end_ns = now.wall_ns,
                                .cpu_ns = now.cpu_ns};
    if ((parts & BENCH_STACK) != 0) {
        struct sbx_walk_registers here;
        sbx_registers_here(&here);
        record.stack = sbx_capture_stack(thread, &here);
    } else {
        record.stack = thread->entry->last_stack;
    }
    if ((parts & BENCH_DIFFERS) != 0) {
        thread->entry->message++;
    }
    if ((parts & BENCH_PUT) != 0) {
        sbx_capture_put(thread, &record);
    }
    sbx_order_with_handler();
    thread->inside = 0;
    return record.stack + now.wall_ns + now.cpu_ns;
}

#endif
