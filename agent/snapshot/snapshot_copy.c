/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_copy.c - copies a live recording into a snapshot file while its writers run.
 *
 * The recording is read in aligned 64-bit words, so that every word was stored as a whole: counters and table words are
 * never half old, half new. Whole chunks are checked by their turn, thread entries by their generation. */
#include "snapshot_copy.h"

#include <errno.h>
#include <stdbool.h>

#include "file_bytes.h"
#include "order.h"
#include "raw_syscall.h"
#include "recording_check.h"
#include "sample_run.h"

enum {
    PAGE = 4096,
    WORD = sizeof(uint64_t),
    THREAD_TRIES = 4,
    RUN_TRIES = 4
};

/* Writers may store bytes and words here while we read them. This is intended, and a thread sanitizer must not report
 * it. Validity is checked afterwards by the turn of a chunk or the generation of an entry. */
#if defined(__SANITIZE_THREAD__)
#define READS_LIVE_MEMORY __attribute__((no_sanitize("thread")))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define READS_LIVE_MEMORY __attribute__((no_sanitize("thread")))
#endif
#endif
#ifndef READS_LIVE_MEMORY
#define READS_LIVE_MEMORY
#endif

struct copy {
    const uint8_t *live;
    const struct sbx_recording_header *head; /* as it was checked: the live header may have changed since */
    int fd;
    uint64_t *scratch; /* SBX_COPY_SCRATCH_MIN bytes are used */
    uint64_t torn_chunks;
    uint64_t since_ns;                   /* what was recorded before the user agreed is not copied */
    uint32_t thread_count, module_count; /* copied entries: entries that begin later are not part of the copy */
};

/* Loads are volatile instead of atomic builtins only because a sanitizer ignores those: an aligned 64-bit load is not
 * torn on any machine that we build for. */
READS_LIVE_MEMORY static void read_words(uint64_t *to, const void *from, size_t words)
{
    const volatile uint64_t *at = from;
    for (size_t i = 0; i < words; i++) {
        to[i] = at[i];
    }
}

static bool is_zero(const uint64_t *words, size_t count)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= words[i];
    }
    return any == 0;
}

/* Writes `count` bytes of scratch (a multiple of 8) to offset `at`, except pages that are zero: the file has a hole
 * there already. Adjacent pages are written in one call. */
static int write_scratch(const struct copy *copy, size_t count, uint64_t at)
{
    const uint8_t *bytes = (const uint8_t *)copy->scratch;
    size_t from = 0; /* first byte that is neither written nor skipped */
    for (size_t page = 0; page < count; page += PAGE) {
        size_t length = count - page < PAGE ? count - page : PAGE;
        if (!is_zero(copy->scratch + page / WORD, length / WORD)) {
            continue;
        }
        if (page > from) {
            int error = sbx_file_write(copy->fd, at + from, bytes + from, page - from);
            if (error != 0) {
                return error;
            }
        }
        from = page + length;
    }
    return from < count ? sbx_file_write(copy->fd, at + from, bytes + from, count - from) : 0;
}

static int copy_words(const struct copy *copy, uint64_t at, uint64_t bytes)
{
    while (bytes > 0) {
        size_t part = bytes < SBX_COPY_SCRATCH_MIN ? (size_t)bytes : SBX_COPY_SCRATCH_MIN;
        read_words(copy->scratch, copy->live + at, part / WORD);
        int error = write_scratch(copy, part, at);
        if (error != 0) {
            return error;
        }
        at += part;
        bytes -= part;
    }
    return 0;
}

