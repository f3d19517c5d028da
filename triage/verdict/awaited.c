/* SPDX-License-Identifier: Apache-2.0 */
/* awaited.c - of several functions that were awaited in turn, the one that ran longest counts. */
#include "awaited.h"

#include <stdio.h>
#include <string.h>

#include "known_names.h"
#include "verdict_words.h"

enum {
    FRAMES_MAX = 64,
    NAMED_MAX = 6, /* number of functions in a sentence */
    ITEM_BYTES = SBX_SHORT_NAME_BYTES + 64
};

static int64_t common_ns(const struct sbx_stall_await *await, struct sbx_interval span)
{
    int64_t begin_ns = await->begin_ns > span.begin_ns ? await->begin_ns : span.begin_ns;
    int64_t end_ns = await->end_ns < span.end_ns ? await->end_ns : span.end_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

uint32_t sbx_awaited_in(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval span)
{
    uint32_t stack = 0;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < stall->await_count; i++) {
        int64_t ns = stall->awaits[i].thread == thread ? common_ns(&stall->awaits[i], span) : 0;
        if (ns > longest_ns) {
            longest_ns = ns;
            stack = stall->awaits[i].stack;
        }
    }
    return stack;
}

/* Append "fetch (shop.py:12)" to the text. false: there is no room. */
static bool add_item(const struct sbx_location *location, char *text, size_t bytes)
{
    char item[ITEM_BYTES], function[SBX_SHORT_NAME_BYTES];
    size_t used = strlen(text);
    const char *name = sbx_location_text(location, function), *slash;
    const char *file = location->file == NULL                           ? NULL
                       : (slash = strrchr(location->file, '/')) != NULL ? slash + 1
                                                                        : location->file;
    int length = file != NULL && location->line != 0
                     ? snprintf(item, sizeof item, "%s%s (%s:%u)", used != 0 ? ", " : "", name, file, location->line)
                     : snprintf(item, sizeof item, "%s%s", used != 0 ? ", " : "", name);
    if (length < 0 || (size_t)length >= sizeof item || used + (size_t)length >= bytes) {
        return false;
    }
    memcpy(text + used, item, (size_t)length + 1);
    return true;
}

void sbx_awaited_tell(struct sbx_report *report, struct sbx_interval span)
{
    const struct sbx_stall *stall = report->stall;
    uint32_t frames[FRAMES_MAX], stack = sbx_awaited_in(stall, stall->trigger.thread, span);
    char text[200] = "";
    int named = 0;
    report->verdict.awaited_stack = stack;
    size_t count = sbx_stall_frames(stall, stack, frames, FRAMES_MAX);
    for (size_t i = 0; i < count && named < NAMED_MAX; i++) {
        const struct sbx_location *location = &report->locations[report->location_begin[frames[i]]];
        if (sbx_is_runtime_library(location)) {
            continue;
        }
        if (!add_item(location, text, sizeof text)) {
            break;
        }
        named++;
    }
    if (named > 0) {
        sbx_evidence_add(&report->verdict, "awaited_by", (double)count, "awaited by %s", text);
    }
}
