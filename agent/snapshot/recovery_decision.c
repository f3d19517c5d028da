/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_decision.c - separates living from dead processes, and finds the dead ones with something to report. */
#include "recovery_decision.h"

#include <signal.h>
#include <string.h>

#include "stall_end.h"

bool sbx_signal_is_fatal(uint32_t number)
{
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGSYS:
    case SIGTRAP:
        return true;
    default:
        return false;
    }
}

static bool is_same_boot(const struct sbx_recording_header *header, const struct sbx_process_facts *facts)
{
    return memcmp(facts->boot_id, header->boot_id, sizeof facts->boot_id) == 0;
}

static bool is_same_process(const struct sbx_recording_header *header, const struct sbx_process_facts *facts)
{
    return facts->is_running && facts->start_ticks == header->process_start_ticks && is_same_boot(header, facts);
}

static bool is_foreign(const struct sbx_recording_header *header, const struct sbx_process_facts *facts)
{
    return header->pid_namespace != 0 && facts->pid_namespace != 0 && header->pid_namespace != facts->pid_namespace;
}

static bool has_let_go(const struct sbx_recording_header *header, const struct sbx_process_facts *facts)
{
    return header->owner_locked == 1 && facts->has_let_go;
}

static bool is_alive(const struct sbx_recording_header *header, const struct sbx_process_facts *facts)
{
    if (has_let_go(header, facts)) {
        return false;
    }
    /* If the process holds no lock, its pid means nothing outside its pid namespace, and a reboot ends every
     * namespace. */
    return is_foreign(header, facts) ? is_same_boot(header, facts) : is_same_process(header, facts);
}

/* Had the message of the note ended, so that it was reported as slow? The watch thread withdraws the note after the
 * snapshot. */
static bool has_ended(const struct sbx_recording_header *header)
{
    const struct sbx_pending *pending = &header->pending;
    return (pending->state == SBX_PENDING_FIRED || pending->state == SBX_PENDING_DURABLE) &&
           pending->trigger.kind == SBX_TRIGGER_SLOW_MESSAGE && pending->trigger.thread == header->note.thread &&
           pending->trigger.message == header->note.message;
}

enum sbx_recovery sbx_recovery_decide(const struct sbx_recording_header *header,
                                      const struct sbx_capture_settings *settings,
                                      const struct sbx_process_facts *facts)
{
    if (is_alive(header, facts)) {
        return SBX_RECOVERY_LIVE;
    }
    if (header->consent != SBX_CONSENT_GRANTED) {
        return SBX_RECOVERY_QUIET; /* nobody agreed to keep it */
    }
    if (header->state == SBX_STATE_CLEAN) {
        return SBX_RECOVERY_CLEAN;
    }
    if (header->state == SBX_STATE_PUBLISHED) {
        return SBX_RECOVERY_PUBLISHED;
    }
    /* The process that dropped the lock is still running: it called exec(), and nothing killed it. */
    bool became_another = has_let_go(header, facts) && !is_foreign(header, facts) && is_same_process(header, facts);
    if (header->state != SBX_STATE_LIVE || became_another) {
        return SBX_RECOVERY_QUIET;
    }
    bool has_crashed =
        sbx_signal_is_fatal(header->crash.signal) || sbx_signal_is_fatal(facts->signal) || facts->had_no_memory;
    if (has_crashed && settings->enabled != 0 && settings->crash != SBX_CRASH_OFF) {
        return SBX_RECOVERY_CRASHED;
    }
    if (header->note.open == 1 && !sbx_stall_was_told(header, &header->note) && !has_ended(header)) {
        return SBX_RECOVERY_KILLED;
    }
    return header->pending.state == SBX_PENDING_FIRED ? SBX_RECOVERY_FIRED : SBX_RECOVERY_QUIET;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t sbx_recovery_last_sign_ns(const struct sbx_recording_header *header)
{
    const struct sbx_thread_entry *threads =
        (const struct sbx_thread_entry *)(const void *)((const uint8_t *)header + header->threads.at);
    uint64_t last_ns = header->heartbeat_ns;
    for (uint32_t i = 0; i < header->thread_count && i < header->threads.count; i++) {
        uint64_t record_ns = threads[i].last_record_ns;
        last_ns = record_ns > last_ns ? record_ns : last_ns;
    }
    return last_ns;
}

/* The trigger that had fired, unchanged; recording went on after it until the process died. */
static struct sbx_trigger_entry overtaken(const struct sbx_recording_header *header, uint32_t signal,
                                          uint64_t last_sign_ns)
{
    struct sbx_trigger_entry trigger = header->pending.trigger;
    uint64_t after_ms = last_sign_ns > trigger.end_ns ? (last_sign_ns - trigger.end_ns) / 1000000u : 0;
    trigger.after_ms = trigger.after_ms < after_ms ? trigger.after_ms : (uint32_t)after_ms;
    trigger.signal = signal;
    return trigger;
}

struct sbx_trigger_entry sbx_recovery_trigger(const struct sbx_recording_header *header,
                                              const struct sbx_capture_settings *settings, enum sbx_recovery verdict,
                                              const struct sbx_process_facts *facts, uint64_t last_sign_ns)
{
    if (verdict == SBX_RECOVERY_FIRED) {
        return overtaken(header, facts->signal, last_sign_ns);
    }
    const struct sbx_crash *crash = &header->crash;
    bool has_crashed = verdict == SBX_RECOVERY_CRASHED, was_seen = has_crashed && sbx_signal_is_fatal(crash->signal);
    struct sbx_trigger_entry trigger = {
        .kind = has_crashed ? SBX_TRIGGER_CRASH : SBX_TRIGGER_KILLED,
        .thread = header->main_thread,
        .signal = was_seen ? crash->signal : facts->signal,
        .fault = was_seen               ? crash->fault
                 : facts->had_no_memory ? SBX_FAULT_NO_MEMORY
                                        : SBX_FAULT_UNKNOWN,
        .end_ns = was_seen ? crash->at_ns : last_sign_ns,
        .in_progress = !has_crashed,
        .scene = header->scene,
    };
    if (was_seen && crash->thread != UINT32_MAX) {
        trigger.thread = crash->thread;
    }
    if (header->note.open == 1 && (!has_crashed || header->note.thread == trigger.thread)) {
        trigger.thread = header->note.thread;
        trigger.begin_ns = header->note.begin_ns;
        trigger.message = header->note.message;
        trigger.message_kind = header->note.message_kind;
        trigger.scene = header->note.scene;
        trigger.threshold_ms = settings->note_ms;
        trigger.in_progress = 1;
    }
    trigger.end_ns = later_of(trigger.end_ns, trigger.begin_ns);
    trigger.begin_ns = trigger.begin_ns != 0 ? trigger.begin_ns : trigger.end_ns;
    return trigger;
}

void sbx_recovery_snapshot_id(const uint8_t session_id[16], uint8_t snapshot_id_out[16])
{
    static const uint8_t recovered[16] = {'k', 'i', 'l', 'l', 'e', 'd', ' ', 'i',
                                          'n', ' ', 'a', ' ', 's', 't', 'a', 'l'};
    for (unsigned i = 0; i < sizeof recovered; i++) {
        snapshot_id_out[i] = session_id[i] ^ recovered[i];
    }
}
