/* SPDX-License-Identifier: Apache-2.0 */
/* spool_ages.h - how long what lies in a spool has been there, and the end of what is too old: SPOOL/.ages.
 *
 * Payloads and snapshots that nobody could take, those that were sent and those that were refused: each goes once it is
 * older than the policy's spool_hours (a week by default, thirty days at most). Ages are not read off a clock that
 * anybody may set. They are counted up from look to look and kept in a text:
 *
 *     stallbox-ages 1 BOOT-ID BOOT-MS WALL-MS   when the ages below were true
 *     FOLDER NAME AGE-S                         FOLDER is one of ". raw sent bad"
 *
 * Within a boot time passes by CLOCK_BOOTTIME, whatever the wall clock does. Over a reboot, and before the first look,
 * only the wall clock knows: it is believed when it is later than the one before, for half of the limit at most. So a
 * clock that jumps ages nothing by more than half, one that goes back ages nothing, and nothing stays for ever. A file
 * that is lost or changed has the ages begin anew. */
#ifndef SBX_SPOOL_AGES_H
#define SBX_SPOOL_AGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery_memory.h"
#include "marks.h"
#include "spool.h"

enum {
    SBX_SPOOL_HOURS_MAX = 720, /* whatever is signed */
    SBX_SPOOL_AGES_MAX = 1024, /* files whose age is known; more wait for their turn */
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
    bool is_known; /* there was a look before */
    struct sbx_spool_age kept[SBX_SPOOL_AGES_MAX];
    size_t count;
};

/* The text of these ages into SBX_SPOOL_AGES_BYTES_MAX bytes; returns its length. And back, of a text that ends in NUL
 * and is changed by the reading, into ages that are all zero: lines that are not understood are passed over. Pure. */
size_t sbx_spool_ages_print(const struct sbx_spool_ages *ages, char *text_out);
void sbx_spool_ages_parse(char *text, struct sbx_spool_ages *ages);

/* What has passed from one look to the next, in ms. Pure. */
uint64_t sbx_spool_time_passed_ms(const struct sbx_delivery_now *before, const struct sbx_delivery_now *now,
                                  uint64_t limit_ms);

/* Look, unless the last look is less than an hour (or a quarter of the limit) ago: remove what is older than
 * spool->limits.hours_max, and write the ages down. Returns how many files went unsent, counted in sbx_spool_dropped()
 * too, or -errno when the ages could not be kept: then they are counted from the old ones the next time. Any process. */
SBX_MUST_CHECK int sbx_spool_ages_look(struct sbx_spool *spool, const struct sbx_delivery_now *now);

#endif
