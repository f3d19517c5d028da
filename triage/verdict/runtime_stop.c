/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_stop.c - why a managed runtime stopped its threads.
 *
 * HotSpot has one thread for all work that needs all other threads stopped. Its native stack names the operation. */
#include "runtime_stop.h"

#include <stdio.h>
#include <string.h>

#include "verdict_words.h"

enum {
    OPERATIONS_MAX = 4, /* kinds that are counted apart */
    NAME_BYTES = 64
};

struct operation {
    char name[NAME_BYTES];
    double looks;
    uint32_t thread;
};

size_t sbx_runtime_operation_bytes(const char *function)
{
    const char *does = strstr(function, "::doit");
    return strncmp(function, "VM_", 3) == 0 && does != NULL ? (size_t)(does - function) : 0;
}

/* The operation on a stack, as text in the report; NULL: none. */
static const char *operation_of(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (location->named && sbx_runtime_operation_bytes(location->function) != 0) {
                return location->function;
            }
        }
    }
    return NULL;
}

static void count(struct operation *operations, const char *function, uint32_t thread)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)sbx_runtime_operation_bytes(function), function);
    for (size_t i = 0; i < OPERATIONS_MAX; i++) {
        if (operations[i].looks == 0 || strcmp(operations[i].name, name) == 0) {
            memcpy(operations[i].name, name, sizeof name);
            operations[i].thread = thread;
            operations[i].looks++;
            return;
        }
    }
}

void sbx_runtime_stop_tell(struct sbx_report *report, struct sbx_interval interval)
{
    const struct sbx_stall *stall = report->stall;
    struct operation operations[OPERATIONS_MAX];
    memset(operations, 0, sizeof operations);
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        for (size_t i = 0; i < stall->threads[thread].record_count; i++) {
            const struct sbx_stall_record *record = &stall->records[stall->threads[thread].record_begin + i];
            bool is_meanwhile = record->end_ns > interval.begin_ns && record->begin_ns < interval.end_ns;
            const char *function = is_meanwhile && record->stack != 0 ? operation_of(report, record->stack) : NULL;
            if (function != NULL) {
                count(operations, function, thread);
            }
        }
    }
    const struct operation *most = &operations[0];
    for (size_t i = 1; i < OPERATIONS_MAX; i++) {
        most = operations[i].looks > most->looks ? &operations[i] : most;
    }
    if (most->looks > 0) {
        char name[SBX_THREAD_TEXT_BYTES];
        sbx_thread_text(stall, most->thread, name);
        sbx_evidence_add(&report->verdict, "operation", most->looks, "meanwhile %s carried out %s", name, most->name);
    }
}