/* Copies one chunk's records into *out, or leaves it FREE. Keeps C1. */
READS_LIVE_MEMORY static void copy_chunk(struct copy *copy, const struct sbx_chunk *chunk, struct sbx_chunk *out)
{
    uint64_t *words = (uint64_t *)(void *)out;
    size_t filled = 0;
    /* order: acquire chunk.state - the owner's base values and committed = 0; pairs with open_chunk() in ring_writer */
    uint64_t before = sbx_load_acquire(&chunk->state);
    if (sbx_chunk_is_readable(before)) {
        /* order: acquire chunk.committed - the bytes below it; pairs with append() of ring_writer.c */
        uint32_t committed = sbx_load_acquire(&chunk->committed);
        if (committed <= sizeof chunk->bytes) {
            filled = (offsetof(struct sbx_chunk, bytes) + committed + WORD - 1) / WORD;
            read_words(words, chunk, filled);
            /* order: acquire fence - the second look at the turn comes after the bytes; pairs with claim_chunk() */
            sbx_fence_acquire();
            if (out->base_ns < copy->since_ns) {
                filled = 0; /* begun before consent: later records in this chunk are lost with it */
            } else if (sbx_chunk_turn_of(sbx_load_relaxed(&chunk->state)) == sbx_chunk_turn_of(before)) {
                out->state = before;
                out->committed = committed;
                uint8_t *bytes = (uint8_t *)out;
                for (size_t i = offsetof(struct sbx_chunk, bytes) + committed; i < filled * WORD; i++) {
                    bytes[i] = 0;
                }
            } else {
                filled = 0;
                copy->torn_chunks++;
            }
        }
    }
    for (size_t i = filled; i < sizeof *out / WORD; i++) {
        words[i] = 0;
    }
}

