/* SPDX-License-Identifier: Apache-2.0 */
/* run_stay.h - the companion goes on after the end of `stallbox run`, because a process that it recorded still runs: a
 * daemon, a worker whose master died, a service that has started its successor. Or it starts so, beside a program that
 * replaces `stallbox run` (--beside), because a service manager trusts only the process that it has started.
 *
 * `stallbox run` must end with its program: shells and systemd wait for its status. So it starts itself again, in the
 * background: the same file, and the same arguments after SBX_STAY_OPTION; everything else is in a file in memory. The
 * new process has its own session, /dev/null for its three streams, and no other descriptors, so that no reader of the
 * program's pipes waits for it. It has none of the threads of the old process. */
#ifndef SBX_RUN_STAY_H
#define SBX_RUN_STAY_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "policy_follower.h"
#include "recording_file.h"

#define SBX_STAY_OPTION "--attend"

/* What one companion passes to the next. */
struct sbx_stay {
    uint32_t layout;        /* sizeof this struct */
    int32_t roster;         /* locked descriptor; -1: none */
    uint32_t program;       /* a process that has not begun to record yet and is attended while it lives; 0: none */
    uint64_t program_ticks; /* its start time */
    uint64_t roster_number, key;
    char recordings[SBX_RECORDING_PATH_MAX], spool[SBX_RECORDING_PATH_MAX]; /* folders */
    char mark[64 + SBX_COMPANION_BYTES]; /* sbx_follower_mark() of the programs; "": none */
};

/* Start the companion that goes on. `argv` is that of this command (argv[0] is "run"). stay->roster is passed on, and
 * not closed here. Returns 0 when it runs, or -errno. */
SBX_MUST_CHECK int sbx_stay_hand_on(const struct sbx_stay *stay, int argc, char **argv);

/* The same, but the companion is not a child of this process, which is about to become the program and must not have a
 * foreign child. */
SBX_MUST_CHECK int sbx_stay_begin_beside(const struct sbx_stay *stay, int argc, char **argv);

/* Does a process of the roster still run? A process that was just executed with our settings gets half a second to be
 * loaded. A roster of -1: no. */
bool sbx_stay_is_needed(int roster, uint64_t roster_number);

/* Is this process such a companion? Then *stay_out is filled in, and the option is removed from argv. Returns 1; 0: it
 * is not; -EPROTO: a person typed the option. */
SBX_MUST_CHECK int sbx_stay_take(struct sbx_stay *stay_out, int *argc, char **argv);

/* What a companion that goes on waits for; all borrowed. */
struct sbx_stay_watch {
    int roster;
    int program; /* pidfd of a process that counts as recorded while it lives; -1: none */
    int ended;   /* eventfd that reports ended processes; -1: none */
    int events;  /* `on_events` is called when it is readable; -1: it is called at each look */
    void (*on_events)(void *context);
    void *context;
};

/* Open the process that another companion named, for sbx_stay_watch; -1: it has ended, or there is none. */
int sbx_stay_open_program(const struct sbx_stay *stay);

/* Return when the last process has ended. After one request to end (SIGTERM, SIGINT), which a service manager also
 * sends to these processes, wait a while for their end; after two, return. SIGHUP is ignored. Changes the calling
 * thread's signal mask. */
void sbx_stay_wait(const struct sbx_stay_watch *watch);

#endif
