/* SPDX-License-Identifier: Apache-2.0 */
/* change_rules.h - which changes the webhook receives: a choice of kinds and applications. Pure. Other changes are
 * recorded all the same. */
#ifndef SBX_CHANGE_RULES_H
#define SBX_CHANGE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "change_log.h"

struct sbx_change_rules {
    uint32_t kinds;          /* bits of enum sbx_change; 0: all */
    const char *const *apps; /* names of applications, as pages show them; borrowed */
    size_t app_count;        /* 0: all */
};

/* "new,regressed" as bits; 0 when a word is unknown, or there is none. */
uint32_t sbx_change_rules_kinds(const char *words);
bool sbx_change_rules_take(const struct sbx_change_rules *rules, const struct sbx_change_event *event);

#endif
