/* SPDX-License-Identifier: Apache-2.0 */
/* host_case.h - one case of tests/host: a separate program with the recorder preloaded, and the test that judges it.
 *
 * A test file contains both. When ctest starts it, it runs its cmocka tests. Each test starts the same file again with
 * the library in LD_PRELOAD, orders in the environment as `stallbox run` sets them, and the name of a body. The body is
 * the host: it links nothing of ours that it would notice, and reaches the public functions only by dlsym(). */
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
    bool has_no_budget;               /* no points are shed and no interval is widened, whatever it costs */
    const char *preload_too;          /* another library to be preloaded after ours; NULL: none */
    bool (*before_exec)(void); /* runs in the child before it becomes the host; false: skip the test. NULL: nothing */
    bool has_no_agent;         /* nothing is preloaded; the body loads the library itself */
    bool has_companion; /* started by `stallbox run`, which packs and reports (`run.err` in host_folder); the limits
                         * above apply, interval_us, gap_us, has_no_budget and preload_too do not */
};

/* The size of a case: `listed`, as in docs/HOST_CASES.md, when STALLBOX_HOST_FULL is set (scripts/soak); otherwise
 * `usual`, which takes seconds. In the test and in the body. */
long host_size(long listed, long usual);

/* main() of both the bodies and the tests. */
int host_main(int argc, char **argv, const struct host_body *bodies, size_t body_count, const struct CMUnitTest *tests,
              size_t test_count);

/* ---- for judges ---- */

extern char host_folder[64], host_spool[96], host_raw[104], host_recordings[96];

int host_set_up(void **state); /* makes the folders above, new for each test */
int host_tear_down(void **state);
#define HOST_TEST(test)                                \
    {                                                  \
#test, test, host_set_up, host_tear_down, NULL \
    }

pid_t host_begin(const struct host_order *order);
/* Wait for its end; returns the wait status. Skips the running test when `before_exec` returned false. */
int host_end(pid_t pid);
int host_run(const struct host_order *order);
/* Run it and expect that it exits with 0. */
void host_run_well(const struct host_order *order);

int host_count_files(const char *path, const char *suffix);
int host_count_snapshots(void);
/* Expect that the ended processes left no recording, except clean ones. An exit waits only a tenth of a second for the
 * thread that removes the recording, and on a busy machine that thread may have had no processor by then. The next
 * recovery finds nothing in such a recording and removes it, and so does this function. */
void host_expect_recordings_closed(void);
/* The only snapshot; fails the test when there is not exactly one. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *host_read_snapshot(void);
/* Wait until there are `count` snapshots, while `pid` runs. False after a minute. */
bool host_wait_for_snapshots(int count);
/* Does the stack pass through `function` of this program? The body was loaded at another address than this process. */
bool host_passes(const struct sbx_snapshot *snapshot, uint32_t stack, const void *function);
/* The text of `stallbox report --all` about the spool, and the companion's last messages, cut to `bytes`. */
void host_report(char *text, size_t bytes);
void host_companion_said(char *text, size_t bytes);
/* Skip with a message on stderr, because a test that silently does nothing looks like one that passed. */
void host_skip(const char *why);
/* Wait until the body has written a line into the file `name` in its folder (host_tell); false after a minute. */
bool host_was_told(const char *name);
/* Make the file `name` in that folder, for which the body waits. */
void host_answer(const char *name);

/* ---- for bodies ---- */

/* The library's public functions, as the host finds them; the members are NULL when it is not loaded. */
struct host_api {
    enum stallbox_result (*start)(const struct stallbox_options *);
    enum stallbox_result (*stop)(uint32_t);
    enum stallbox_result (*snapshot)(uint32_t);
    enum stallbox_result (*read_counts)(struct stallbox_counts *);
    bool (*is_running)(void);
};
struct host_api host_api(void);

void host_expect(bool holds, const char *what); /* otherwise a line on stderr and _exit(1) */
void host_expect_snapshot(void);                /* a manual snapshot is made and durable */
struct stallbox_counts host_counts(void);
void host_pause_ms(long ms);
/* Use the processor for that long, without a call into libc except for the clock. */
void host_compute_ms(long ms);
/* `turns` passes of an event loop that polls for a millisecond each. Calls from the same place are the same loop.
 * `handle` runs in the last pass. */
void host_loop(int turns, void (*handle)(void));
/* An ordinary program with a thread beside its loop. It must end well, whatever the recorder can do here. */
void host_work(void);
/* A thread that computes and allocates for as long as host_goes_on. */
void *host_keep_busy(void *unused);
extern _Atomic bool host_goes_on;
extern _Atomic int host_busy_threads; /* number of threads that have begun */
/* The number of threads of this process now, including the recorder's. */
int host_thread_count(void);
void host_tell(const char *name);
uint64_t host_now_ms(void);

/* Stands last in a function, so that the function's last call is not a tail call and its frame stays on the stack. */
#define HOST_KEEP_FRAME() __asm__ volatile("")

#endif
