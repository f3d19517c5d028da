/* SPDX-License-Identifier: Apache-2.0 */
/* report_fixture.h - reports built by hand in the form that exporters get: symbolized and attributed.
 *
 * A test writes function names in place of offsets, and milliseconds in place of deltas. Test code: it aborts without
 * memory and on wrong use. */
#ifndef SBX_REPORT_FIXTURE_H
#define SBX_REPORT_FIXTURE_H

#include "report.h"

struct report_fixture;

struct report_fixture *report_fixture_create(void);
void report_fixture_destroy(struct report_fixture *fixture);

/* The stall of the report; fill in trigger, policy, drops. */
struct sbx_stall *report_fixture_stall(struct report_fixture *fixture);
struct sbx_verdict *report_fixture_verdict(struct report_fixture *fixture);

/* Returns the ordinal. `name` is borrowed. */
uint32_t report_fixture_thread(struct report_fixture *fixture, const char *name, bool is_main);
struct sbx_stall_thread *report_fixture_thread_at(struct report_fixture *fixture, uint32_t thread);

/* Make a callstack from text, outermost first: "main;aeMain;readQuery@12;luaV_execute".
 * "@12" is the line where the function is or calls; another line is another address.
 * "outer>inner" is one address with an inlined call.
 * "libc.so.6!nanosleep" is a function of that module; without a module it is in the application's, "redis-server".
 * "redis-server+0x12" is an address without a name.
 * "[end:2]" is the marker of a walk that ended for reason 2, "[cut]" that of frames that were left out.
 * Returns the id. Equal texts give equal ids, and equal prefixes equal parents. */
uint32_t report_fixture_stack(struct report_fixture *fixture, const char *text);

/* Add any record; its end must not be before the end of the thread's last record. */
void report_fixture_record(struct report_fixture *fixture, struct sbx_stall_record record);

/* Short forms. Times in milliseconds relative to the trigger; cpu_ms < 0: not read. */
void report_fixture_sample(struct report_fixture *fixture, uint32_t thread, double at_ms, uint64_t message,
                           double cpu_ms, const char *stack);
void report_fixture_wait(struct report_fixture *fixture, uint32_t thread, enum sbx_record_kind kind, enum sbx_op op,
                         double begin_ms, double end_ms, uint64_t message, double cpu_ms, const char *stack);
void report_fixture_idle(struct report_fixture *fixture, uint32_t thread, double begin_ms, double end_ms);
void report_fixture_message(struct report_fixture *fixture, uint32_t thread, double begin_ms, double end_ms,
                            uint64_t message, uint64_t merged);

/* The current report; valid until the next call that changes the fixture. */
const struct sbx_report *report_fixture_report(struct report_fixture *fixture);

/* cmocka's set-up and tear-down for a test whose state is a fixture with a main thread. */
int report_fixture_begin(void **state);
int report_fixture_end(void **state);

static inline int64_t ms_to_ns(double ms)
{
    return (int64_t)(ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
}

#endif
