/* SPDX-License-Identifier: Apache-2.0 */
/* change_rules.c - turns words into bits, and decides whether an event is wanted. */
#include "change_rules.h"

#include <string.h>

#include "regression.h"

uint32_t sbx_change_rules_kinds(const char *words)
{
    uint32_t kinds = 0;
    for (const char *at = words;; at++) {
        size_t bytes = strcspn(at, ",");
        uint32_t kind = SBX_CHANGE_NEW;
        for (; kind <= SBX_CHANGE_GONE; kind++) {
            const char *name = sbx_change_name((enum sbx_change)kind);
            if (strlen(name) == bytes && strncmp(at, name, bytes) == 0)
                break;
        }
        if (kind > SBX_CHANGE_GONE)
            return 0;
        kinds |= UINT32_C(1) << kind;
        at += bytes;
        if (*at == '\0')
            return kinds;
    }
}

bool sbx_change_rules_take(const struct sbx_change_rules *rules, const struct sbx_change_event *event)
{
    if (rules->kinds != 0 && (event->kind < 0 || event->kind >= SBX_CHANGE_KINDS || !(rules->kinds >> event->kind & 1)))
        return false;
    for (size_t i = 0; i < rules->app_count; i++) {
        if (strcmp(rules->apps[i], event->app) == 0)
            return true;
    }
    return rules->app_count == 0;
}