static int copy_chunks(struct copy *copy, const struct sbx_recording_header *header)
{
    struct sbx_chunk *batch = (struct sbx_chunk *)(void *)copy->scratch;
    const uint32_t batch_max = SBX_COPY_SCRATCH_MIN / sizeof *batch;
    /* Chunks for which no ticket was drawn were never touched: skipping them keeps their pages unallocated. */
    uint64_t tickets = sbx_load_relaxed(&header->ring_ticket); /* relaxed: a chunk opened from now on may be missed */
    uint32_t used = tickets < copy->head->chunks.count ? (uint32_t)tickets : copy->head->chunks.count;
    for (uint32_t first = 0; first < used; first += batch_max) {
        uint32_t count = used - first < batch_max ? used - first : batch_max;
        uint64_t at = copy->head->chunks.at + (uint64_t)first * sizeof *batch;
        const struct sbx_chunk *chunks = (const struct sbx_chunk *)(const void *)(copy->live + at);
        for (uint32_t i = 0; i < count; i++) {
            copy_chunk(copy, &chunks[i], &batch[i]);
        }
        int error = write_scratch(copy, count * sizeof *batch, at);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* Copies the tasks, before the ring: a task that ends meanwhile is in the ring then (keeps C3). An entry that is reused
 * while it is read, or was queued before consent, is left out. */
READS_LIVE_MEMORY static int copy_tasks(const struct copy *copy)
{
    struct sbx_task_entry *batch = (struct sbx_task_entry *)(void *)copy->scratch;
    const uint32_t batch_max = SBX_COPY_SCRATCH_MIN / sizeof *batch;
    const struct sbx_section *section = &copy->head->tasks;
    for (uint32_t first = 0; first < section->count; first += batch_max) {
        uint32_t count = section->count - first < batch_max ? section->count - first : batch_max;
        uint64_t at = section->at + (uint64_t)first * sizeof *batch;
        const struct sbx_task_entry *entries = (const struct sbx_task_entry *)(const void *)(copy->live + at);
        for (uint32_t i = 0; i < count; i++) {
            /* order: acquire task.word - the fields are whole; pairs with sbx_task_publish() */
            uint64_t before = sbx_load_acquire(&entries[i].word);
            read_words((uint64_t *)(void *)&batch[i], &entries[i], sizeof *batch / WORD);
            sbx_fence_acquire(); /* order: acquire fence - the second look at the word comes after the fields */
            if (before != sbx_load_relaxed(&entries[i].word) || batch[i].queued_ns < copy->since_ns) {
                batch[i] = (struct sbx_task_entry){.word = 0};
            }
            batch[i].word = batch[i].queued_ns != 0 ? before : 0;
        }
        int error = write_scratch(copy, count * sizeof *batch, at);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static uint32_t count_threads(const struct copy *copy, const struct sbx_recording_header *header)
{
    /* order: acquire header.thread_count - the entries below it are begun; pairs with the thread registry */
    uint32_t count = sbx_load_acquire(&header->thread_count);
    return count < copy->head->threads.count ? count : copy->head->threads.count;
}

/* Copies a run that began at since_ns or later. Its sequence is odd when no consistent copy was possible. */
READS_LIVE_MEMORY static void copy_run(const struct sbx_repeat *run, uint64_t since_ns, struct sbx_repeat *out)
{
    static_assert(sizeof *run % WORD == 0, "runs are copied in words");
    for (int tries = 0; tries < RUN_TRIES; tries++) {
        /* order: acquire run.sequence - pairs with sbx_run_close(): the fields are whole, and the record of the run
         * before, which is written first, is in the ring (keeps C3) */
        uint32_t before = sbx_load_acquire(&run->sequence);
        read_words((uint64_t *)(void *)out, run, sizeof *run / WORD);
        sbx_fence_acquire(); /* order: acquire run.sequence - the second look comes after the fields */
        if (before % 2 == 0 && sbx_load_relaxed(&run->sequence) == before) {
            out->sequence = before;
            if (out->begin_ns < since_ns) {
                *out = (struct sbx_repeat){.sequence = before};
            }
            return;
        }
    }
    out->sequence |= 1;
}

/* Copies the runs of the present threads, before the ring (keeps C3). The rest of their entries is copied after the
 * ring, over what is written here. */
static int copy_runs(struct copy *copy, const struct sbx_recording_header *header)
{
    uint32_t thread_count = count_threads(copy, header);
    struct sbx_thread_entry *batch = (struct sbx_thread_entry *)(void *)copy->scratch;
    const uint32_t batch_max = SBX_COPY_SCRATCH_MIN / sizeof *batch;
    for (uint32_t first = 0; first < thread_count; first += batch_max) {
        uint32_t count = thread_count - first < batch_max ? thread_count - first : batch_max;
        uint64_t at = copy->head->threads.at + (uint64_t)first * sizeof *batch;
        const struct sbx_thread_entry *entries = (const struct sbx_thread_entry *)(const void *)(copy->live + at);
        for (uint32_t i = 0; i < count; i++) {
            batch[i] = (struct sbx_thread_entry){.state = SBX_THREAD_FREE};
            batch[i].run_tid = sbx_load_relaxed(&entries[i].tid); /* relaxed: only a name for former threads */
            /* order: acquire entry.generation - the runs that are read belong to this thread or to a later one */
            batch[i].run_generation = sbx_load_acquire(&entries[i].generation);
            uint64_t born_ns = sbx_load_relaxed(&entries[i].born_ns);
            copy_run(&entries[i].own, copy->since_ns, &batch[i].own);
            copy_run(&entries[i].observed, copy->since_ns, &batch[i].observed);
            sbx_fence_acquire(); /* order: acquire fence - the second look comes after the runs */
            if (sbx_load_relaxed(&entries[i].generation) != batch[i].run_generation ||
                sbx_load_relaxed(&entries[i].born_ns) != born_ns) {
                batch[i].own.sequence |= 1; /* reused meanwhile: the owner of the runs is unknown */
                batch[i].observed.sequence |= 1;
            }
        }
        int error = write_scratch(copy, count * sizeof *batch, at);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* Copies the thread entries up to their runs, each as one thread's: an entry that is given to another thread while it
 * is read is read again. */
static int copy_threads(struct copy *copy, const struct sbx_recording_header *header)
{
    enum {
        PART = offsetof(struct sbx_thread_entry, own)
    };
    static_assert(PART % WORD == 0 && offsetof(struct sbx_thread_entry, observed) > PART, "the runs come last");
    copy->thread_count = count_threads(copy, header);
    for (uint32_t i = 0; i < copy->thread_count; i++) {
        uint64_t at = copy->head->threads.at + (uint64_t)i * sizeof(struct sbx_thread_entry);
        const struct sbx_thread_entry *entry = (const struct sbx_thread_entry *)(const void *)(copy->live + at);
        uint32_t before, after;
        uint64_t born_ns;
        int tries = 0;
        do {
            /* order: acquire entry.generation - and the fence below: the entry read in between is one thread's */
            before = sbx_load_acquire(&entry->generation);
            born_ns = sbx_load_relaxed(&entry->born_ns); /* a thread may return to it: born_ns changes then */
            read_words(copy->scratch, entry, PART / WORD);
            /* order: acquire fence - the second look at the generation comes after the entry */
            sbx_fence_acquire();
            after = sbx_load_relaxed(&entry->generation);
        } while ((before != after || sbx_load_relaxed(&entry->born_ns) != born_ns) && ++tries < THREAD_TRIES);
        struct sbx_thread_entry *copied = (struct sbx_thread_entry *)(void *)copy->scratch;
        if (copied->last_record_ns < copy->since_ns) {
            copied->last_stack = SBX_STACK_NONE;
        }
        int error = sbx_file_write(copy->fd, at, copy->scratch, PART);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int copy_modules(struct copy *copy, const struct sbx_recording_header *header)
{
    /* order: acquire header.module_count - the entries below it are whole; pairs with the module list */
    uint32_t count = sbx_load_acquire(&header->module_count);
    copy->module_count = count < copy->head->modules.count ? count : copy->head->modules.count;
    return copy_words(copy, copy->head->modules.at, (uint64_t)copy->module_count * sizeof(struct sbx_module_entry));
}

/* Writes the header last (keeps C4), and with it the newest epoch: callstack ids are checked against it. */
static int write_header(const struct copy *copy, const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16],
                        uint64_t now_ns)
{
    struct sbx_recording_header *header = (struct sbx_recording_header *)(void *)copy->scratch;
    /* order: acquire header.provider_count - the entries below it are whole */
    const struct sbx_recording_header *live = (const struct sbx_recording_header *)(const void *)copy->live;
    uint32_t provider_count = sbx_load_acquire(&live->provider_count);
    read_words(copy->scratch, copy->live, sizeof *header / WORD);
    header->provider_count = provider_count;
    header->file_bytes = copy->head->file_bytes;
    header->modules = copy->head->modules;
    header->threads = copy->head->threads;
    header->frames = copy->head->frames;
    header->nodes = copy->head->nodes;
    header->ids = copy->head->ids;
    header->chunks = copy->head->chunks;
    header->watches = copy->head->watches;
    header->kinds = copy->head->kinds;
    header->tasks = copy->head->tasks;
    header->queues = copy->head->queues;
    header->state = SBX_STATE_SNAPSHOT;
    header->snapshot_ns = now_ns;
    header->trigger = trigger != NULL ? *trigger : (struct sbx_trigger_entry){.kind = SBX_TRIGGER_NONE};
    header->thread_count = copy->thread_count;
    header->module_count = copy->module_count;
    header->drops[SBX_DROP_TORN_CHUNK] += copy->torn_chunks;
    for (unsigned i = 0; i < sizeof header->snapshot_id; i++) {
        header->snapshot_id[i] = snapshot_id[i];
    }
    return sbx_file_write(copy->fd, 0, header, sizeof *header);
}

int sbx_snapshot_copy_bounded(const struct sbx_recording_header *live, uint64_t live_bytes, int out_fd,
                              const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16], uint64_t now_ns,
                              void *scratch, size_t scratch_bytes)
{
    static_assert(sizeof(struct sbx_recording_header) % WORD == 0, "the header is copied in words");
    static_assert(sizeof(struct sbx_module_entry) % WORD == 0, "module entries are copied in words");
    static_assert(sizeof(struct sbx_watch_entry) % WORD == 0, "watches are copied in words");
    static_assert(sizeof(struct sbx_kind_entry) % WORD == 0, "message kinds are copied in words");
    static_assert(sizeof(struct sbx_task_entry) % WORD == 0, "tasks are copied in words");
    static_assert(sizeof(struct sbx_queue_entry) % WORD == 0, "queues are copied in words");
    static_assert(sizeof(struct sbx_control_page) % WORD == 0, "the control page is copied in words");
    struct sbx_recording_header head;
    int error;
    if (scratch == NULL || scratch_bytes < SBX_COPY_SCRATCH_MIN || (uintptr_t)scratch % WORD != 0 ||
        (uintptr_t)live % WORD != 0 || live_bytes < SBX_CONTROL_AT + PAGE) {
        return -EINVAL;
    }
    read_words((uint64_t *)(void *)&head, live, sizeof head / WORD);
    if (sbx_recording_check(&head, live_bytes, &error) != NULL) {
        return error;
    }
    /* order: acquire header.consent - pairs with sbx_agent_set_consent() */
    uint64_t since_ns = sbx_load_acquire(&live->consent) == SBX_CONSENT_GRANTED ? live->consent_ns : UINT64_MAX;
    struct copy copy = {
        .live = (const uint8_t *)live, .head = &head, .fd = out_fd, .scratch = scratch, .since_ns = since_ns};
    long truncated;
    do {
        truncated = sbx_raw_ftruncate(out_fd, head.file_bytes);
    } while (truncated == -EINTR);
    if (truncated != 0) {
        return (int)truncated;
    }
    if (trigger != NULL && trigger->kind == SBX_TRIGGER_END) { /* the end of a stall needs nothing more */
        error = copy_modules(&copy, live);
        error = error == 0 ? copy_words(&copy, SBX_CONTROL_AT, sizeof(struct sbx_control_page)) : error;
        return error == 0 ? write_header(&copy, trigger, snapshot_id, now_ns) : error;
    }
    /* In the order from referring to referred-to data: keeps C2. Counts are read when their section is copied. */
    if ((error = copy_tasks(&copy)) != 0 || (error = copy_runs(&copy, live)) != 0 ||
        (error = copy_chunks(&copy, live)) != 0 || (error = copy_threads(&copy, live)) != 0 ||
        (error = copy_words(&copy, head.nodes.at, (uint64_t)head.nodes.count * WORD)) != 0 ||
        (error = copy_words(&copy, head.frames.at, (uint64_t)head.frames.count * WORD)) != 0 ||
        (error = copy_words(&copy, head.ids.at, (uint64_t)head.ids.count * WORD)) != 0 ||
        (error = copy_modules(&copy, live)) != 0 ||
        (error = copy_words(&copy, head.watches.at, (uint64_t)head.watches.count * sizeof(struct sbx_watch_entry))) !=
            0 ||
        (error = copy_words(&copy, head.kinds.at, (uint64_t)head.kinds.count * sizeof(struct sbx_kind_entry))) != 0 ||
        (error = copy_words(&copy, head.queues.at, (uint64_t)head.queues.count * sizeof(struct sbx_queue_entry))) !=
            0 ||
        (error = copy_words(&copy, SBX_CONTROL_AT, sizeof(struct sbx_control_page))) != 0) {
        return error;
    }
    return write_header(&copy, trigger, snapshot_id, now_ns);
}

int sbx_snapshot_copy(const struct sbx_recording_header *live, int out_fd, const struct sbx_trigger_entry *trigger,
                      const uint8_t snapshot_id[16], uint64_t now_ns, void *scratch, size_t scratch_bytes)
{
    return sbx_snapshot_copy_bounded(live, live->file_bytes, out_fd, trigger, snapshot_id, now_ns, scratch,
                                     scratch_bytes);
}
