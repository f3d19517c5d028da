/* SPDX-License-Identifier: Apache-2.0 */
/* crash_loop.c - counts starts that crashed. */
#include "crash_loop.h"

#include <string.h>

static bool is_same_hash(const uint8_t *left, const uint8_t *right)
{
    return memcmp(left, right, SBX_DIGEST_BYTES) == 0;
}

static bool is_quarantined(const struct sbx_crash_loop *loop, const uint8_t *hash)
{
    static const uint8_t none[SBX_DIGEST_BYTES];
    if (is_same_hash(hash, none)) {
        return false; /* after the embedded default there is no other choice but off */
    }
    for (unsigned i = 0; i < SBX_QUARANTINE_MAX; i++) {
        if (is_same_hash(loop->quarantine[i], hash)) {
            return true;
        }
    }
    return false;
}

static void quarantine_points(struct sbx_crash_loop *loop, uint64_t points, uint64_t wall_s)
{
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        if ((points & SBX_POINT_BIT(group)) != 0) {
            loop->point_until_s[group] = wall_s + SBX_POINT_QUARANTINE_S;
        }
    }
}

/* Counts one crash of a start that was made with this newest document. */
static void count_crash(struct sbx_crash_loop *loop, const struct sbx_open_start *start, uint64_t wall_s)
{
    if (!is_same_hash(start->newest, loop->newest)) {
        return; /* the document has been replaced */
    }
    loop->streak++;
    if (loop->streak == SBX_STREAK_SAFE && is_same_hash(start->applied, loop->newest)) {
        if (!is_quarantined(loop, loop->newest)) {
            memcpy(loop->quarantine[loop->quarantine_next % SBX_QUARANTINE_MAX], loop->newest, SBX_DIGEST_BYTES);
            loop->quarantine_next++;
        }
        if (loop->proven_points != 0) { /* else every point would be suspected, and the safe document would be empty */
            quarantine_points(loop, start->points & ~loop->proven_points, wall_s);
        }
    }
}

static void turn_to(struct sbx_crash_loop *loop, const uint8_t newest[SBX_DIGEST_BYTES], uint64_t app_mark)
{
    if (loop->app_mark != app_mark) {
        uint8_t kept[SBX_DIGEST_BYTES];
        memcpy(kept, loop->newest, sizeof kept);
        memset(loop, 0, sizeof *loop);
        memcpy(loop->newest, kept, sizeof kept);
        loop->app_mark = app_mark;
    }
    if (!is_same_hash(loop->newest, newest)) {
        memcpy(loop->newest, newest, SBX_DIGEST_BYTES);
        loop->state = SBX_TRIAL_IDLE;
        loop->streak = 0;
        loop->survivals = 0;
        loop->first_survived_s = 0;
    }
}

enum sbx_policy_choice sbx_crash_loop_choose(struct sbx_crash_loop *loop, const uint8_t newest[SBX_DIGEST_BYTES],
                                             uint64_t app_mark, uint64_t wall_s, uint32_t dead,
                                             uint64_t *points_off_out)
{
    for (unsigned i = 0; i < SBX_OPEN_STARTS_MAX; i++) {
        if ((dead & 1u << i) != 0 && loop->open[i].pid != 0) {
            count_crash(loop, &loop->open[i], wall_s);
            loop->open[i].pid = 0;
        }
    }
    turn_to(loop, newest, app_mark);
    *points_off_out = 0;
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        /* If the clock was far ahead when the point was quarantined, it must not stay quarantined for years. */
        if (loop->point_until_s[group] <= wall_s || loop->point_until_s[group] - wall_s > SBX_POINT_QUARANTINE_S) {
            loop->point_until_s[group] = 0;
        } else {
            *points_off_out |= SBX_POINT_BIT(group);
        }
    }
    if (loop->streak >= SBX_STREAK_OFF) {
        return SBX_CHOOSE_OFF;
    }
    return loop->streak >= SBX_STREAK_SAFE || is_quarantined(loop, loop->newest) ? SBX_CHOOSE_SAFE : SBX_CHOOSE_NEWEST;
}

static struct sbx_open_start *find_start(struct sbx_crash_loop *loop, const struct sbx_open_start *who)
{
    for (unsigned i = 0; i < SBX_OPEN_STARTS_MAX; i++) {
        struct sbx_open_start *start = &loop->open[i];
        if (start->pid != 0 && start->pid == who->pid && start->start_ticks == who->start_ticks &&
            memcmp(start->boot_id, who->boot_id, sizeof who->boot_id) == 0) {
            return start;
        }
    }
    return NULL;
}

bool sbx_crash_loop_arm(struct sbx_crash_loop *loop, const struct sbx_open_start *who,
                        const uint8_t applied[SBX_DIGEST_BYTES], uint64_t points)
{
    struct sbx_open_start *start = find_start(loop, who);
    if (loop->state == SBX_TRIAL_SURVIVED && is_same_hash(applied, loop->newest)) {
        if (start == NULL) {
            return false;
        }
        start->pid = 0; /* an earlier trial of this process has ended */
        return true;
    }
    for (unsigned i = 0; i < SBX_OPEN_STARTS_MAX && start == NULL; i++) {
        start = loop->open[i].pid == 0 ? &loop->open[i] : NULL;
    }
    if (start == NULL) {
        return false; /* sixteen other starts are on trial already */
    }
    *start = *who;
    start->points = points;
    memcpy(start->newest, loop->newest, SBX_DIGEST_BYTES);
    memcpy(start->applied, applied, SBX_DIGEST_BYTES);
    if (is_same_hash(applied, loop->newest)) {
        loop->state = SBX_TRIAL_ARMED;
    }
    return true;
}

bool sbx_crash_loop_survive(struct sbx_crash_loop *loop, const struct sbx_open_start *who,
                            const uint8_t applied[SBX_DIGEST_BYTES], uint64_t points, uint64_t wall_s)
{
    struct sbx_open_start *start = find_start(loop, who);
    if (start != NULL) {
        start->pid = 0;
    }
    loop->streak = 0;
    loop->proven_points |= points;
    if (!is_same_hash(applied, loop->newest)) {
        return false; /* the safe document survived, as expected; the newest is still to be proved */
    }
    loop->state = SBX_TRIAL_SURVIVED;
    loop->survivals += loop->survivals < UINT32_MAX;
    if (loop->first_survived_s == 0 || loop->first_survived_s > wall_s) {
        loop->first_survived_s = wall_s;
    }
    return loop->survivals >= SBX_SAFE_AFTER_STARTS && wall_s - loop->first_survived_s >= SBX_SAFE_AFTER_S;
}

void sbx_crash_loop_crash(struct sbx_crash_loop *loop, const struct sbx_open_start *who, uint64_t wall_s)
{
    struct sbx_open_start *start = find_start(loop, who);
    if (start != NULL) {
        count_crash(loop, start, wall_s);
        start->pid = 0;
    }
}

bool sbx_crash_loop_forget(struct sbx_crash_loop *loop, const struct sbx_open_start *who)
{
    struct sbx_open_start *start = find_start(loop, who);
    if (start == NULL) {
        return false;
    }
    start->pid = 0;
    return true;
}
