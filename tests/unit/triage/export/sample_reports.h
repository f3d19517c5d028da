/* SPDX-License-Identifier: Apache-2.0 */
/* sample_reports.h - a few complete stalls, as redis would cause them: for the exporters' tests, for the Perfetto
 * validator and to look at pictures. Each is the caller's to destroy. */
#ifndef SBX_SAMPLE_REPORTS_H
#define SBX_SAMPLE_REPORTS_H

#include "report_fixture.h"

/* DEBUG SLEEP 2: one message of 2,003 ms, of which 2,000 ms are one measured nanosleep in debugCommand. */
struct report_fixture *sample_sleep(void);

/* A Lua script that computes for 2 s, sampled every 5 ms, with allocations in between. */
struct report_fixture *sample_script(void);

/* main waits 1,500 ms for a mutex that a worker holds while it writes a file; twenty threads, 10 s of history. */
struct report_fixture *sample_lock(void);

/* The thread is still asleep when the trigger fires (anr): there is no record of the sleep, only its current call and
 * two looks. */
struct report_fixture *sample_unanswered(void);

/* By name: "sleep", "script", "lock", "unanswered"; NULL if there is none of that name. */
struct report_fixture *sample_by_name(const char *name);

#endif
