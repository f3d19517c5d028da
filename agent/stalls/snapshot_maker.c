/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_maker.c - from a trigger to a durable file in the spool. */
#include "snapshot_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attendance.h"
#include "clock.h"
#include "family.h"
#include "guest_copy.h"
#include "guest_look.h"
#include "guest_recording.h"
#include "handover.h"
#include "outside_holders.h"
#include "pages.h"
#include "raw_snapshot.h"
#include "sampler.h"
#include "snapshot_copy.h"
#include "stall_end.h"
#include "temporary_file.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "told_stalls.h"
#include "trigger_decision.h"

enum {
    SCRATCH_BYTES = 256 * 1024, /* bounce buffer of the snapshot copy */
    LAST_OF_TWO_MS = 50,        /* how long a trigger waits for the companion to finish an earlier snapshot */
};

static struct {
    void *scratch;
    uint64_t last_ns[SBX_TRIGGER_KINDS];   /* when the newest of each kind was made */
    uint64_t busy_ns;                      /* spent in writing them */
    uint32_t answered_request;             /* the control page's snapshot_request that was answered last */
    bool is_pending;                       /* a trigger has fired and recording goes on for a while */
    bool is_handed_over;                   /* it is pending because the companion is making it */
    int own_result;                        /* our own error, the reason for that */
    uint64_t due_ns;                       /* when the copy is due */
    struct sbx_trigger_entry trigger;      /* of the pending snapshot */
    uint8_t id[16];                        /* of the pending snapshot */
    bool answers_application, answers_ctl; /* the callers that wait for it */
    uint32_t application_ticket, ctl_request;
} maker;

bool sbx_snapshot_maker_start(void)
{
    memset(&maker, 0, sizeof maker);
    maker.scratch = sbx_pages_map_not_for_children(SCRATCH_BYTES);
    maker.answered_request = sbx_the_capture.control->snapshot_request;
    return maker.scratch != NULL;
}

static void make_id(uint8_t id[16])
{
    if (getrandom(id, 16, GRND_NONBLOCK) != 16) {
        uint64_t now_ns = sbx_now_ns();
        memcpy(id, sbx_the_capture.header->session_id,
               8); /* forbidden, or early boot: session and time are unique as well */
        memcpy(id + 8, &now_ns, 8);
    }
}

/* A snapshot that is not announced in the recording: a request by hand ends with the process, and the end of a stall is
 * in the table of reported stalls. */
static bool is_unannounced(void)
{
    return maker.trigger.kind == SBX_TRIGGER_MANUAL || maker.trigger.kind == SBX_TRIGGER_END;
}

static void set_pending(enum sbx_pending_state state)
{
    /* order: release pending.state - a reader after a kill finds whole fields only */
    sbx_store_release(&sbx_the_capture.header->pending.state, (uint32_t)state);
}

/* Announces in the recording that a trigger has fired, for a recoverer (docs/DEATH.md). */
static void announce(void)
{
    struct sbx_pending *pending = &sbx_the_capture.header->pending;
    if (is_unannounced()) {
        return;
    }
    set_pending(SBX_PENDING_NONE);
    pending->trigger = maker.trigger;
    memcpy(pending->snapshot_id, maker.id, sizeof pending->snapshot_id);
    set_pending(SBX_PENDING_FIRED);
}

/* Opens the folder of recordings if a process is named that held something during the trigger. A descriptor, or -1:
 * also when we may not read it. */
