/* SPDX-License-Identifier: Apache-2.0 */
/* guest_copy.c - reads the recording of another process piece by piece, and writes it behind a snapshot. */
#include "guest_copy.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "file_bytes.h"
#include "guest_look.h"
#include "guest_recording.h"
#include "raw_syscall.h"

enum {
    PAGE = 4096,
    HALF = SBX_GUEST_SCRATCH_MIN / 2,
    HEAD_OF_CHUNK = offsetof(struct sbx_chunk, base_ns)
};
#define LOOKS_NS \
    UINT64_C(100000000) /* a snapshot waits so long in all for other processes' looks; then it goes on without them */

/* The copy of one guest. */
struct copy {
    int from, to;
    uint64_t at;                      /* offset of the copy in the snapshot */
    struct sbx_recording_header head; /* as checked */
    uint64_t since_ns;                /* nothing older is copied */
    uint8_t *one, *other;             /* halves of the scratch */
    uint64_t torn_chunks;
    uint32_t thread_count, module_count;
};

/* ---- bytes ---- */

static bool is_zero(const uint8_t *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

/* Pages that are zero stay holes. */
static int write_sparse(const struct copy *copy, uint64_t at, const uint8_t *bytes, size_t count)
{
    int error = 0;
    for (size_t done = 0; done < count && error == 0; done += PAGE) {
        size_t part = count - done < PAGE ? count - done : PAGE;
        if (!is_zero(bytes + done, part)) {
            error = sbx_file_write(copy->to, copy->at + at + done, bytes + done, part);
        }
    }
    return error;
}

static int copy_bytes(const struct copy *copy, uint64_t at, uint64_t bytes)
{
    int error = 0;
    while (bytes > 0 && error == 0) {
        size_t part = bytes < HALF ? (size_t)bytes : HALF;
        error = sbx_guest_read(copy->from, at, copy->one, part);
        error = error == 0 ? write_sparse(copy, at, copy->one, part) : error;
        at += part;
        bytes -= part;
    }
    return error;
}

/* ---- data that its writers may be changing ---- */

/* Reads a chunk's committed length before the chunk, and its turn once more after it. */
static int copy_chunks(struct copy *copy)
{
    struct sbx_chunk *batch = (struct sbx_chunk *)(void *)copy->one;
    const uint32_t batch_max = HALF / sizeof *batch;
    uint64_t tickets = copy->head.ring_ticket;
    uint32_t used = tickets < copy->head.chunks.count ? (uint32_t)tickets : copy->head.chunks.count;
    int error = 0;
    for (uint32_t first = 0; first < used && error == 0; first += batch_max) {
        uint32_t count = used - first < batch_max ? used - first : batch_max;
        uint64_t at = copy->head.chunks.at + (uint64_t)first * sizeof *batch;
        struct sbx_chunk *heads = (struct sbx_chunk *)(void *)copy->other; /* HEAD_OF_CHUNK bytes of each are read */
        for (uint32_t i = 0; i < count && error == 0; i++) {
            error = sbx_guest_read(copy->from, at + (uint64_t)i * sizeof *batch, &heads[i], HEAD_OF_CHUNK);
        }
        error = error == 0 ? sbx_guest_read(copy->from, at, batch, count * sizeof *batch) : error;
        for (uint32_t i = 0; i < count && error == 0; i++) {
            uint64_t after = 0;
            error = sbx_guest_read(copy->from, at + (uint64_t)i * sizeof *batch, &after, sizeof after);
            uint32_t committed = heads[i].committed;
            bool is_readable = sbx_chunk_is_readable(heads[i].state) && committed <= sizeof batch[i].bytes &&
                               batch[i].base_ns >= copy->since_ns;
            bool is_torn = sbx_chunk_turn_of(after) != sbx_chunk_turn_of(heads[i].state);
            copy->torn_chunks += is_readable && is_torn;
            if (!is_readable || is_torn) {
                memset(&batch[i], 0, sizeof batch[i]);
            } else {
                batch[i].state = heads[i].state;
                batch[i].committed = committed;
                memset(batch[i].bytes + committed, 0, sizeof batch[i].bytes - committed);
            }
        }
        error = error == 0 ? write_sparse(copy, at, copy->one, count * sizeof *batch) : error;
    }
    return error;
}

static void settle_run(struct sbx_repeat *run, const struct sbx_repeat *again, bool is_same_thread, uint64_t since_ns)
{
    if (!is_same_thread || run->sequence != again->sequence) {
        run->sequence |= 1; /* the reader counts it as torn */
    } else if (run->begin_ns < since_ns) {
        *run = (struct sbx_repeat){.sequence = run->sequence};
    }
}

/* Reads the entries twice: an entry that did not change in between is consistent. `runs_only`: copies only the runs,
 * before the ring, so that no run is missed (snapshot_copy.h, C3); otherwise copies everything but the runs. */
static int copy_threads(const struct copy *copy, bool runs_only)
{
    struct sbx_thread_entry *batch = (struct sbx_thread_entry *)(void *)copy->one;
    const struct sbx_thread_entry *again = (const struct sbx_thread_entry *)(const void *)copy->other;
    const uint32_t batch_max = HALF / sizeof *batch;
    int error = 0;
    for (uint32_t first = 0; first < copy->thread_count && error == 0; first += batch_max) {
        uint32_t count = copy->thread_count - first < batch_max ? copy->thread_count - first : batch_max;
        uint64_t at = copy->head.threads.at + (uint64_t)first * sizeof *batch;
        error = sbx_guest_read(copy->from, at, batch, count * sizeof *batch);
        error = error == 0 ? sbx_guest_read(copy->from, at, copy->other, count * sizeof *batch) : error;
        for (uint32_t i = 0; i < count && error == 0; i++) {
            bool is_same = batch[i].generation == again[i].generation && batch[i].born_ns == again[i].born_ns;
            if (runs_only) {
                const struct sbx_thread_entry was = batch[i];
                batch[i] = (struct sbx_thread_entry){
                    .run_generation = was.generation, .run_tid = was.tid, .own = was.own, .observed = was.observed};
                settle_run(&batch[i].own, &again[i].own, is_same, copy->since_ns);
                settle_run(&batch[i].observed, &again[i].observed, is_same, copy->since_ns);
                continue;
            }
            batch[i] = is_same ? batch[i] : again[i];
            if (batch[i].last_record_ns < copy->since_ns) {
                batch[i].last_stack = SBX_STACK_NONE;
            }
            error = sbx_file_write(copy->to, copy->at + at + (uint64_t)i * sizeof *batch, &batch[i],
                                   offsetof(struct sbx_thread_entry, own));
        }
        if (runs_only && error == 0) {
            error = write_sparse(copy, at, copy->one, count * sizeof *batch);
        }
    }
    return error;
}

static uint32_t at_most(uint32_t count, uint32_t most)
{
    return count < most ? count : most;
}

/* Written last: an interrupted copy has no header and is no recording. */
static int copy_header(const struct copy *copy)
{
    struct sbx_recording_header *header = (struct sbx_recording_header *)(void *)copy->one;
    int error = sbx_guest_read(copy->from, 0, header, sizeof *header);
    if (error != 0) {
        return error;
    }
    const struct sbx_recording_header *head = &copy->head;
    header->file_bytes = head->file_bytes;
    header->modules = head->modules;
    header->threads = head->threads;
    header->frames = head->frames;
    header->nodes = head->nodes;
    header->ids = head->ids;
    header->chunks = head->chunks;
    header->watches = head->watches;
    header->tasks = head->tasks;
    header->queues = head->queues;
    header->kinds = head->kinds;
    header->state = SBX_STATE_SNAPSHOT;
    header->snapshot_ns = sbx_now_ns();
    header->trigger = (struct sbx_trigger_entry){.kind = SBX_TRIGGER_NONE};
    header->thread_count = copy->thread_count;
    header->module_count = copy->module_count;
    header->drops[SBX_DROP_TORN_CHUNK] += copy->torn_chunks;
    memset(header->guests, 0, sizeof header->guests);
    return sbx_file_write(copy->to, copy->at, header, sizeof *header);
}

/* Copies the data that refers before the data that is referred to. Watches, message kinds and tasks are left out. */
static int copy_recording(struct copy *copy)
{
    const struct sbx_recording_header *head = &copy->head;
    struct sbx_recording_header now;
    copy->thread_count = at_most(head->thread_count, head->threads.count);
    int error = copy_threads(copy, true);
    error = error == 0 ? copy_chunks(copy) : error;
    error = error == 0 ? sbx_guest_read(copy->from, 0, &now, sizeof now) : error;
    if (error != 0) {
        return error;
    }
    copy->thread_count = at_most(now.thread_count, head->threads.count);
    error = copy_threads(copy, false);
    error = error == 0 ? copy_bytes(copy, head->nodes.at, (uint64_t)head->nodes.count * sizeof(uint64_t)) : error;
    error = error == 0 ? copy_bytes(copy, head->frames.at, (uint64_t)head->frames.count * sizeof(uint64_t)) : error;
    error = error == 0 ? copy_bytes(copy, head->ids.at, (uint64_t)head->ids.count * sizeof(uint64_t)) : error;
    error = error == 0 ? sbx_guest_read(copy->from, 0, &now, sizeof now) : error;
    if (error != 0) {
        return error;
    }
    copy->module_count = at_most(now.module_count, head->modules.count);
    error = copy_bytes(copy, head->modules.at, (uint64_t)copy->module_count * sizeof(struct sbx_module_entry));
    error = error == 0 ? copy_bytes(copy, SBX_CONTROL_AT, PAGE) : error;
    return error == 0 ? copy_header(copy) : error;
}

/* Takes over what has changed since the header was checked: the look, the tickets and threads that it used, and the
 * holders that its threads wait for. Sizes and offsets stay as checked. False: the recording may not be kept any
 * more. */
static bool take_news(struct copy *copy)
{
    struct sbx_recording_header now;
    if (sbx_guest_read(copy->from, 0, &now, sizeof now) != 0 || now.consent != SBX_CONSENT_GRANTED) {
        return false;
    }
    copy->head.ring_ticket = now.ring_ticket;
    copy->head.thread_count = now.thread_count;
    memcpy(copy->head.holders, now.holders, sizeof now.holders);
    copy->since_ns = now.consent_ns;
    copy->torn_chunks = 0;
    return true;
}

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

int sbx_guests_copy(const struct sbx_recording_header *host, uint64_t key, const struct sbx_trigger_entry *trigger,
                    int folder, int out_fd, void *scratch, size_t scratch_bytes)
{
    struct sbx_guest_entry guests[SBX_GUESTS_MAX] = {{0}};
    struct sbx_guests_wanted wanted = {.count = 0};
    struct copy copy = {.to = out_fd, .one = scratch, .other = (uint8_t *)scratch + HALF};
    uint64_t until_ns = sbx_now_ns() + LOOKS_NS;
    int count = 0, error = 0;
    if (scratch_bytes < SBX_GUEST_SCRATCH_MIN) {
        return 0;
    }
    copy.at = whole_pages(host->file_bytes);
    sbx_guests_want(&wanted, host, trigger, host->pid);
    for (uint32_t i = 0; i < wanted.count && count < SBX_GUESTS_MAX && error == 0; i++) {
        copy.from = sbx_guest_open(host, key, wanted.pids[i], folder, &copy.head);
        if (copy.from < 0) {
            continue;
        }
        (void)sbx_guest_look(copy.from, trigger->end_ns, until_ns);
        if (!take_news(&copy)) {
            close(copy.from);
            continue;
        }
        error = (int)sbx_raw_ftruncate(out_fd, copy.at + copy.head.file_bytes);
        error = error == 0 ? copy_recording(&copy) : error;
        if (error == 0) {
            guests[count++] = (struct sbx_guest_entry){.at = copy.at, .bytes = copy.head.file_bytes};
            copy.at += whole_pages(copy.head.file_bytes);
            sbx_guests_want(&wanted, &copy.head, trigger, host->pid);
        } else if (error == -ENODATA) {
            error = (int)sbx_raw_ftruncate(out_fd, copy.at); /* it was cut short: remove the part that was copied */
        }
        close(copy.from);
    }
    if (count > 0) {
        int wrote = sbx_file_write(out_fd, offsetof(struct sbx_recording_header, guests), guests, sizeof guests);
        error = error == 0 ? wrote : error;
    }
    return error != 0 ? error : count;
}
