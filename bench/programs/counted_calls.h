/* SPDX-License-Identifier: Apache-2.0 */
/* counted_calls.h - calls whose instructions are counted. They are made as a program makes them, through its own GOT
 * slots. */
#ifndef SBX_BENCH_COUNTED_CALLS_H
#define SBX_BENCH_COUNTED_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(default)

struct counted_call {
    const char *name;
    void (*body)(int calls);
    bool is_thread; /* made by a thread other than the main thread */
};

/* Opens what the calls need: files, sockets, epoll sets. Returns false if something is missing. */
bool counted_calls_open(void);

extern const struct counted_call counted_calls[];
extern const size_t counted_call_count;

#pragma GCC visibility pop

#endif