static int open_guests(const struct sbx_trigger_entry *trigger)
{
    char path[SBX_RECORDING_PATH_MAX];
    struct sbx_guests_wanted wanted = {.count = 0};
    sbx_guests_want(&wanted, sbx_the_capture.header, trigger, sbx_the_capture.header->pid);
    memcpy(path, sbx_the_agent.recording.path, sizeof path);
    char *slash = strrchr(path, '/');
    if (wanted.count == 0 || slash == NULL) {
        return -1;
    }
    *slash = '\0';
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Asks the recorders of holders that rest to look at their threads, while this one does the same. */
static void call_guests(const struct sbx_trigger_entry *trigger)
{
    int folder = open_guests(trigger);
    if (folder >= 0) {
        sbx_guests_call(sbx_the_capture.header, sbx_the_capture.control->handover.key, trigger, folder);
        close(folder);
    }
}

/* Adds the recordings of other processes that held what a thread waited for, behind the snapshot. An incomplete one
 * stays behind the snapshot, but is not listed in its header. */
static void add_guests(const struct sbx_trigger_entry *trigger, int file)
{
    int folder = open_guests(trigger);
    if (folder >= 0) {
        (void)sbx_guests_copy(sbx_the_capture.header, sbx_the_capture.control->handover.key, trigger, folder, file,
                              maker.scratch, SCRATCH_BYTES);
        close(folder);
    }
}

static int write_snapshot(const struct sbx_trigger_entry *trigger, const uint8_t id[16], uint64_t now_ns)
{
    char name[SBX_RAW_NAME_BYTES], temporary[SBX_TEMPORARY_NAME_BYTES];
    if (!sbx_root_is_unchanged()) {
        return -EXDEV; /* the spool's path means another folder now */
    }
    int folder = sbx_raw_folder_open(sbx_the_capture.header->spool_path);
    if (folder < 0) {
        return folder;
    }
    sbx_raw_name_print(id, name);
    int result = 0, file = sbx_temporary_create(folder, name, temporary);
    if (file < 0) {
        result = file;
        goto close_folder;
    }
    result = sbx_snapshot_copy(sbx_the_capture.header, file, trigger, id, now_ns, maker.scratch, SCRATCH_BYTES);
    if (result == 0) {
        add_guests(trigger, file);
    }
    if (result == 0 && fsync(file) != 0) {
        result = -errno;
    }
    if (close(file) != 0 && result == 0) {
        result = -errno;
    }
    if (result == 0 && !is_unannounced()) {
        set_pending(SBX_PENDING_DURABLE);
    }
    if (result == 0 && renameat(folder, temporary, folder, name) != 0) {
        result = -errno;
    }
    if (result == 0 && fsync(folder) != 0) {
        result = -errno;
    }
    if (result != 0) {
        unlinkat(folder, temporary, 0);
    }
close_folder:
    close(folder);
    return result;
}

static void answer_ctl(uint32_t request, int result)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    control->snapshot_result = (uint32_t)-result;
    sbx_store_release(&control->snapshot_answer, request); /* order: release control.snapshot_answer */
    syscall(SYS_futex, &control->snapshot_answer, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void answer_application(uint32_t ticket, int result)
{
    sbx_the_agent.snapshot_result = result;
    sbx_store_release(&sbx_the_agent.snapshot_done, ticket); /* order: release agent.snapshot_done */
    syscall(SYS_futex, &sbx_the_agent.snapshot_done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool has_consent(void)
{
    /* order: acquire header.consent - consent_ns belongs to this answer */
    return sbx_load_acquire(&sbx_the_capture.header->consent) == SBX_CONSENT_GRANTED;
}

/* The snapshot is durable under this id. If it is about a stall that goes on, the end of the stall is awaited from now
 * on. */
static void keep_in_mind(void)
{
    /* The companion makes its own ids, because it trusts none of ours. */
    sbx_told_begin(&maker.trigger, maker.is_handed_over ? sbx_the_capture.control->handover.snapshot_id : maker.id);
}

/* The pending snapshot has this result: count it, and answer the waiting callers. */
static int conclude(int result)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    bool is_end = maker.trigger.kind == SBX_TRIGGER_END;
    if (is_end) {
        sbx_told_settle(&maker.trigger);
    } else if (result == 0) {
        keep_in_mind(); /* before it is not pending any more: so after our death a recoverer finds one of the two */
    }
    set_pending(SBX_PENDING_NONE); /* the file has its name, or the snapshot was dropped and counted */
    if (is_end) {
        header->last_error = result != 0 && result != -ENOKEY ? (uint32_t)-result : header->last_error;
        if (result != 0) {
            sbx_count_drop(result == -ENOKEY ? SBX_DROP_NO_CONSENT : SBX_DROP_STALL_END);
        }
    } else if (result == 0) {
        maker.last_ns[maker.trigger.kind] = maker.trigger.end_ns;
        header->snapshots_made++;
        if (!maker.is_handed_over) { /* otherwise it has an id of the companion, which has reported it */
            sbx_attendance_made(maker.id);
        }
    } else if (result == -ENOKEY) {
        sbx_count_drop(SBX_DROP_NO_CONSENT);
    } else {
        header->last_error = (uint32_t)-result;
        sbx_count_drop(SBX_DROP_SNAPSHOT_FAILED);
    }
    if (!is_end) { /* these values belong to that stall: the next trigger may be a crash */
        header->family.stalled_beside = 0;
        header->family.moment = 0;
    }
    maker.is_pending = maker.is_handed_over = false;
    sbx_store_release(&sbx_the_agent.snapshot_active, 0); /* order: release snapshot_active */
    syscall(SYS_futex, &sbx_the_agent.snapshot_active, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    if (maker.answers_application) {
        answer_application(maker.application_ticket, result);
    }
    if (maker.answers_ctl) {
        answer_ctl(maker.ctl_request, result);
    }
    maker.answers_application = maker.answers_ctl = false;
    return result;
}

/* Copies the pending snapshot and makes it durable, or hands it to the companion. It is handed over whatever the error
 * is, because the companion may have the right, the descriptor or the root that we lack; if not, the companion reports
 * it when the program has ended. Returns 0 also when the snapshot was handed over; then it is still pending. */
static int finish(void)
{
    if (!has_consent()) { /* consent may have been withdrawn since */
        return conclude(-ENOKEY);
    }
    uint64_t begin_ns = sbx_now_ns();
    int result = write_snapshot(&maker.trigger, maker.id, begin_ns);
    maker.busy_ns += sbx_now_ns() - begin_ns;
    if (result != 0 && sbx_handover_begin(&maker.trigger, (uint32_t)-result, sbx_now_ns())) {
        if (!is_unannounced()) {
            set_pending(SBX_PENDING_FIRED); /* the snapshot is not durable after all */
        }
        maker.is_handed_over = true;
        maker.own_result = result;
        return 0;
    }
    return conclude(result);
}

/* Takes the companion's result. False: it is still making the snapshot. */
static bool settle_handover(void)
{
    int result;
    if (!sbx_handover_is_over(sbx_now_ns(), &result)) {
        return false;
    }
    conclude(result == -ETIME ? maker.own_result : result);
    return true;
}

/* May a snapshot be made at all? Counts the reason if not. */
static int ask_leave(uint32_t kind, uint32_t min_gap_ms, uint64_t now_ns)
{
    if (!has_consent()) {
        sbx_count_drop(SBX_DROP_NO_CONSENT);
        return -ENOKEY;
    }
    if (maker.is_handed_over && !settle_handover()) { /* two of one moment; our own snapshots are finished by now */
        sbx_handover_wait(LAST_OF_TWO_MS);
        (void)settle_handover();
    }
    if (maker.is_pending) {
        sbx_count_drop(SBX_DROP_SNAPSHOT_BUSY);
        return -EBUSY;
    }
    if (!sbx_snapshot_is_allowed(now_ns, maker.last_ns[kind], min_gap_ms)) {
        sbx_count_drop(SBX_DROP_SNAPSHOT_RATE);
        return -EAGAIN;
    }
    return 0;
}

/* The samples at the time of the trigger are taken now, even if the copy is made later. */
static int begin(const struct sbx_trigger_entry *trigger, uint32_t after_ms, uint64_t now_ns)
{
    maker.trigger = *trigger;
    maker.trigger.after_ms = after_ms;
    maker.trigger.scene = sbx_load_relaxed(&sbx_the_agent.scene);
    maker.due_ns = now_ns + (uint64_t)after_ms * 1000000u;
    maker.is_pending = true;
    make_id(maker.id);
    announce();
    sbx_store_release(&sbx_the_agent.snapshot_active, 1); /* order: release snapshot_active - an exit waits for it */
    call_guests(&maker.trigger);
    sbx_sampler_capture_all(now_ns);
    sbx_outside_holders_look(now_ns, true);
    return after_ms == 0 ? finish() : 0;
}

int sbx_snapshot_maker_fire(const struct sbx_trigger_entry *trigger, const struct sbx_capture_settings *settings,
                            uint64_t now_ns)
{
    struct sbx_family_entry *family = &sbx_the_capture.header->family;
    uint64_t moment = 0;
    uint8_t random[16];
    make_id(random);
    memcpy(&moment, random, sizeof moment);
    moment = family->role != SBX_ROLE_NONE ? moment >> 24 | 1 : 0; /* 40 bits: no number in a payload has more */
    family->stalled_beside =
        sbx_family_note_stall(sbx_the_capture.header->pid, trigger->begin_ns, trigger->end_ns, &moment);
    family->moment = moment;
    int result = ask_leave(trigger->kind, settings->min_gap_ms, now_ns);
    if (result == 0 && family->role == SBX_ROLE_WORKER && !sbx_family_may_tell(sbx_the_capture.header->pid, now_ns)) {
        sbx_count_drop(SBX_DROP_SNAPSHOT_RATE);
        result = -EAGAIN;
    }
    if (result == -EBUSY || result == -EAGAIN) {
        sbx_attendance_left_out();
    }
    return result != 0 ? result : begin(trigger, settings->after_ms, now_ns);
}

int sbx_snapshot_maker_end(const struct sbx_trigger_entry *trigger)
{
    if (maker.is_handed_over) {
        (void)settle_handover();
    }
    if (maker.is_pending) {
        return -EBUSY;
    }
    maker.trigger = *trigger;
    maker.is_pending = true;
    sbx_stall_end_id(trigger->first_id, maker.id);
    sbx_store_release(&sbx_the_agent.snapshot_active, 1); /* order: release snapshot_active - an exit waits for it */
    return finish();
}

/* The message that the main thread is in, or none. */
static struct sbx_trigger_entry manual_trigger(uint64_t now_ns)
{
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_MANUAL, .begin_ns = now_ns, .end_ns = now_ns};
    const struct sbx_thread *thread = sbx_thread_main();
    if (thread != NULL) {
        uint64_t begin_ns = sbx_load_acquire(&thread->entry->message_begin_ns); /* order: acquire message_begin_ns */
        trigger.thread = thread->index;
        if (begin_ns != 0 && begin_ns < now_ns) {
            trigger.begin_ns = begin_ns;
            trigger.message = thread->entry->message;
            trigger.in_progress = 1;
        }
    }
    return trigger;
}

/* Begins a snapshot that was requested by hand. A pending one is made at once, so that no caller waits for the after_ms
 * of another. */
static int begin_manual(uint32_t after_ms, uint32_t min_gap_ms, uint64_t now_ns)
{
    if (maker.is_pending && !maker.is_handed_over) {
        finish();
    }
    struct sbx_trigger_entry trigger = manual_trigger(now_ns);
    int result = ask_leave(SBX_TRIGGER_MANUAL, min_gap_ms, now_ns);
    return result != 0 ? result : begin(&trigger, after_ms, now_ns);
}

void sbx_snapshot_maker_refuse(int result)
{
    uint32_t request =
        sbx_load_acquire(&sbx_the_capture.control->snapshot_request);   /* order: acquire control.snapshot_request */
    uint32_t wanted = sbx_load_acquire(&sbx_the_agent.snapshot_wanted); /* order: acquire agent.snapshot_wanted */
    if (request != maker.answered_request) {
        maker.answered_request = request;
        answer_ctl(request, result);
    }
    if (wanted != sbx_load_relaxed(&sbx_the_agent.snapshot_done)) { /* relaxed: written by this thread only */
        answer_application(wanted, result);
    }
}

void sbx_snapshot_maker_step(const struct sbx_capture_settings *settings, uint64_t now_ns)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    if (!sbx_ring_is_open(&sbx_the_capture.ring)) {
        return; /* earlier requests wait: the module thread rings the bell */
    }
    if (maker.is_handed_over && !settle_handover()) {
        return; /* other requests wait so long */
    }
    if (maker.is_pending && now_ns >= sbx_snapshot_maker_due_ns()) {
        finish();
        if (maker.is_handed_over) {
            return;
        }
    }
    uint32_t request = sbx_load_acquire(&control->snapshot_request); /* order: acquire control.snapshot_request */
    if (request != maker.answered_request) {
        maker.answered_request = request;
        int result = begin_manual(0, settings->min_gap_ms, now_ns);
        if (result == 0 && maker.is_pending) {
            maker.answers_ctl = true;
            maker.ctl_request = request;
            return;
        }
        answer_ctl(request, result);
    }
    uint32_t wanted = sbx_load_acquire(&sbx_the_agent.snapshot_wanted); /* order: acquire agent.snapshot_wanted */
    bool is_new = wanted != sbx_load_relaxed(&sbx_the_agent.snapshot_done) &&
                  !(maker.is_pending && maker.answers_application && maker.application_ticket == wanted);
    if (is_new) {
        uint32_t after_ms = sbx_load_relaxed(&sbx_the_agent.snapshot_after_ms);
        int result = begin_manual(after_ms, settings->min_gap_ms, now_ns);
        if (result == 0 && maker.is_pending) {
            maker.answers_application = true;
            maker.application_ticket = wanted;
        } else {
            answer_application(wanted, result);
        }
    }
}

bool sbx_snapshot_maker_is_busy(void)
{
    return maker.is_pending;
}

uint64_t sbx_snapshot_maker_busy_ns(void)
{
    return maker.busy_ns;
}

uint64_t sbx_snapshot_maker_due_ns(void)
{
    if (!maker.is_pending) {
        return UINT64_MAX;
    }
    if (maker.is_handed_over) {
        return sbx_handover_due_ns();
    }
    /* order: acquire agent.hurry - an exit does not wait for the time after the trigger */
    return sbx_load_acquire(&sbx_the_agent.hurry) != 0 ? 0 : maker.due_ns;
}
