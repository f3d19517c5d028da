/* SPDX-License-Identifier: Apache-2.0 */
/* wait_links.c - which thread each wait was for. */
#include "wait_links.h"

#include <errno.h>
#include <stdlib.h>

#include "record_kinds.h"

/* Sort records of kind WAKE by their wait. */
static int by_wait(const void *a, const void *b)
{
    const struct sbx_stall_record *const *x = a, *const *y = b;
    if ((*x)->wait != (*y)->wait) {
        return (*x)->wait < (*y)->wait ? -1 : 1;
    }
    return *x < *y ? -1 : *x > *y;
}

static int by_length(const void *a, const void *b)
{
    const struct sbx_wait_link *x = a, *y = b;
    int64_t x_ns = x->end_ns - x->begin_ns, y_ns = y->end_ns - y->begin_ns;
    if (x_ns != y_ns) {
        return x_ns > y_ns ? -1 : 1;
    }
    if (x->begin_ns != y->begin_ns) {
        return x->begin_ns < y->begin_ns ? -1 : 1;
    }
    return x->woke != y->woke ? (x->woke ? -1 : 1) : 0; /* the waker before the holder */
}

static const struct sbx_stall_record *wake_of(const struct sbx_stall_record *const *wakes, size_t count, uint32_t wait)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wakes[middle]->wait < wait) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return wait != 0 && low < count && wakes[low]->wait == wait ? wakes[low] : NULL;
}

/* A wait for a lock names the holder. A wait for something else names the waker, also if the WAKE record is lost. */
static bool names_holder(uint32_t kind)
{
    return kind == SBX_RECORD_LOCK;
}

static size_t links_of_record(const struct sbx_stall *stall, const struct sbx_stall_record *record,
                              const struct sbx_stall_record *const *wakes, size_t wake_count, struct sbx_wait_link *out)
{
    size_t count = 0;
    if (!sbx_kind_is_wait(record->kind) || record->kind == SBX_RECORD_IDLE) {
        return 0;
    }
    struct sbx_wait_link link = {.waiter = record->thread,
                                 .begin_ns = record->begin_ns,
                                 .end_ns = record->end_ns,
                                 .object = record->object,
                                 .kind = record->kind,
                                 .op = record->op};
    const struct sbx_stall_record *wake = wake_of(wakes, wake_count, record->wait);
    bool has_peer = record->peer >= 0 && (uint32_t)record->peer < stall->thread_count;
    if (wake != NULL && wake->thread != record->thread) {
        link.other = wake->thread;
        link.at_ns = wake->end_ns;
        link.stack = wake->stack;
        link.woke = true;
        out[count++] = link;
    }
    if (has_peer && names_holder(record->kind) && (uint32_t)record->peer != record->thread) {
        link.other = (uint32_t)record->peer;
        link.at_ns = record->begin_ns;
        link.stack = 0;
        link.woke = false;
        out[count++] = link;
    }
    return count;
}

/* The lock that a thread still waited for when the trigger fired. */
static size_t link_of_open_call(const struct sbx_stall *stall, uint32_t index, struct sbx_wait_link *out)
{
    const struct sbx_stall_thread *thread = &stall->threads[index];
    if (thread->ended || !names_holder(thread->call_kind) || thread->call_peer < 0 ||
        (uint32_t)thread->call_peer >= stall->thread_count || (uint32_t)thread->call_peer == index) {
        return 0;
    }
    *out = (struct sbx_wait_link){.waiter = index,
                                  .other = (uint32_t)thread->call_peer,
                                  .begin_ns = -thread->call_ns,
                                  .at_ns = -thread->call_ns,
                                  .object = thread->call_object,
                                  .kind = (uint8_t)thread->call_kind,
                                  .op = (uint8_t)thread->call_op};
    return 1;
}

int sbx_wait_links_create(const struct sbx_stall *stall, struct sbx_wait_link **links_out, size_t *count_out)
{
    int result = -ENOMEM;
    size_t wake_count = 0, wait_count = 0, count = 0;
    for (size_t i = 0; i < stall->record_count; i++) {
        wake_count += stall->records[i].kind == SBX_RECORD_WAKE;
        wait_count += sbx_kind_is_wait(stall->records[i].kind);
    }
    const struct sbx_stall_record **wakes = malloc((wake_count + 1) * sizeof *wakes);
    struct sbx_wait_link *links = malloc((2 * wait_count + stall->thread_count + 1) * sizeof *links);
    if (wakes == NULL || links == NULL) {
        goto free_links;
    }
    wake_count = 0;
    for (size_t i = 0; i < stall->record_count; i++) {
        if (stall->records[i].kind == SBX_RECORD_WAKE) {
            wakes[wake_count++] = &stall->records[i];
        }
    }
    qsort(wakes, wake_count, sizeof *wakes, by_wait);
    for (size_t i = 0; i < stall->record_count; i++) {
        count += links_of_record(stall, &stall->records[i], wakes, wake_count, links + count);
    }
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        count += link_of_open_call(stall, thread, links + count);
    }
    qsort(links, count, sizeof *links, by_length);
    *count_out = count < SBX_WAIT_LINKS_MAX ? count : SBX_WAIT_LINKS_MAX;
    *links_out = links;
    links = NULL;
    result = 0;

free_links:
    free(links);
    free(wakes);
    return result;
}
