/* SPDX-License-Identifier: Apache-2.0 */
/* crash_signals.c - installs the crash handler where the program has no use for the signal, and never over another
 * handler.
 *
 * This library runs in processes that were not written for it. They install their handlers at their start, and some of
 * them look at what was there before. A Java machine calls a handler that it finds before its own report. CRuby leaves
 * a handler that it finds in place. Go hands faults of C code on to it and prints no trace. Our handler would change
 * the behaviour of all of these.
 *
 * So for the first second our handler is in but hidden. A caller of sigaction() gets the default action
 * (points/point_signal.c), and a handler that it installs replaces ours. A crash in that second still has its stack. Go
 * asks the kernel directly. So in a program with Go, and where sigaction() could not be hooked yet, our handler goes in
 * only after that second, if the action is still the default one. */
#include "crash_signals.h"

#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "process_state.h"
#include "the_capture.h"
#include "crash_handler.h"
#include "loader_visit.h"

/* The time from the start of a Java machine to its handlers is some 100 ms; in programs with plug-ins it is a
 * second. */
#define SETTLE_NS UINT64_C(1000000000)
/* How often to check whether the host has replaced our handlers: only for `stallbox ctl`. */
#define LOOK_EVERY_NS UINT64_C(5000000000)
/* A process that still ticks this long after its fatal signal has survived the signal. */
#define SURVIVED_NS UINT64_C(2000000000)

/* How long our threads keep still after a one-shot handler of the host has been called. */
#define ENDING_NS UINT64_C(30000000000)

/* Signals that end a process with a core dump and are faults of the program. Not SIGQUIT and the signals of limits,
 * which come from outside. */
static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

/* Run-times that call the handler they find, take its return for "dealt with", and then write no report of their own.
 * Their modules are loaded before their handlers are installed, even when a busy machine starts them slowly. */
static const char *const run_times[] = {"libjli.so", "libjvm.so", "libcoreclr.so", "libmonosgen-2.0.so"};

static struct {
    bool is_settled;  /* the program's own handlers are in: ours may be seen */
    bool must_settle; /* the program asks the kernel past our hooks: our handler waits until it has settled */
    uint64_t started_ns, looked_ns;
    uint32_t modules_seen; /* modules checked so far: none of them is a run-time, unless is_hosting */
    bool is_hosting;       /* one is a run-time: it has these signals for itself */
    uint32_t once;         /* 1 << number for each signal with a one-shot handler of the host (SA_RESETHAND) */
    uint64_t learned_ns;   /* when `once` was last updated */
    uint64_t ending_ns;    /* since when the process seems to be ending; 0: it is not ending */
    bool are_in;           /* our handlers have been put in; header.crash_signals has those still in */
} state;
SBX_OF_ONE_PROCESS(state);

static bool is_ours(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
           now.sa_sigaction == sbx_on_fatal_signal;
}

/* Returns whether the action is ours now. Another thread may install a handler of the host between the look and the
 * exchange. The exchange then returns that handler, and it is put back. */
static bool install(int number)
{
    struct sigaction before, ours = {.sa_sigaction = sbx_on_fatal_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaction(number, NULL, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) {
        return false;
    }
    sigemptyset(&ours.sa_mask);
    if (sigaction(number, &ours, &before) != 0) {
        return false;
    }
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) {
        sigaction(number, &before, NULL);
        return false;
    }
    return true;
}

static bool is_run_time(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < SBX_COUNT_OF(run_times); i++) {
        if (strncmp(name, run_times[i], strlen(run_times[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool hosts_a_run_time(void)
{
    uint32_t count = sbx_load_acquire(&sbx_the_capture.header->module_count); /* order: acquire header.module_count */
    while (!state.is_hosting && state.modules_seen < count) {
        state.is_hosting = is_run_time(sbx_the_capture.modules[state.modules_seen++].path);
    }
    return state.is_hosting;
}

static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) != 0 && part->p_vaddr >= segment->p_vaddr &&
            part->p_memsz <= segment->p_filesz &&
            part->p_vaddr - segment->p_vaddr <= segment->p_filesz - part->p_memsz) {
            return true;
        }
    }
    return false;
}

/* Is this module from Go? The Go linker writes a note into each of its programs and libraries. */
static bool is_go(const struct dl_phdr_info *info)
{
    static const char name[4] = "Go";
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE || !is_loaded(info, segment)) {
            continue;
        }
        uintptr_t at = (uintptr_t)(info->dlpi_addr + segment->p_vaddr), end = at + segment->p_memsz;
        while (end - at >= sizeof(ElfW(Nhdr)) + sizeof name) {
            const ElfW(Nhdr) *note = (const void *)at;
            size_t name_bytes = (note->n_namesz + (size_t)3) & ~(size_t)3,
                   bytes = (note->n_descsz + (size_t)3) & ~(size_t)3;
            if (note->n_namesz == sizeof name && memcmp(note + 1, name, sizeof name) == 0) {
                return true;
            }
            if (name_bytes + bytes > end - at - sizeof *note) {
                break;
            }
            at += sizeof *note + name_bytes + bytes;
        }
    }
    return false;
}

static int is_run_time_module(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    state.must_settle = state.must_settle || is_go(info);
    return is_run_time(info->dlpi_name);
}

static void install_all(bool is_shown)
{
    uint32_t mask = 0;
    void *unshown = is_shown ? NULL : (void *)(uintptr_t)sbx_on_fatal_signal;
    sbx_store_relaxed(&sbx_the_capture.unshown_handler, unshown); /* relaxed: the calls below come after it */
    for (size_t i = 0; i < SBX_COUNT_OF(fatal); i++) {
        mask |= install(fatal[i]) || is_ours(fatal[i]) ? UINT32_C(1) << fatal[i] : 0;
    }
    state.are_in = true;
    sbx_store_relaxed(&sbx_the_capture.header->crash_signals, mask); /* relaxed: a number for people */
}

