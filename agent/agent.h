/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - the recorder of this process: one recording, two threads, off -> running -> off.
 *
 * The one place that wires capture, triggers and snapshots together, and the only one that starts threads:
 *
 *   sbx-watch    ticks while the application works, sleeps while it rests; looks at what is open (watchdog.h), fills
 *                gaps, makes snapshots. Never takes a lock, never waits for the loader, never allocates.
 *   sbx-modules  follows dlopen and dlclose, compiles unwind rows, puts hooks in and takes them out. May wait for the
 *                loader's lock; nobody waits for it but stop, and that with a time-out. */
#ifndef SBX_AGENT_H
#define SBX_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

/* Would a start be the first? 0, -EALREADY where it is not, -ENOTSUP where there will be none any more. No system call but
 * getpid(). */
int sbx_agent_may_start(void);

/* Start with these settings. `said` is what the spool says of consent, `is_consent_required` whether silence is a no.
 * `recordings_folder` and `spool_path` are borrowed. Returns 0, or -errno: -EALREADY
 * running, -ECANCELED switched off by STALLBOX_DISABLE, because the process runs set-user-id or because our maps
 * would stand in the way of its mlockall(), others from the files.
 */
int sbx_agent_start(const char *recordings_folder, const char *spool_path, const struct sbx_capture_settings *settings,
                    enum sbx_consent said, bool is_consent_required);

/* The same by a thread of ours (SBX_OWN_MODULES), which sbx_module_thread_become() has made the module thread: it goes on with
 * sbx_module_thread_go_on() where this returns 0, or has asked its threads to stop. That is one thread less, for a forked child's start. */
int sbx_agent_start_by_module_thread(const char *recordings_folder, const char *spool_path,
                                     const struct sbx_capture_settings *settings, enum sbx_consent said,
                                     bool is_consent_required);

/* Valgrind, a set-user-id program, STALLBOX_DISABLE: the recorder stays out. */
bool sbx_agent_is_declined(void);

/* Read what is read of the environment, once. By the starting thread, or before main(). */
void sbx_agent_look_at_environment(void);

/* Stop; 0, -ESRCH when not running, -ETIMEDOUT when a thread did not end in time (it is left to end by itself). */
int sbx_agent_stop(uint32_t timeout_ms);

/* The process exits in order: finish a snapshot in flight, mark the recording clean and take its name away. */
void sbx_agent_process_exits(void);

#endif
