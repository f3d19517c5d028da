/* SPDX-License-Identifier: Apache-2.0 */
/* run_stay.h - the companion goes on when `stallbox run` ends, because something that it recorded lives on: a daemon, a
 * worker whose master died, a service that has started its successor. Or it begins so, beside a program that takes the place of
 * `stallbox run` (--beside): a service manager believes the process that it has started.
 *
 * `stallbox run` must end with its program: shells and systemd wait for that status. So it starts itself once more, in the
 * background: same file, same arguments with SBX_STAY_OPTION before them, and what is not in them in a file in memory. The
 * new process has a session of its own, /dev/null for its three streams, and none of the other descriptors, so no reader
 * of a pipe of the program waits for it. It has nothing of the threads of the old one. */
#ifndef SBX_RUN_STAY_H
#define SBX_RUN_STAY_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "policy_follower.h"
#include "recording_file.h"

#define SBX_STAY_OPTION "--attend"

/* What one companion tells the next. */
struct sbx_stay {
    uint32_t layout; /* sizeof this struct */
    int32_t roster;  /* descriptor, locked; -1: none */
    uint32_t
        program; /* process number of who has not begun to record yet, and is attended as long as it lives; 0: nobody */
    uint64_t program_ticks; /* when it was started */
    uint64_t roster_number, key;
    char recordings[SBX_RECORDING_PATH_MAX], spool[SBX_RECORDING_PATH_MAX]; /* folders */
    char mark[64 + SBX_COMPANION_BYTES]; /* sbx_follower_mark() that the programs have; "": none */
};

/* Start the companion that goes on. `argv` is that of this command (argv[0] is "run"); stay->roster is handed on, and not closed
 * here. Returns 0 when it runs, or -errno. */
SBX_MUST_CHECK int sbx_stay_hand_on(const struct sbx_stay *stay, int argc, char **argv);

/* The same, and the companion is no child of this process: it is about to be the program, which has none that it did not make. */
SBX_MUST_CHECK int sbx_stay_begin_beside(const struct sbx_stay *stay, int argc, char **argv);

/* Does something live on that the roster knows of? Where a process has just been executed with our orders, half a second is given to it
 * to be loaded. A roster of -1: no. */
bool sbx_stay_is_needed(int roster, uint64_t roster_number);

/* Is this process such a companion? Then *stay_out is filled in and the option is taken out of argv. Returns 1; 0: it is
 * not; -EPROTO: somebody has typed the option. */
SBX_MUST_CHECK int sbx_stay_take(struct sbx_stay *stay_out, int *argc, char **argv);

/* What a companion that goes on listens to, all borrowed. */
struct sbx_stay_watch {
    int roster;
    int program; /* pidfd; as long as it lives somebody does. -1: nobody */
    int ended;   /* eventfd: somebody has ended; -1: nobody tells */
    int events;  /* readable: `on_events` is to be called; -1: it is called at each look */
    void (*on_events)(void *context);
    void *context;
};

/* The process that another companion names, for sbx_stay_watch; -1: it is gone, or there is none. */
int sbx_stay_open_program(const struct sbx_stay *stay);

/* Return when the last of them is gone. Asked to end (SIGTERM, SIGINT), with them as a service manager asks, wait for that a
 * while; asked twice, return. Hang-ups are left alone. Changes the calling thread's signal mask. */
void sbx_stay_wait(const struct sbx_stay_watch *watch);

#endif
