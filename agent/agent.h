/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - the recorder of this process: one recording, two threads, off -> running -> off.
 *
 * This file alone connects capture, triggers and snapshots, and this file alone starts threads:
 *
 *   sbx-watch    ticks while the application works, sleeps while it rests; looks at what is open (watchdog.h), fills
 *                gaps, makes snapshots. Never takes a lock, never waits for the loader, never allocates.
 *   sbx-modules  follows dlopen and dlclose, compiles unwind rows, puts hooks in and takes them out. May wait for the
 *                loader's lock; only a stop waits for it, and with a time-out. */
#ifndef SBX_AGENT_H
#define SBX_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

/* Would a start be the first one? 0: yes. -EALREADY: no. -ENOTSUP: no start is possible any more. The only system call
 * is getpid(). */
int sbx_agent_may_start(void);

/* Start with these settings. `said` is the consent that the spool records; `is_consent_required` says whether a missing
 * answer means no. `recordings_folder` and `spool_path` are borrowed. Returns 0 or -errno. -EALREADY: running.
 * -ECANCELED: switched off by STALLBOX_DISABLE, because the process runs set-user-id, or because our mappings would
 * make its mlockall() fail. Other values come from the files. */
int sbx_agent_start(const char *recordings_folder, const char *spool_path, const struct sbx_capture_settings *settings,
                    enum sbx_consent said, bool is_consent_required);

/* Like sbx_agent_start(), but called by a thread of ours (SBX_OWN_MODULES), which sbx_module_thread_become() has made
 * the module thread. If this returns 0 or has asked its threads to stop, that thread continues with
 * sbx_module_thread_go_on(). This saves one thread at a forked child's start. */
int sbx_agent_start_by_module_thread(const char *recordings_folder, const char *spool_path,
                                     const struct sbx_capture_settings *settings, enum sbx_consent said,
                                     bool is_consent_required);

/* Must the recorder stay out? Yes under Valgrind, in a set-user-id program, and with STALLBOX_DISABLE. */
bool sbx_agent_is_declined(void);

/* Read the environment, once. Called by the starting thread, or before main(). */
void sbx_agent_look_at_environment(void);

/* Stop. Returns 0; -ESRCH when not running; -ETIMEDOUT when a thread did not end in time (it then ends later by
 * itself). */
int sbx_agent_stop(uint32_t timeout_ms);

/* The process exits normally: finish a snapshot in flight, mark the recording clean and remove its name. */
void sbx_agent_process_exits(void);

#endif
