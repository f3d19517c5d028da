/* SPDX-License-Identifier: Apache-2.0 */
/* crash_loop.h - if a policy makes the application crash, the policy is abandoned, and so are the capture points that
 * it switched on.
 *
 *   a document is new ---> ARMED ---- 60 s of healthy life, or an orderly end ----> SURVIVED: streak 0
 *                            |                                                     after 24 h and 3 starts: the safe one
 *                            +------- crashed: streak + 1 --> tried again at the next start
 *
 *   streak 3   the document is quarantined and replaced by the safe one (by the embedded default if none has proved
 *              itself); points that were never on while the application survived with others are quarantined for 7 days
 *   streak 6   nothing is recorded, until another document or another version of the application comes
 *
 * The numbers are those of Chromium's safe seed and null seed. A start is written down, durably, before the first
 * capture. It counts as a crash when no process is alive that could report its end: a kill or a power cut causes a
 * fallback for some time, which is better than an application that cannot start. Starts of several instances at a time
 * are distinguished.
 *
 * Pure: the caller stores the struct durably, and passes the time and the living processes. */
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

/* Which policy is to be applied. */
enum sbx_policy_choice {
    SBX_CHOOSE_NEWEST = 0,
    SBX_CHOOSE_SAFE = 1,
    SBX_CHOOSE_OFF = 2
};

/* A process that was started with a document on trial and has not reported its end. */
struct sbx_open_start {
    uint32_t pid;         /* of the process that will report the end; 0: the place is free */
    uint32_t reserved;    /* 0 */
    uint64_t points;      /* the points that were on */
    uint64_t start_ticks; /* field 22 of its /proc/PID/stat: distinguishes processes if the pid is reused */
    uint8_t boot_id[16];
    uint8_t newest[SBX_DIGEST_BYTES]; /* the newest document at that time */
    uint8_t applied[SBX_DIGEST_BYTES];
};

struct sbx_crash_loop {
    uint8_t newest[SBX_DIGEST_BYTES]; /* hash of the newest document; zeroes: the embedded default */
    uint32_t state;                   /* enum sbx_trial_state of the newest document */
    uint32_t streak;                  /* crashes since the document came, or since the last survival */
    uint32_t survivals;               /* starts that it has survived */
    uint32_t quarantine_next;
    uint64_t proven_points;    /* points that were on when a start survived */
    uint64_t first_survived_s; /* wall clock; 0: not yet */
    uint64_t app_mark;         /* the version of the application to which all this applies */
    uint8_t quarantine[SBX_QUARANTINE_MAX][SBX_DIGEST_BYTES];
    uint64_t point_until_s[SBX_POINT_GROUPS_MAX]; /* a point is quarantined until then; 0: it is not */
    struct sbx_open_start open[SBX_OPEN_STARTS_MAX];
};

/* The newest document is `newest` and the application is `app_mark`: crashes of other documents or versions do not
 * count against them. Starts whose bit is set in `dead` (by index in open[]: no process is alive that could report)
 * count as crashes. Returns which policy is to be applied; *points_off_out are the points that must stay off whatever
 * the document says. */
enum sbx_policy_choice sbx_crash_loop_choose(struct sbx_crash_loop *loop, const uint8_t newest[SBX_DIGEST_BYTES],
                                             uint64_t app_mark, uint64_t wall_s, uint32_t dead,
                                             uint64_t *points_off_out);

/* A start, or a switch in a running application, with `applied` in force and `points` on: note it unless the document
 * has survived before. `who` names the process that will report the end. An earlier start of the same process is
 * replaced. Returns whether the struct must be stored. */
bool sbx_crash_loop_arm(struct sbx_crash_loop *loop, const struct sbx_open_start *who,
                        const uint8_t applied[SBX_DIGEST_BYTES], uint64_t points);

/* The start has lived long enough, or ended normally. Returns whether `applied` is the safe document from now on. */
bool sbx_crash_loop_survive(struct sbx_crash_loop *loop, const struct sbx_open_start *who,
                            const uint8_t applied[SBX_DIGEST_BYTES], uint64_t points, uint64_t wall_s);

/* The process continues without any recording: its end says nothing about a document any more. Returns whether the
 * struct must be stored. */
bool sbx_crash_loop_forget(struct sbx_crash_loop *loop, const struct sbx_open_start *who);

/* The start crashed. */
void sbx_crash_loop_crash(struct sbx_crash_loop *loop, const struct sbx_open_start *who, uint64_t wall_s);

#endif
