/* SPDX-License-Identifier: Apache-2.0 */
/* hearing.c - a thread's signal mask, as its hooks and the kernel report it, and the room on its stack for handlers. */
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
    MASK_EVERY_NS = 1000000000, /* maximum age of the kernel's answer that a thread does not block the signal */
    MASK_AGAIN_NS = 4000000,    /* the same at first when the answer is that it does */
    DEAF_NS = 200000000,        /* a thread that may not be asked for this long is counted */
    OWN_STACK_NEED = 3072,      /* stack bytes of our handler and what it calls; docs/SIGNAL_SAFETY.md */
    AMPLE_HANDLERS = 16,        /* with room for this many handlers, the real ones need not be counted */
    HOST_HANDLER_NEED = 4096,   /* stack bytes of a handler of the host that we may interrupt on its own stack */
};

static uint64_t host_stack_asked_ns; /* when the host's handlers were last looked at */
/* How many handlers of the host, other than those of faults, may be on an alternate stack at once. */
static unsigned host_handlers_deep;
SBX_OF_ONE_PROCESS(host_stack_asked_ns);

/* Ask the kernel whether a thread blocks our signal. This takes some 15 us. It is asked once a second, because masks
 * hardly ever change; it also finds a thread that changed its mask past our hooks. A thread blocks all signals for a
 * moment while it starts another thread, and while it answers us. So after the answer "blocks", the kernel is asked
 * again at the next tick, then after twice the time, and so on. */
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

/* A mask may change past our hooks (siglongjmp(), setcontext()). So even when the hooks say that the thread blocks the
 * signal, the kernel is asked. */
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

/* How many of the host's own handlers may run on a thread's own alternate stack when our signal comes, one inside
 * another? None when the host's normal handlers do not use it. (Handlers of faults do not count, because they end the
 * process.) Otherwise one, plus the number of signals that such a handler does not block: all of them may be pending
 * when the thread gets a processor, and the kernel makes a frame for each. */
static unsigned host_handlers_on_stack(int number, uint64_t now_ns)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
    if (host_stack_asked_ns != 0 && now_ns - host_stack_asked_ns < MASK_EVERY_NS) {
        return host_handlers_deep;
    }
    host_stack_asked_ns = now_ns;
    sigset_t handled, blocked; /* blocked by all handlers */
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

/* Is there room for the kernel's frame and for our handler? A stack of ours has room. On machines whose frames are too
 * large for it, no thread is asked. */
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
        thread->is_deaf = true; /* counted once, and not for the moment in which it starts another thread */
        sbx_count_drop(SBX_DROP_SIGNAL_DEAF);
    }
    return !is_deaf;
}
