/* SPDX-License-Identifier: Apache-2.0 */
/* guest_merge.c - links to other processes, their threads, modules, stacks and records. */
#include "guest_merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES_MAX = SBX_HOLDERS_MAX + SBX_GUESTS_MAX * SBX_HOLDERS_MAX,
    DEPTH_MAX = 1024,
    ROUNDS_MAX = 4, /* chains of waits inside a guest are followed for so many steps */
};
#define LATE_NS       UINT64_C(1000000000)
#define SAME_BEGIN_NS UINT64_C(2000) /* the ring stores a begin with a limited resolution */

/* A thread of a guest that was alive when it was copied. */
struct living {
    uint32_t tid, index;
};

/* Translates indexes of one guest into indexes of the host. */
struct guest {
    const struct sbx_snapshot *from;
    uint32_t process;      /* its index in host->processes, + 1 */
    uint32_t *modules;     /* by guest module: the host's module */
    uint32_t *threads;     /* by guest thread: the host's thread; UINT32_MAX: not taken */
    struct living *living; /* by tid */
    uint32_t living_count;
    uint32_t *stacks;    /* ids that are taken, in ascending order */
    uint32_t *stack_ids; /* by index in `stacks`: the host's id */
    uint32_t stack_count;
    uint32_t functions_at; /* index in host->ids where its functions' ids begin */
};

/* ---- holders ---- */

static const struct sbx_snapshot *recording_of(struct sbx_snapshot *const *guests, uint32_t guest_count, uint32_t pid)
{
    for (uint32_t i = 0; i < guest_count; i++) {
        if (guests[i]->header.pid == pid) {
            return guests[i];
        }
    }
    return NULL;
}

static bool is_used(const struct sbx_holder_entry *holder, const struct sbx_snapshot *host)
{
    const struct sbx_trigger_entry *trigger = &host->header.trigger;
    return holder->kind > SBX_HOLDER_NONE && holder->kind < SBX_HOLDER_KINDS && holder->pid != 0 &&
           holder->pid != host->header.pid && (trigger->end_ns == 0 || holder->begin_ns <= trigger->end_ns) &&
           holder->seen_ns + LATE_NS >= trigger->begin_ns;
}

/* The tid that names the holder: its own, or its process's. */
static uint32_t tid_of(const struct sbx_holder_entry *holder)
{
    return holder->tid != 0 ? holder->tid : holder->pid;
}

static bool may_be_call(uint32_t kind, uint32_t holder_kind, uint32_t op)
{
    switch (holder_kind) {
    case SBX_HOLDER_MUTEX:
        return kind == SBX_RECORD_LOCK || kind == SBX_RECORD_BLOCKED;
    case SBX_HOLDER_FILE_LOCK:
        return op == SBX_OP_FLOCK || op == SBX_OP_FCNTL_LOCK || op == SBX_OP_LOCKF;
    case SBX_HOLDER_SEMAPHORE:
        return kind == SBX_RECORD_BLOCKED;
    case SBX_HOLDER_HANDS:
        return kind == SBX_RECORD_WAIT || kind == SBX_RECORD_COND || kind == SBX_RECORD_LOCK ||
               kind == SBX_RECORD_BLOCKED;
    default:
        return kind == SBX_RECORD_FILE || kind == SBX_RECORD_SOCKET || kind == SBX_RECORD_POLL ||
               kind == SBX_RECORD_BLOCKED;
    }
}

static bool is_of_wait(const struct sbx_record *record, const struct sbx_holder_entry *holder)
{
    if (record->thread != holder->thread || record->peer != 0 || !may_be_call(record->kind, holder->kind, record->op)) {
        return false;
    }
    if (record->kind == SBX_RECORD_BLOCKED) { /* a look at the thread in that call */
        uint64_t late_ns =
            holder->kind != SBX_HOLDER_HANDS ? LATE_NS : 0; /* other kinds may be found out after the wait */
        return record->begin_ns + SAME_BEGIN_NS >= holder->begin_ns && record->begin_ns <= holder->seen_ns + late_ns;
    }
    return record->begin_ns + SAME_BEGIN_NS >= holder->begin_ns && record->begin_ns <= holder->begin_ns + SAME_BEGIN_NS;
}