void sbx_crash_signals_learn(void)
{
    struct sigaction now;
    state.once = 0;
    for (size_t i = 0; i < SBX_COUNT_OF(fatal); i++) {
        if (sigaction(fatal[i], NULL, &now) == 0 && (now.sa_flags & (int)SA_RESETHAND) != 0 &&
            now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) {
            state.once |= UINT32_C(1) << fatal[i];
        }
    }
}

bool sbx_crash_signals_host_is_ending(uint64_t now_ns)
{
    for (size_t i = 0; i < SBX_COUNT_OF(fatal) && state.once != 0; i++) {
        struct sigaction now;
        uint32_t bit = UINT32_C(1) << fatal[i];
        /* The kernel resets only the handler, and leaves SA_SIGINFO and the rest. */
        if ((state.once & bit) == 0 || sigaction(fatal[i], NULL, &now) != 0 || now.sa_handler != SIG_DFL) {
            continue;
        }
        state.ending_ns = state.ending_ns != 0 ? state.ending_ns : now_ns;
        if (now_ns - state.ending_ns < ENDING_NS) {
            return true;
        }
        state.once &= ~bit; /* it lives on: the host removed the handler, or survived */
    }
    state.ending_ns = 0;
    if (now_ns - state.learned_ns >= SETTLE_NS) {
        state.learned_ns = now_ns;
        sbx_crash_signals_learn();
    }
    return false;
}

static void look_again(void)
{
    uint32_t mask = sbx_load_relaxed(&sbx_the_capture.header->crash_signals);
    for (size_t i = 0; i < SBX_COUNT_OF(fatal); i++) {
        uint32_t bit = UINT32_C(1) << fatal[i];
        if ((mask & bit) != 0 && !is_ours(fatal[i])) {
            mask &= ~bit;
        }
    }
    sbx_store_relaxed(&sbx_the_capture.header->crash_signals, mask);
}

void sbx_crash_signals_stop(void)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < SBX_COUNT_OF(fatal) && state.are_in; i++) {
        if (is_ours(fatal[i])) {
            sigaction(fatal[i], &by_default, NULL);
        }
    }
    state.are_in = false;
    sbx_store_relaxed(&sbx_the_capture.unshown_handler, NULL);
    sbx_store_relaxed(&sbx_the_capture.header->crash_signals, 0);
}

/* Asks the loader, because the recording's own list of modules is not made yet. */
static bool has_run_time_module(void)
{
    sbx_loader_visit_begin(); /* at a late start the program's threads run beside this, and may fork */
    bool is_there = sbx_loader_visit_each(is_run_time_module, NULL) != 0;
    sbx_loader_visit_end();
    return is_there;
}

void sbx_crash_signals_start(const struct sbx_capture_settings *settings, bool hooks_are_in, uint64_t now_ns)
{
    state.started_ns = state.looked_ns = now_ns;
    state.is_settled = state.must_settle = false;
    if (settings->enabled == 0 || settings->crash == SBX_CRASH_OFF || has_run_time_module()) {
        return;
    }
    state.is_settled = settings->crash == SBX_CRASH_AT_ONCE;
    if (state.is_settled || (hooks_are_in && !state.must_settle)) {
        install_all(state.is_settled);
    }
}

/* The host's handler, or a longjmp out of it, let the process go on. It has not died of this signal, and the next
 * signal may be recorded. */
static void forget_survived(uint64_t now_ns)
{
    struct sbx_crash *crash = &sbx_the_capture.header->crash;
    uint32_t signal = sbx_load_acquire(&crash->signal); /* order: acquire crash.signal - at_ns is its own */
    if (signal != 0 && now_ns > crash->at_ns && now_ns - crash->at_ns >= SURVIVED_NS) {
        sbx_store_relaxed(&crash->signal, 0);
        sbx_store_release(&crash->claim, 0); /* order: release crash.claim - it may be taken again */
    }
}

void sbx_crash_signals_tick(const struct sbx_capture_settings *settings, bool hooks_are_in, uint64_t now_ns)
{
    forget_survived(now_ns);
    if (settings->enabled == 0 || settings->crash == SBX_CRASH_OFF || hosts_a_run_time()) {
        if (state.are_in) {
            sbx_crash_signals_stop();
        }
        return;
    }
    bool knows_modules = state.modules_seen != 0; /* else it is not known yet whether one of them is a run-time */
    bool was_settled = state.is_settled;
    state.is_settled = settings->crash == SBX_CRASH_AT_ONCE || now_ns - state.started_ns >= SETTLE_NS;
    bool may_go_in = state.is_settled || (hooks_are_in && !state.must_settle);
    if (state.are_in && state.is_settled && !was_settled) {
        install_all(true); /* needed also if the program has put the default action back meanwhile */
    } else if (!state.are_in && knows_modules && may_go_in) {
        install_all(state.is_settled);
    } else if (state.are_in && now_ns - state.looked_ns >= LOOK_EVERY_NS) {
        state.looked_ns = now_ns;
        look_again();
    }
}

uint64_t sbx_crash_signals_due_ns(const struct sbx_capture_settings *settings)
{
    if (settings->enabled == 0 || settings->crash == SBX_CRASH_OFF || state.is_hosting ||
        (state.are_in && state.is_settled)) {
        return UINT64_MAX;
    }
    return state.started_ns + SETTLE_NS;
}
