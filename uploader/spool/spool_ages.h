/* SPDX-License-Identifier: Apache-2.0 */
/* spool_ages.h - how long files have been in a spool, and the removal of old ones: SPOOL/.ages.
 *
 * These are payloads and snapshots that could not be delivered, those that were sent, and those that were refused. Each
 * is removed once it is older than the policy's spool_hours (a week by default, at most thirty days). Ages are not
 * computed from a clock that any user may set. They are counted up from check to check, and stored as a text:
 *
 *     stallbox-ages 1 BOOT-ID BOOT-MS WALL-MS   when the ages below were true
 *     FOLDER NAME AGE-S                         FOLDER is one of ". raw sent bad"
 *
 * Within a boot, time is counted by CLOCK_BOOTTIME, whatever the wall clock does. Over a reboot, and before the first
 * check, only the wall clock is available. It is used if it is later than before, and then for at most half of the
 * limit. So a clock that jumps forward ages no file by more than half, a clock that goes back ages none, and no file
 * stays for ever. If the file is lost or changed, the ages begin again. */
#ifndef SBX_SPOOL_AGES_H
#define SBX_SPOOL_AGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery_memory.h"
#include "marks.h"
#include "spool.h"

enum {
    SBX_SPOOL_HOURS_MAX = 720, /* whatever a policy says */
    SBX_SPOOL_AGES_MAX = 1024, /* files with a known age; further files come later */
    SBX_SPOOL_AGE_NAME_BYTES = 64,
    SBX_SPOOL_AGES_BYTES_MAX = 256 + SBX_SPOOL_AGES_MAX * 96, /* of the text */
};

struct sbx_spool_age {
    int folder; /* 0 to 3, in the order above */
    char name[SBX_SPOOL_AGE_NAME_BYTES];
    uint64_t age_s;
};

struct sbx_spool_ages {
    struct sbx_delivery_now at;
    bool is_known; /* there was a check before */
    struct sbx_spool_age kept[SBX_SPOOL_AGES_MAX];
    size_t count;
};

/* Print these ages as a text of at most SBX_SPOOL_AGES_BYTES_MAX bytes; returns its length. And parse such a text,
 * which ends in NUL and is changed by the parsing, into ages that are all zero. Lines that are not understood are
 * skipped. Pure. */
size_t sbx_spool_ages_print(const struct sbx_spool_ages *ages, char *text_out);
void sbx_spool_ages_parse(char *text, struct sbx_spool_ages *ages);

/* Returns the time from one check to the next, in ms. Pure. */
uint64_t sbx_spool_time_passed_ms(const struct sbx_delivery_now *before, const struct sbx_delivery_now *now,
                                  uint64_t limit_ms);

/* Check the spool, unless the last check was less than an hour (or a quarter of the limit) ago: remove what is older
 * than spool->limits.hours_max, and store the ages. Returns how many files were removed unsent, which are also counted
 * in sbx_spool_dropped(), or -errno if the ages could not be stored. Then they are counted from the old ones the next
 * time. Any process. */
SBX_MUST_CHECK int sbx_spool_ages_look(struct sbx_spool *spool, const struct sbx_delivery_now *now);

#endif