/* Writes the holders of what was waited for into the waits of a recording. */
static void name_holders(struct sbx_snapshot *snapshot)
{
    for (uint32_t i = 0; i < SBX_HOLDERS_MAX; i++) {
        const struct sbx_holder_entry *holder = &snapshot->header.holders[i];
        if (holder->kind == SBX_HOLDER_NONE || holder->kind >= SBX_HOLDER_KINDS ||
            holder->thread >= snapshot->header.thread_count) {
            continue;
        }
        for (size_t k = 0; k < snapshot->record_count; k++) {
            struct sbx_record *record = &snapshot->records[k];
            record->peer = is_of_wait(record, holder) ? tid_of(holder) : record->peer;
        }
        struct sbx_thread_entry *entry = &snapshot->threads[holder->thread].entry;
        if (entry->call_peer == 0 && entry->call_begin_ns == holder->begin_ns &&
            may_be_call(entry->call_kind, holder->kind, entry->call_op)) {
            entry->call_peer = tid_of(holder);
        }
    }
}

/* ---- processes ---- */

/* The index + 1 of a process, which is added if it is not known yet. 0: there is no room. */
static uint32_t put_process(struct sbx_snapshot *host, uint32_t pid, const struct sbx_snapshot *recording)
{
    for (uint32_t i = 0; i < host->process_count; i++) {
        if (host->processes[i].pid == pid) {
            return i + 1;
        }
    }
    if (host->process_count == PROCESSES_MAX) {
        return 0;
    }
    struct sbx_snapshot_process *process = &host->processes[host->process_count++];
    *process = (struct sbx_snapshot_process){.pid = pid};
    if (recording != NULL) {
        process->role = recording->header.family.role == SBX_ROLE_WORKER ? SBX_ROLE_WORKER : SBX_ROLE_MAIN;
        memcpy(process->session_id, recording->header.session_id, sizeof process->session_id);
    }
    return host->process_count;
}

/* ---- threads ---- */

