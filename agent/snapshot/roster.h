/* SPDX-License-Identifier: Apache-2.0 */
/* roster.h - the report of the programs of one `stallbox run` to it: which of them record and which cannot, which have a message
 * loop in the main thread, what was left out, and the ids of the snapshots that were made of them.
 *
 * A spool is shared by many companions, and any of them may pack or send what is in it. So what a companion counts by its own
 * hands is not what became of its program; the ids are. A file in the folder of recordings, a mapping of which each program
 * has, because some of them tell nothing more later: they were killed, or gave up their rights.
 *
 * Believed are numbers, and no more of them than there is room for: a program may have been taken over. The companion reads
 * the file into memory of its own. It holds a lock on it as long as it lives; one that nobody has locked is swept. */
#ifndef SBX_ROSTER_H
#define SBX_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

#define SBX_ROSTER_SUFFIX ".roster"

enum {
    SBX_ROSTER_PROCESSES = 64, /* which are told one by one; the first is the program itself */
    SBX_ROSTER_IDS = 256,      /* newest snapshots; of older ones the number is kept */
    SBX_ROSTER_ID_BYTES = 16
};

/* What became of the recorder in a process. */
enum sbx_roster_state {
    SBX_ROSTER_UNTOLD = 0,
    SBX_ROSTER_RECORDS = 1,
    SBX_ROSTER_FAILED = 2,   /* it could not start: `error` */
    SBX_ROSTER_DECLINED = 3, /* its maps would have stood in the way of the program's mlockall() */
    SBX_ROSTER_LEFT = 4,     /* it ended before a sandbox that would not have had it */
};

struct sbx_roster_process {
    uint32_t pid;      /* 0: free. Taken by compare-and-swap */
    uint32_t state;    /* enum sbx_roster_state */
    uint32_t error;    /* errno, of FAILED */
    uint32_t has_loop; /* 1: its main thread has a message loop, or it answers clients, shows frames or keeps watches */
};

struct sbx_roster {
    uint32_t layout;     /* sbx_roster_layout() */
    uint32_t failed;     /* starts that failed, of all processes */
    uint32_t last_error; /* errno of the newest of them */
    uint32_t forked;   /* children of fork() that called no exec, wanted to be recorded, and were not, or not at once */
    uint32_t put_off;  /* of these: their family had spent what it may on the starts of children that end soon */
    uint32_t left_out; /* slow things without a snapshot, because the one before was too young or in the making */
    uint32_t snapshots;       /* ever made */
    uint32_t workers;         /* children of fork() that were recorded, ever */
    uint32_t has_worker_loop; /* 1: one of them has a message loop, shows frames or keeps watches */
    struct sbx_roster_process processes[SBX_ROSTER_PROCESSES];
    uint8_t ids[SBX_ROSTER_IDS][SBX_ROSTER_ID_BYTES]; /* number n at n % SBX_ROSTER_IDS */
};

/* ---- for programs: each NULL is fine, and says nothing ---- */

/* Map the roster `number` in `folder`, and be a member of it: this process until it ends or calls exec, and its children of
 * fork() likewise. NULL: it is gone, or of another version. Never unmapped: a hook may be at it. */
struct sbx_roster *sbx_roster_map(const char *folder, uint64_t number);

/* Say what became of the recorder in process `pid`; after an exec it is said anew. */
void sbx_roster_say(struct sbx_roster *roster, uint32_t pid, enum sbx_roster_state state, uint32_t error);
void sbx_roster_say_loop(struct sbx_roster *roster, uint32_t pid);

/* A snapshot of a program of this roster is whole. Saying one twice is fine. */
void sbx_roster_add(struct sbx_roster *roster, const uint8_t id[SBX_ROSTER_ID_BYTES]);

/* The same for a dead program's: `folder` is the open folder of recordings. Nothing when there is no such roster. */
void sbx_roster_add_to(int folder, uint64_t number, const uint8_t id[SBX_ROSTER_ID_BYTES]);

/* ---- for the companion ---- */

/* Make a roster in `folder`, and sweep those of companions that are gone. Returns its locked descriptor and its number, or
 * -errno: -ENOSPC when not even this fits. */
SBX_MUST_CHECK int sbx_roster_create(const char *folder, uint64_t *number_out);

/* A copy of what it says now. False: it was cut short. */
bool sbx_roster_read(int roster, struct sbx_roster *copy_out);

/* Does a member live? Not seen are programs that have just called exec and are not loaded yet. */
bool sbx_roster_has_members(int roster);

/* What it says of a process; UNTOLD when it says nothing. */
struct sbx_roster_process sbx_roster_process(const struct sbx_roster *copy, uint32_t pid);

/* Take its name away and close it. */
void sbx_roster_remove(const char *folder, uint64_t number, int roster);

#endif
