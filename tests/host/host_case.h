/* SPDX-License-Identifier: Apache-2.0 */
/* host_case.h - one case of tests/host: a program of its own with the recorder preloaded, and who judges it.
 *
 * A test file is both. Started by ctest it runs its cmocka tests; each starts the same file again with the library in
 * LD_PRELOAD and orders in the environment, as `stallbox run` does, and the name of a body. The body is the host: it links
 * nothing of ours that it would notice, and reaches the public functions by dlsym() only. */
#ifndef SBX_HOST_CASE_H
#define SBX_HOST_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "snapshot.h"
#include "stallbox/stallbox.h"

struct host_body {
    const char *name;
    void (*run)(void); /* in the recorded program; returning is exit(0) */
};
#define HOST_BODY(function) \
    {                       \
#function, function \
    }

/* How a body is run. */
struct host_order {
    const char *body;
    uint32_t anr_ms, slow_message_ms; /* 0: 60,000, so that nothing fires */
    uint32_t interval_us, gap_us;     /* 0: the default */
    bool has_no_budget;               /* no points are taken out, and nothing is made rarer, whatever it costs */
    const char *preload_too;          /* a library to be preloaded after ours; NULL: none */
    bool (*before_exec)(void); /* runs in the child before it becomes the host; false: skip the test. NULL: nothing */
    bool has_no_agent;         /* nothing is preloaded: the body loads it by itself */
    bool has_companion; /* started by `stallbox run`, which packs and tells (`run.err` in host_folder); the limits
                                         above hold, interval_us, gap_us, has_no_budget and preload_too do not */
};

/* How large a case is: as large as docs/HOST_CASES.md lists it when STALLBOX_HOST_FULL is set (scripts/soak), else `usual`,
 * which takes seconds. On both sides. */
long host_size(long listed, long usual);

/* The bodies' or the tests' side of main(). */
int host_main(int argc, char **argv, const struct host_body *bodies, size_t body_count, const struct CMUnitTest *tests,
              size_t test_count);

/* ---- for judges ---- */

extern char host_folder[64], host_spool[96], host_raw[104], host_recordings[96];

int host_set_up(void **state); /* makes the folders above, fresh for each test */
int host_tear_down(void **state);
#define HOST_TEST(test)                                \
    {                                                  \
#test, test, host_set_up, host_tear_down, NULL \
    }

pid_t host_begin(const struct host_order *order);
/* Wait for its end: the wait status. Skips the running test when `before_exec` said so. */
int host_end(pid_t pid);
int host_run(const struct host_order *order);
/* Run it and ask that it ends in order. */
void host_run_well(const struct host_order *order);

int host_count_files(const char *path, const char *suffix);
int host_count_snapshots(void);
/* None of the processes that have ended left a recording, but for a clean one: an exit waits a tenth of a second for the thread that takes its name away,
 * which on a busy machine has no processor by then. Whoever looks next finds nothing in it, and removes it: so does this. */
void host_expect_recordings_closed(void);
/* The snapshot there is; fails the test when there is none, or more. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *host_read_snapshot(void);
/* Wait until there are `count` snapshots, while `pid` runs. False after a minute. */
bool host_wait_for_snapshots(int count);
/* Does the stack pass through `function` of this program? The body ran at another address than we do. */
bool host_passes(const struct sbx_snapshot *snapshot, uint32_t stack, const void *function);
/* What `stallbox report --all` says of the spool, and what the companion said at the end, cut to `bytes`. */
void host_report(char *text, size_t bytes);
void host_companion_said(char *text, size_t bytes);
/* Skip with a word on stderr: a test that silently did nothing would look as one that passed. */
void host_skip(const char *why);
/* Wait until the body wrote a line into its folder's file `name` (host_tell); false after a minute. */
bool host_was_told(const char *name);
/* Make the file `name` there, which the body waits for. */
void host_answer(const char *name);

/* ---- for bodies ---- */

/* The library's public functions as the host finds them; NULL members when it is not loaded. */
struct host_api {
    enum stallbox_result (*start)(const struct stallbox_options *);
    enum stallbox_result (*stop)(uint32_t);
    enum stallbox_result (*snapshot)(uint32_t);
    enum stallbox_result (*read_counts)(struct stallbox_counts *);
    bool (*is_running)(void);
};
struct host_api host_api(void);

void host_expect(bool holds, const char *what); /* else a line on stderr and _exit(1) */
void host_expect_snapshot(void);                /* a manual one is made and durable */
struct stallbox_counts host_counts(void);
void host_pause_ms(long ms);
/* Keep the processor for so long, in which nothing of libc but the clock is called. */
void host_compute_ms(long ms);
/* `turns` passes of an event loop that polls for a millisecond each; must be called again from the same place to be the
 * same loop. `handle` runs in the last of them. */
void host_loop(int turns, void (*handle)(void));
/* An ordinary program with a thread beside the loop: whatever the recorder could do here, this must end well. */
void host_work(void);
/* A thread that computes and allocates for as long as host_goes_on. */
void *host_keep_busy(void *unused);
extern _Atomic bool host_goes_on;
extern _Atomic int host_busy_threads; /* so many have begun */
/* Threads of this process by now, ours and the recorder's. */
int host_thread_count(void);
void host_tell(const char *name);
uint64_t host_now_ms(void);

/* Last in a function: its last call is then no tail call, and its frame stays on the stack. */
#define HOST_KEEP_FRAME() __asm__ volatile("")

#endif