static struct sbx_snapshot_thread *add_thread(struct sbx_snapshot *host)
{
    struct sbx_snapshot_thread *grown = reallocarray(host->threads, (size_t)host->thread_count + 1, sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    host->threads = grown;
    struct sbx_snapshot_thread *thread = &grown[host->thread_count++];
    *thread = (struct sbx_snapshot_thread){.index = UINT32_MAX};
    return thread;
}

static bool has_tid(const struct sbx_snapshot *host, uint32_t tid)
{
    for (uint32_t i = 0; i < host->thread_count; i++) {
        if (host->threads[i].entry.tid == tid && host->threads[i].entry.state == SBX_THREAD_LIVE) {
            return true;
        }
    }
    return false;
}

/* Adds a holder of which nothing was recorded. */
static int add_stranger(struct sbx_snapshot *host, uint32_t tid, uint32_t process)
{
    if (process == 0 || has_tid(host, tid)) {
        return 0;
    }
    struct sbx_snapshot_thread *thread = add_thread(host);
    if (thread == NULL) {
        return -ENOMEM;
    }
    thread->entry.state = SBX_THREAD_LIVE;
    thread->entry.tid = tid;
    thread->process = process;
    thread->leads_process = tid == host->processes[process - 1].pid;
    return 0;
}

static int compare_tids(const void *left, const void *right)
{
    const struct living *a = left, *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Lists a guest's living threads by tid, so that finding one is cheap even if a recording is damaged. */
static int list_living(struct guest *guest)
{
    const struct sbx_snapshot *from = guest->from;
    guest->living = malloc(((size_t)from->header.thread_count + 1) * sizeof *guest->living);
    if (guest->living == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < from->header.thread_count; i++) {
        const struct sbx_thread_entry *entry = &from->threads[i].entry;
        if (entry->tid != 0 && entry->state == SBX_THREAD_LIVE) {
            guest->living[guest->living_count++] = (struct living){.tid = entry->tid, .index = i};
        }
    }
    qsort(guest->living, guest->living_count, sizeof *guest->living, compare_tids);
    return 0;
}

static uint32_t find_thread(const struct guest *guest, uint32_t tid)
{
    const struct living wanted = {.tid = tid};
    const struct living *found = bsearch(&wanted, guest->living, guest->living_count, sizeof wanted, compare_tids);
    return found != NULL ? found->index : UINT32_MAX;
}

static int take_thread(struct sbx_snapshot *host, struct guest *guest, uint32_t index)
{
    const struct sbx_snapshot_thread *from = &guest->from->threads[index];
    if (guest->threads[index] != UINT32_MAX) {
        return 0;
    }
    struct sbx_snapshot_thread *thread = add_thread(host);
    if (thread == NULL) {
        return -ENOMEM;
    }
    *thread = *from;
    thread->index = UINT32_MAX;
    thread->process = guest->process;
    thread->leads_process =
        (from->entry.flags & SBX_THREAD_FLAG_MAIN) != 0 || from->entry.tid == guest->from->header.pid;
    thread->entry.flags &= ~(uint32_t)SBX_THREAD_FLAG_MAIN;
    guest->threads[index] = host->thread_count - 1;
    return 0;
}

/* Does the record belong to a thread that is taken? How work was passed on in another process is not followed. */
static bool is_taken(const struct guest *guest, const struct sbx_record *record)
{
    return guest->threads[record->thread] != UINT32_MAX && record->kind != SBX_RECORD_HOP &&
           record->kind != SBX_RECORD_TASK;
}

/* Takes the threads that are named by tid, and the threads of the same process that these wait for. */
static int take_threads(struct sbx_snapshot *host, struct guest *guest, uint32_t tid)
{
    const struct sbx_snapshot *from = guest->from;
    uint32_t index = find_thread(guest, tid);
    int error = index != UINT32_MAX ? take_thread(host, guest, index) : 0;
    bool is_more = true;
    for (uint32_t round = 0; is_more && round < ROUNDS_MAX && error == 0; round++) {
        uint32_t before = host->thread_count;
        for (size_t i = 0; i < from->record_count && error == 0; i++) {
            const struct sbx_record *record = &from->records[i];
            uint32_t peer =
                record->peer != 0 && is_taken(guest, record) ? find_thread(guest, record->peer) : UINT32_MAX;
            error = peer != UINT32_MAX ? take_thread(host, guest, peer) : 0;
        }
        for (uint32_t i = 0; i < from->header.thread_count && error == 0; i++) {
            uint32_t peer =
                guest->threads[i] != UINT32_MAX ? find_thread(guest, from->threads[i].entry.call_peer) : UINT32_MAX;
            error = peer != UINT32_MAX ? take_thread(host, guest, peer) : 0;
        }
        is_more = host->thread_count != before;
    }
    return error;
}

/* ---- modules, functions, frames ---- */

static bool is_same_module(const struct sbx_module_entry *one, const struct sbx_module_entry *other)
{
    return one->build_id_bytes == other->build_id_bytes &&
           memcmp(one->build_id, other->build_id, one->build_id_bytes) == 0 && strcmp(one->path, other->path) == 0;
}

static int map_modules(struct sbx_snapshot *host, struct guest *guest)
{
    const struct sbx_snapshot *from = guest->from;
    uint32_t known = host->module_count;
    struct sbx_module_entry *grown = reallocarray(host->modules, (size_t)known + from->module_count + 1, sizeof *grown);
    if (grown == NULL) {
        return -ENOMEM;
    }
    host->modules = grown;
    for (uint32_t i = 0; i < from->module_count; i++) {
        uint32_t at =
            i < known && is_same_module(&grown[i], &from->modules[i]) ? i : 0; /* an inherited module: same index */
        while (at < known && !is_same_module(&grown[at], &from->modules[i])) {
            at++;
        }
        if (at == known) {
            at = host->module_count;
            grown[host->module_count++] = from->modules[i];
        }
        guest->modules[i] = at;
    }
    host->header.module_count = host->module_count;
    return 0;
}

static int map_functions(struct sbx_snapshot *host, struct guest *guest)
{
    const struct sbx_snapshot *from = guest->from;
    guest->functions_at = host->id_count;
    if (from->header.provider_count == 0) {
        return 0;
    }
    uint64_t *grown = reallocarray(host->ids, (size_t)host->id_count + from->id_count + 1, sizeof *grown);
    if (grown == NULL) {
        return -ENOMEM;
    }
    host->ids = grown;
    memcpy(grown + host->id_count, from->ids, from->id_count * sizeof *grown);
    host->id_count += from->id_count;
    return 0;
}

/* The host's provider of the same name. Frames of a provider that the host does not have get no name. */
static uint32_t provider_of(const struct sbx_snapshot *host, const struct sbx_snapshot *guest, uint32_t provider)
{
    for (uint32_t i = 0; i < host->header.provider_count && provider < guest->header.provider_count; i++) {
        if (strcmp(host->header.providers[i].name, guest->header.providers[provider].name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static uint64_t word_of(const struct sbx_snapshot *host, const struct guest *guest, uint64_t word)
{
    uint32_t module = (uint32_t)(word >> SBX_FRAME_MODULE_SHIFT);
    if (sbx_is_logical(word)) {
        uint32_t provider = provider_of(host, guest->from, module - SBX_MODULE_LOGICAL);
        uint32_t function = sbx_logical_function(word);
        function = function != 0 ? function + guest->functions_at : 0;
        if (provider == UINT32_MAX || function >= UINT32_C(1) << 18) {
            return sbx_frame_word(SBX_MODULE_NONE, 0, 0);
        }
        uint64_t line = word & ((UINT64_C(1) << SBX_LOGICAL_LINE_BITS) - 1);
        return sbx_frame_word(SBX_MODULE_LOGICAL + provider, (uint64_t)function << SBX_LOGICAL_LINE_BITS | line, 0);
    }
    if (module < guest->from->module_count) {
        return (word & (SBX_FRAME_OFFSET_MASK | SBX_FRAME_EXACT)) | (uint64_t)guest->modules[module]
                                                                        << SBX_FRAME_MODULE_SHIFT;
    }
    return module >= SBX_MODULE_CUT ? word : sbx_frame_word(SBX_MODULE_NONE, 0, 0);
}

/* ---- stacks ---- */

static bool has_frames(uint32_t stack)
{
    return stack != SBX_STACK_NONE && stack != SBX_STACK_OVERFLOW;
}

static int compare_stacks(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Was the thread's newest stack taken in its current call? While a recorder rests, it does not look at threads that go
 * to sleep, and a look that was asked for may not have happened (guest_look.h). Then an older stack says nothing about
 * the call. */
static bool is_stack_of_call(const struct sbx_thread_entry *entry)
{
    const struct sbx_repeat *looks = &entry->observed;
    bool is_its = entry->run_generation == 0 || entry->run_generation == entry->generation;
    uint64_t looked_ns = is_its && looks->stack != SBX_STACK_NONE && looks->sequence % 2 == 0 ? looks->end_ns : 0;
    uint64_t newest_ns = looked_ns > entry->last_record_ns ? looked_ns : entry->last_record_ns;
    return entry->call_kind == SBX_RECORD_NONE || newest_ns > entry->call_begin_ns;
}

static int collect_stacks(struct guest *guest)
{
    const struct sbx_snapshot *from = guest->from;
    guest->stacks = malloc((from->record_count + from->thread_count + 1) * sizeof *guest->stacks);
    if (guest->stacks == NULL) {
        return -ENOMEM;
    }
    uint32_t count = 0;
    for (size_t i = 0; i < from->record_count; i++) {
        if (is_taken(guest, &from->records[i]) && has_frames(from->records[i].stack)) {
            guest->stacks[count++] = from->records[i].stack;
        }
    }
    for (uint32_t i = 0; i < from->thread_count; i++) {
        if (guest->threads[i] != UINT32_MAX && has_frames(from->threads[i].entry.last_stack)) {
            guest->stacks[count++] = from->threads[i].entry.last_stack;
        }
    }
    qsort(guest->stacks, count, sizeof *guest->stacks, compare_stacks);
    for (uint32_t i = 0; i < count; i++) {
        if (guest->stack_count == 0 || guest->stacks[guest->stack_count - 1] != guest->stacks[i]) {
            guest->stacks[guest->stack_count++] = guest->stacks[i];
        }
    }
    return 0;
}

static int take_stacks(struct sbx_snapshot *host, struct guest *guest)
{
    uint64_t frames[DEPTH_MAX];
    int error = collect_stacks(guest);
    if (error != 0) {
        return error;
    }
    guest->stack_ids = calloc((size_t)guest->stack_count + 1, sizeof *guest->stack_ids);
    struct sbx_snapshot_guest_stack *stacks =
        reallocarray(host->guest_stacks, (size_t)host->guest_stack_count + guest->stack_count + 1, sizeof *stacks);
    host->guest_stacks = stacks != NULL ? stacks : host->guest_stacks;
    if (guest->stack_ids == NULL || stacks == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < guest->stack_count; i++) {
        size_t count = sbx_snapshot_stack(guest->from, guest->stacks[i], frames, DEPTH_MAX);
        count = count < DEPTH_MAX ? count : DEPTH_MAX;
        if (count == 0 || host->guest_word_count + count > SBX_GUEST_WORDS_MAX) {
            continue;
        }
        uint64_t *words = reallocarray(host->guest_words, host->guest_word_count + count, sizeof *words);
        if (words == NULL) {
            return -ENOMEM;
        }
        host->guest_words = words;
        for (size_t k = 0; k < count; k++) {
            words[host->guest_word_count + k] = word_of(host, guest, frames[k]);
        }
        guest->stack_ids[i] = SBX_GUEST_STACK_FIRST + host->guest_stack_count;
        stacks[host->guest_stack_count++] =
            (struct sbx_snapshot_guest_stack){.at = host->guest_word_count, .count = (uint32_t)count};
        host->guest_word_count += count;
    }
    return 0;
}

static uint32_t stack_of(const struct guest *guest, uint32_t stack)
{
    if (!has_frames(stack)) {
        return stack;
    }
    const uint32_t *at = bsearch(&stack, guest->stacks, guest->stack_count, sizeof stack, compare_stacks);
    return at != NULL ? guest->stack_ids[at - guest->stacks] : SBX_STACK_NONE;
}

/* ---- records ---- */

/* Does a thread of the host wait for this object? Then both processes know it by the same address. */
static bool is_shared(const struct sbx_snapshot *host, uint64_t object)
{
    for (uint32_t i = 0; i < SBX_HOLDERS_MAX && object != 0; i++) {
        const struct sbx_holder_entry *holder = &host->header.holders[i];
        if ((holder->kind == SBX_HOLDER_MUTEX || holder->kind == SBX_HOLDER_HANDS) && holder->object == object) {
            return true;
        }
    }
    return false;
}

static uint64_t object_of(const struct sbx_snapshot *host, const struct guest *guest, uint64_t object)
{
    return object == 0 || is_shared(host, object) ? object : object ^ (uint64_t)guest->process << 56;
}

/* Merges the records of both by their ends; both are sorted, and so is the result. */
static int take_records(struct sbx_snapshot *host, struct guest *guest)
{
    const struct sbx_snapshot *from = guest->from;
    size_t count = 0;
    for (size_t i = 0; i < from->record_count; i++) {
        count += is_taken(guest, &from->records[i]);
    }
    struct sbx_record *merged = malloc((host->record_count + count + 1) * sizeof *merged);
    if (merged == NULL) {
        return -ENOMEM;
    }
    size_t at = 0, next = 0;
    for (size_t i = 0; i < from->record_count; i++) {
        struct sbx_record record = from->records[i];
        if (!is_taken(guest, &record)) {
            continue;
        }
        record.thread = guest->threads[record.thread];
        record.stack = stack_of(guest, record.stack);
        record.object = object_of(host, guest, record.object);
        record.wait = 0; /* such numbers are valid in their own process only */
        while (next < host->record_count && host->records[next].end_ns <= record.end_ns) {
            merged[at++] = host->records[next++];
        }
        merged[at++] = record;
    }
    while (next < host->record_count) {
        merged[at++] = host->records[next++];
    }
    free(host->records);
    host->records = merged;
    host->record_count = at;
    return 0;
}

static void settle_threads(struct sbx_snapshot *host, const struct guest *guest)
{
    for (uint32_t i = 0; i < guest->from->thread_count; i++) {
        if (guest->threads[i] != UINT32_MAX) {
            struct sbx_thread_entry *entry = &host->threads[guest->threads[i]].entry;
            entry->last_stack = is_stack_of_call(entry) ? stack_of(guest, entry->last_stack) : SBX_STACK_NONE;
            entry->call_object = object_of(host, guest, entry->call_object);
            entry->call_wait = 0;
        }
    }
}

/* ---- the whole ---- */

static void finish(struct guest *guest)
{
    free(guest->modules);
    free(guest->threads);
    free(guest->living);
    free(guest->stacks);
    free(guest->stack_ids);
}

/* Takes the threads of a guest that are waited for by threads of the host, or of guests that were merged before. */
static int merge(struct sbx_snapshot *host, struct sbx_snapshot *const *guests, uint32_t guest_count,
                 const struct sbx_snapshot *from)
{
    struct guest guest = {.from = from};
    guest.process = put_process(host, from->header.pid, from);
    guest.modules = calloc((size_t)from->module_count + 1, sizeof *guest.modules);
    guest.threads = malloc(((size_t)from->thread_count + 1) * sizeof *guest.threads);
    int error = guest.modules == NULL || guest.threads == NULL ? -ENOMEM : list_living(&guest);
    for (uint32_t i = 0; i < from->thread_count && error == 0; i++) {
        guest.threads[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i <= guest_count && error == 0 && guest.process != 0; i++) {
        const struct sbx_snapshot *waiting = i < guest_count ? guests[i] : host;
        for (uint32_t k = 0; k < SBX_HOLDERS_MAX && error == 0; k++) {
            const struct sbx_holder_entry *holder = &waiting->header.holders[k];
            if (is_used(holder, host) && holder->pid == from->header.pid) {
                error = take_threads(host, &guest, tid_of(holder));
            }
        }
    }
    error = error == 0 ? map_modules(host, &guest) : error;
    error = error == 0 ? map_functions(host, &guest) : error;
    error = error == 0 ? take_stacks(host, &guest) : error;
    error = error == 0 ? take_records(host, &guest) : error;
    if (error == 0) {
        settle_threads(host, &guest);
    }
    finish(&guest);
    return error;
}

int sbx_guests_merge(struct sbx_snapshot *host, struct sbx_snapshot *const *guests, uint32_t guest_count)
{
    int error = 0;
    host->processes = calloc(PROCESSES_MAX, sizeof *host->processes);
    if (host->processes == NULL) {
        return -ENOMEM;
    }
    name_holders(host);
    for (uint32_t i = 0; i < guest_count; i++) {
        name_holders(guests[i]);
    }
    for (uint32_t i = 0; i < guest_count && error == 0; i++) {
        bool is_twice = recording_of(guests, i, guests[i]->header.pid) != NULL;
        error = is_twice || guests[i]->header.pid == host->header.pid ? 0 : merge(host, guests, guest_count, guests[i]);
    }
    for (uint32_t i = 0; i <= guest_count && error == 0; i++) {
        const struct sbx_snapshot *waiting = i < guest_count ? guests[i] : host;
        for (uint32_t k = 0; k < SBX_HOLDERS_MAX && error == 0; k++) {
            const struct sbx_holder_entry *holder = &waiting->header.holders[k];
            bool is_stranger = is_used(holder, host) && recording_of(guests, guest_count, holder->pid) == NULL;
            error = is_stranger ? add_stranger(host, tid_of(holder), put_process(host, holder->pid, NULL)) : 0;
        }
    }
    return error;
}
