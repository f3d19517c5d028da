/* SPDX-License-Identifier: Apache-2.0 */
/* roster.h - what the programs of one `stallbox run` report to it: which of them record and which cannot, which have a
 * message loop in the main thread, what was left out, and the ids of the snapshots that were made of them.
 *
 * Several companions may share a spool, and any of them may pack or send its contents. So a companion cannot count the
 * snapshots of its own program by what it packs itself; the ids tell which they are. The roster is a file in the folder
 * of recordings, and each program has a mapping of it, because some programs cannot report later: they were killed, or
 * have dropped their privileges.
 *
 * A program may have been compromised. So the companion reads the file into private memory and takes only numbers from
 * it, within fixed limits. It holds a lock on the file while it lives; a roster without a lock is swept. */
#ifndef SBX_ROSTER_H
#define SBX_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

#define SBX_ROSTER_SUFFIX ".roster"

enum {
    SBX_ROSTER_PROCESSES = 64, /* reported one by one; the first is the program itself */
    SBX_ROSTER_IDS = 256,      /* newest snapshots; older ones are only counted */
    SBX_ROSTER_ID_BYTES = 16
};

/* The state of the recorder in a process. */
enum sbx_roster_state {
    SBX_ROSTER_UNTOLD = 0,
    SBX_ROSTER_RECORDS = 1,
    SBX_ROSTER_FAILED = 2,   /* it could not start: `error` */
    SBX_ROSTER_DECLINED = 3, /* its mappings would have made the program's mlockall() fail */
    SBX_ROSTER_LEFT = 4,     /* it ended before a sandbox that would not have allowed it */
};

struct sbx_roster_process {
    uint32_t pid;      /* 0: free. Taken by compare-and-swap */
    uint32_t state;    /* enum sbx_roster_state */
    uint32_t error;    /* errno, of FAILED */
    uint32_t has_loop; /* 1: its main thread has a message loop, or it answers clients, shows frames or keeps watches */
};

struct sbx_roster {
    uint32_t layout;     /* of layout() in roster.c */
    uint32_t failed;     /* starts that failed, of all processes */
    uint32_t last_error; /* errno of the last failure */
    uint32_t forked;     /* children of fork() without exec that should be recorded, and were not, or not at once */
    uint32_t put_off;    /* of these: the family had used up what it may spend on starts of short-lived children */
    uint32_t left_out;   /* slow messages without a snapshot, because the last one was too young or being made */
    uint32_t snapshots;  /* ever made */
    uint32_t workers;    /* children of fork() that were recorded, ever */
    uint32_t has_worker_loop; /* 1: a worker has a message loop, shows frames or keeps watches */
    struct sbx_roster_process processes[SBX_ROSTER_PROCESSES];
    uint8_t ids[SBX_ROSTER_IDS][SBX_ROSTER_ID_BYTES]; /* number n at n % SBX_ROSTER_IDS */
};

/* ---- for programs: NULL is allowed everywhere, and reports nothing ---- */

/* Map the roster `number` in `folder`, and become a member of it. This process stays a member until it ends or calls
 * exec, and so do its children of fork(). NULL: the roster is gone, or of another version. Never unmapped, because a
 * hook may be using it. */
struct sbx_roster *sbx_roster_map(const char *folder, uint64_t number);

/* Report the state of the recorder in process `pid`; after an exec it is reported again. */
void sbx_roster_say(struct sbx_roster *roster, uint32_t pid, enum sbx_roster_state state, uint32_t error);
void sbx_roster_say_loop(struct sbx_roster *roster, uint32_t pid);

/* A snapshot of a program of this roster is complete. Reporting one twice is fine. */
void sbx_roster_add(struct sbx_roster *roster, const uint8_t id[SBX_ROSTER_ID_BYTES]);

/* The same for a dead program: `folder` is the open folder of recordings. Does nothing when there is no such roster. */
void sbx_roster_add_to(int folder, uint64_t number, const uint8_t id[SBX_ROSTER_ID_BYTES]);

/* ---- for the companion ---- */

/* Create a roster in `folder`, and sweep those of companions that have ended. Returns its locked descriptor and its
 * number, or -errno: -ENOSPC when there is no room even for this. */
SBX_MUST_CHECK int sbx_roster_create(const char *folder, uint64_t *number_out);

/* Copy the present content. False: the file was cut short. */
bool sbx_roster_read(int roster, struct sbx_roster *copy_out);

/* Is a member alive? Programs that have just called exec and are not loaded yet are not seen. */
bool sbx_roster_has_members(int roster);

/* The entry of a process; UNTOLD when there is none. */
struct sbx_roster_process sbx_roster_process(const struct sbx_roster *copy, uint32_t pid);

/* Remove its name and close it. */
void sbx_roster_remove(const char *folder, uint64_t number, int roster);

#endif
