/* SPDX-License-Identifier: Apache-2.0 */
/* hearing.c - the thread's mask, as its hooks and the kernel tell it, and the room on its stack for handlers. */
#include "hearing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process_state.h"
#include "signal_frame.h"
#include "the_capture.h"

enum {
    MASK_EVERY_NS = 1000000000, /* how old the answer may be whether a thread blocks the signal */
    MASK_AGAIN_NS = 4000000,    /* and how old at first when it is that it does */
    DEAF_NS = 200000000,        /* who may not be asked for so long is counted */
    OWN_STACK_NEED = 3072,      /* of our handler, with what is called from it; docs/SIGNAL_SAFETY.md */
    AMPLE_HANDLERS = 16,        /* for so many at once, and their needs, nobody need count them */
    HOST_HANDLER_NEED = 4096,   /* a handler of the host's that we may interrupt on its own stack has taken */
};

static uint64_t host_stack_asked_ns; /* when the host's handlers were looked at */
static unsigned host_handlers_deep;  /* of those that need not end the process, so many at once on an alternate stack */
SBX_OF_ONE_PROCESS(host_stack_asked_ns);

/* The kernel's word on whether a thread blocks our signal. Some 15 us; asked once a second, for masks hardly ever change,
 * but who changes his past our hooks is found out by it. A thread blocks all signals for a moment while it starts another,
 * and while it answers us: who was found to block it is asked again at the next tick, then after twice the time, and so on. */
static bool is_seen_to_block(struct sbx_thread *thread, int number, uint64_t now_ns)
{
    static const char name[] = "\nSigBlk:";
    if (thread->mask_asked_ns != 0 && now_ns - thread->mask_asked_ns < thread->mask_good_ns) {
        return thread->blocks_signal;
    }
    char path[48], text[2048];
    snprintf(path, sizeof path, "/proc/self/task/%u/status", thread->tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) {
        close(file);
    }
    text[got > 0 ? got : 0] = 0;
    const char *at = strstr(text, name);
    thread->mask_asked_ns = now_ns;
    bool did_block = thread->blocks_signal;
    thread->blocks_signal = at != NULL && (strtoull(at + sizeof name - 1, NULL, 16) >> (number - 1) & 1) != 0;
    uint64_t good_ns = !thread->blocks_signal ? MASK_EVERY_NS : did_block ? 2 * thread->mask_good_ns : MASK_AGAIN_NS;
    thread->mask_good_ns = good_ns < MASK_EVERY_NS ? good_ns : MASK_EVERY_NS;
    return thread->blocks_signal;
}

/* The mask as the hooks know it, unless the kernel said otherwise since it last changed. */
bool sbx_thread_is_told_to_block(const struct sbx_thread *thread, int number)
{
    return (sbx_load_relaxed(&thread->blocked_signals) >> (number - 1) & 1) != 0 &&
           thread->mask_overruled != sbx_load_relaxed(&thread->mask_changes) + 1;
}

/* A mask may change past our hooks (siglongjmp(), setcontext()): who is told to block is not asked to, but the kernel is. */
static bool blocks(struct sbx_thread *thread, int number, uint64_t now_ns)
{
    uint32_t changes = sbx_load_relaxed(&thread->mask_changes);
    bool is_told = sbx_thread_is_told_to_block(thread, number);
    bool is_seen = is_seen_to_block(thread, number, now_ns);
    if (is_told && !is_seen && thread->mask_asked_ns == now_ns) {
        thread->mask_overruled = changes + 1;
        is_told = false;
    }
    return is_told || is_seen;
}

/* How many of the host's own handlers may be at work on a thread's own alternate stack when we come, one inside another? None where no
 * handler runs there in the ordinary course of things; those of faults are last words. Else one, and as many as there are signals that
 * such a handler does not block: all of them may be pending when the thread gets a processor, and the kernel puts a frame for each. */
static unsigned host_handlers_on_stack(int number, uint64_t now_ns)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
    if (host_stack_asked_ns != 0 && now_ns - host_stack_asked_ns < MASK_EVERY_NS) {
        return host_handlers_deep;
    }
    host_stack_asked_ns = now_ns;
    sigset_t handled, blocked; /* by all handlers */
    bool is_used = false;
    sigemptyset(&handled);
    sigfillset(&blocked);
    for (int signal = 1; signal <= 64; signal++) {
        struct sigaction now;
        bool is_fault = false;
        for (size_t i = 0; i < SBX_COUNT_OF(faults); i++) {
            is_fault |= faults[i] == signal;
        }
        if (is_fault || signal == number || sigaction(signal, NULL, &now) != 0 || now.sa_handler == SIG_DFL ||
            now.sa_handler == SIG_IGN) {
            continue;
        }
        is_used |= (now.sa_flags & SA_ONSTACK) != 0;
        sigaddset(&handled, signal);
        if ((now.sa_flags & SA_NODEFER) == 0) {
            sigaddset(&now.sa_mask, signal);
        }
        sigandset(&blocked, &blocked, &now.sa_mask);
    }
    host_handlers_deep = is_used;
    for (int signal = 1; signal <= 64 && is_used; signal++) {
        host_handlers_deep += sigismember(&handled, signal) == 1 && sigismember(&blocked, signal) == 0;
    }
    return host_handlers_deep;
}

/* Is there room for what the kernel puts there and what our handler needs? On a stack of ours there is, and on machines whose
 * frames are too large for it nobody is asked. */
static bool has_room(const struct sbx_thread *thread, int number, uint64_t now_ns)
{
    uint64_t low = sbx_load_relaxed(&thread->signal_stack_low), high = sbx_load_relaxed(&thread->signal_stack_high);
    uint64_t frame = sbx_signal_frame_bytes(), room = high > low ? high - low : 0;
    if (room < frame + OWN_STACK_NEED) {
        return false;
    }
    bool is_ample = room >= AMPLE_HANDLERS * (frame + HOST_HANDLER_NEED) + frame + OWN_STACK_NEED;
    unsigned deep = is_ample ? 0 : host_handlers_on_stack(number, now_ns);
    return room >= (1 + deep) * frame + OWN_STACK_NEED + (deep != 0 ? HOST_HANDLER_NEED : 0);
}

/* order: acquire may_be_asked - the bounds of its stack are whole */
bool sbx_thread_hears(struct sbx_thread *thread, int number, uint64_t now_ns)
{
    bool is_deaf = sbx_load_acquire(&thread->may_be_asked) == 0 || !has_room(thread, number, now_ns) ||
                   blocks(thread, number, now_ns);
    thread->deaf_since_ns = !is_deaf ? 0 : thread->deaf_since_ns != 0 ? thread->deaf_since_ns : now_ns;
    if (is_deaf && !thread->is_deaf && now_ns - thread->deaf_since_ns >= DEAF_NS) {
        thread->is_deaf = true; /* once, and not for the moment in which it starts another thread */
        sbx_count_drop(SBX_DROP_SIGNAL_DEAF);
    }
    return !is_deaf;
}
