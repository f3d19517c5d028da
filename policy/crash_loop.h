/* SPDX-License-Identifier: Apache-2.0 */
/* crash_loop.h - a policy that makes the application crash is given up, and so are the capture points it put in.
 *
 *   a document is new ---> ARMED ---- 60 s of healthy life, or an orderly end ----> SURVIVED: streak 0
 *                            |                                                     after 24 h and 3 starts: the safe one
 *                            +------- crashed: streak + 1 --> tried again at the next start
 *
 *   streak 3   the document is quarantined and the safe one takes its place (the embedded default when none has proved
 *              itself); the points that were never in while the application survived with others are quarantined for 7 days
 *   streak 6   nothing is recorded, until another document or another version of the application comes
 *
 * Chromium's numbers for its safe seed and null seed. A start is written down, durably, before the first capture, and
 * counts as a crash when no process lives that could say how it ended: a kill or a power cut costs a fallback for some time,
 * which is cheaper than an application that cannot start. Starts of several instances at a time are told apart.
 *
 * Pure: the caller keeps the struct durably, and passes the time and the living processes. */
#ifndef SBX_CRASH_LOOP_H
#define SBX_CRASH_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "signature.h"

enum {
    SBX_STREAK_SAFE = 3,
    SBX_STREAK_OFF = 6,
    SBX_SURVIVED_AFTER_MS = 60000,
    SBX_SAFE_AFTER_S = 86400,
    SBX_SAFE_AFTER_STARTS = 3,
    SBX_POINT_QUARANTINE_S = 7 * 86400,
    SBX_OPEN_STARTS_MAX = 16,
    SBX_QUARANTINE_MAX = 4,
};

enum sbx_trial_state {
    SBX_TRIAL_IDLE = 0,
    SBX_TRIAL_ARMED = 1,
    SBX_TRIAL_SURVIVED = 2
};

/* What is to be applied. */
enum sbx_policy_choice {
    SBX_CHOOSE_NEWEST = 0,
    SBX_CHOOSE_SAFE = 1,
    SBX_CHOOSE_OFF = 2
};

/* A process that was started with a document on trial and has not been heard of since. */
struct sbx_open_start {
    uint32_t pid;         /* of the process that will say how it ended; 0: the place is free */
    uint32_t reserved;    /* 0 */
    uint64_t points;      /* the points that were put in */
    uint64_t start_ticks; /* field 22 of its /proc/PID/stat: a pid that was given anew is another process */
    uint8_t boot_id[16];
    uint8_t newest[SBX_DIGEST_BYTES]; /* the newest document then */
    uint8_t applied[SBX_DIGEST_BYTES];
};

struct sbx_crash_loop {
    uint8_t newest[SBX_DIGEST_BYTES]; /* hash of the newest document; zeroes: the embedded default */
    uint32_t state;                   /* enum sbx_trial_state of it */
    uint32_t streak;                  /* crashes since it came, or since something survived */
    uint32_t survivals;               /* starts it has survived */
    uint32_t quarantine_next;
    uint64_t proven_points;    /* points that were in when a start survived */
    uint64_t first_survived_s; /* wall clock; 0: not yet */
    uint64_t app_mark;         /* which version of the application this is about */
    uint8_t quarantine[SBX_QUARANTINE_MAX][SBX_DIGEST_BYTES];
    uint64_t point_until_s[SBX_POINT_GROUPS_MAX]; /* a point is quarantined until then; 0: it is not */
    struct sbx_open_start open[SBX_OPEN_STARTS_MAX];
};

/* The newest document is `newest` and the application `app_mark`: what was learned about others does not count against
 * them. Starts whose bit is set in `dead` (by index in open[]: no process lives that could say) count as crashes. Returns
 * what is to be applied; *points_off_out are the points that must not be put in whatever the document says. */
enum sbx_policy_choice sbx_crash_loop_choose(struct sbx_crash_loop *loop, const uint8_t newest[SBX_DIGEST_BYTES],
                                             uint64_t app_mark, uint64_t wall_s, uint32_t dead,
                                             uint64_t *points_off_out);

/* A start, or a switch in a running application, with `applied` in force and `points` in: write it down unless the document
 * has survived before. `who` names the process that will report the end. An earlier start of the same process is replaced. Returns whether there
 * is anything to keep durably. */
bool sbx_crash_loop_arm(struct sbx_crash_loop *loop, const struct sbx_open_start *who,
                        const uint8_t applied[SBX_DIGEST_BYTES], uint64_t points);

/* It has lived long enough, or ended in order. Returns whether `applied` has now earned to be the safe document. */
bool sbx_crash_loop_survive(struct sbx_crash_loop *loop, const struct sbx_open_start *who,
                            const uint8_t applied[SBX_DIGEST_BYTES], uint64_t points, uint64_t wall_s);

/* It goes on without any recording: what happens to it now says nothing about a document. Returns whether there is anything
 * to keep durably. */
bool sbx_crash_loop_forget(struct sbx_crash_loop *loop, const struct sbx_open_start *who);

/* It crashed. */
void sbx_crash_loop_crash(struct sbx_crash_loop *loop, const struct sbx_open_start *who, uint64_t wall_s);

#endif
