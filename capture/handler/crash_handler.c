/* SPDX-License-Identifier: Apache-2.0 */
/* crash_handler.c - records the last stack of a thread that dies of a signal.
 *
 * This is in handler/, so tests/lint checks what it calls. It may be called in three ways:
 *   1. by the kernel, because this handler is the installed one: write, restore the default action, send the signal to
 *      this thread once more and return. The signal arrives with the return, and the default action takes it;
 *   2. by a handler of the program that found this one installed before it and calls it, as a chain: write and return.
 *      The program decides what comes next (it may have a report to write). When the signal comes back that way, end as
 *      in 1;
 *   3. in a child of fork(): as 1 without writing, because the recording belongs to the parent. */
#include "crash_handler.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "capture_record.h"
#include "clock.h"
#include "frame_walker.h"
#include "raw_syscall.h"
#include "registers.h"
#include "stack_copy.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_timer.h"

enum {
    OVERFLOW_PAGES = 64 /* largest frame that may run over the stack's end: 256 KiB, one system call a page */
};

SBX_SIGNAL_SAFE static bool is_installed(int number)
{
    return sbx_raw_handler_of(number) == (void *)(uintptr_t)sbx_on_fatal_signal;
}

SBX_SIGNAL_SAFE void sbx_send_again(int number, siginfo_t *info)
{
    long pid = sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), tid = sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    if (sbx_raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, number, (long)(uintptr_t)info, 0, 0) != 0) {
        sbx_raw_syscall(SYS_tgkill, pid, tid, number, 0, 0, 0); /* a filter forbids the first: send the number */
    }
}

/* Let the default action take the signal: the same signal, from the same sender or fault (Crashpad's
 * RestoreHandlerAndReraiseSignalOnReturn does this for signals that were sent). This is done for faults as well. To
 * return and fault again would miss a breakpoint, and also a deadly fault that another thread has repaired
 * meanwhile. */
SBX_SIGNAL_SAFE void sbx_end_by_default(int number, siginfo_t *info)
{
    const struct sbx_kernel_sigaction by_default = {.handler = NULL}; /* SIG_DFL */
    sbx_raw_syscall(SYS_rt_sigaction, number, (long)(uintptr_t)&by_default, 0, sizeof by_default.mask, 0, 0);
    sbx_send_again(number, info);
}

SBX_SIGNAL_SAFE static uint32_t fault_of(int number, const siginfo_t *info)
{
    int code = info->si_code;
    if (code <= 0) { /* a process sent it; abort() and raise() send from this process */
        return (uint32_t)info->si_pid == sbx_the_capture.header->pid ? SBX_FAULT_ABORT : SBX_FAULT_SENT;
    }
    switch (number) {
    case SIGSEGV:
        return code == SEGV_MAPERR ? SBX_FAULT_UNMAPPED : code == SI_KERNEL ? SBX_FAULT_WILD : SBX_FAULT_PROTECTED;
    case SIGBUS:
        return code == BUS_ADRALN                         ? SBX_FAULT_ALIGNMENT
               : code == BUS_ADRERR || code == BUS_OBJERR ? SBX_FAULT_BACKING
                                                          : SBX_FAULT_HARDWARE;
    case SIGILL:
        return SBX_FAULT_INSTRUCTION;
    case SIGFPE:
        return code == FPE_INTDIV || code == FPE_INTOVF ? SBX_FAULT_DIVISION : SBX_FAULT_ARITHMETIC;
    case SIGTRAP:
        return SBX_FAULT_BREAKPOINT;
    case SIGSYS:
        return SBX_FAULT_SECCOMP;
    default:
        return SBX_FAULT_UNKNOWN;
    }
}

/* The calling thread's block. For a thread that has never passed a point, the watch thread may have prepared a
 * block. */
SBX_SIGNAL_SAFE static struct sbx_thread *find_self(void)
{
    struct sbx_thread *thread = sbx_self;
    if (thread != NULL) {
        return sbx_thread_is_registered(thread) ? thread : NULL;
    }
    uint32_t tid = (uint32_t)sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    uint32_t count = sbx_load_relaxed(&sbx_the_capture.header->thread_count);
    for (uint32_t i = 0; i < count && i < SBX_THREADS_MAX; i++) {
        thread = sbx_thread_adopted_self(i, tid);
        if (thread != NULL) {
            return thread;
        }
    }
    return NULL;
}

SBX_SIGNAL_SAFE static bool is_code(uint64_t address)
{
    /* order: acquire code_map - pairs with sbx_module_map_publish() */
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map);
    return map != NULL && sbx_code_map_find(map, address) != NULL;
}

/* A call through a null or wild pointer leaves the program counter at an address without code. Everything else is as
 * the call made it, so the walk begins in the caller. */
SBX_SIGNAL_SAFE static void step_out_of_nowhere(struct sbx_thread *thread, struct sbx_walk_registers *registers)
{
    uint64_t caller = 0;
    if (is_code(registers->pc)) {
        return;
    }
    if (SBX_HAS_LINK_REGISTER) {
        caller = registers->link_known ? registers->link : 0;
    } else if (sbx_copy_stack(registers->sp, sizeof caller, thread->stack_copy) == sizeof caller) {
        memcpy(&caller, thread->stack_copy, sizeof caller);
    }
    if (caller != 0 && is_code(caller)) {
        registers->pc = caller;
        registers->sp += SBX_HAS_LINK_REGISTER ? 0 : sizeof caller;
        registers->pc_is_exact = false;
        registers->link_known = false;
        registers->context = NULL;
    }
}

/* The lowest page at or above the stack pointer that can be read. When a stack has overflowed, that page is one frame
 * further up. 0: there is none near. */
SBX_SIGNAL_SAFE static uint64_t find_memory(struct sbx_thread *thread, uint64_t sp)
{
    uint64_t at = sp - SBX_RED_ZONE_BYTES;
    for (unsigned pages = 0; pages < OVERFLOW_PAGES; pages++) {
        if (sbx_copy_stack(at, 8, thread->stack_copy) == 8) {
            return at;
        }
        at = (at | 4095) + 1;
    }
    return 0;
}

/* A stack that overflowed: its mapped part is read in place, from the first readable page to its known end. */
SBX_SIGNAL_SAFE static uint32_t capture_overflowed(struct sbx_thread *thread, const struct sbx_walk_registers *start,
                                                   uint64_t low)
{
    /* order: acquire code_map - pairs with sbx_module_map_publish() */
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map);
    bool is_its_stack = low < thread->stack_high && low + OVERFLOW_PAGES * UINT64_C(4096) >= thread->stack_low;
    if (map == NULL || !is_its_stack) {
        return SBX_STACK_NONE;
    }
    const struct sbx_stack_window window = {low, thread->stack_high, 0};
    uint32_t epoch = sbx_callstack_epoch(&sbx_the_capture.table);
    sbx_walk_stack(map, &thread->cache, &sbx_the_capture.table, epoch, &window, start, &thread->walk);
    return sbx_walk_intern(&thread->walk, &sbx_the_capture.table, epoch);
}

/* Is the fault that of a stack overflow? It is when the address is near the stack pointer and below the first readable
 * memory. */
SBX_SIGNAL_SAFE static bool is_overflow(const siginfo_t *info, uint64_t sp, uint64_t low)
{
    uint64_t address = (uint64_t)(uintptr_t)info->si_addr, reach = OVERFLOW_PAGES * UINT64_C(4096);
    return info->si_code > 0 && info->si_code != SI_KERNEL && low > sp - SBX_RED_ZONE_BYTES && address < low &&
           address >= sp - reach;
}

SBX_SIGNAL_SAFE static void record_stack(struct sbx_thread *thread, int number, const siginfo_t *info,
                                         const ucontext_t *interrupted)
{
    struct sbx_walk_registers registers;
    sbx_registers_interrupted(&registers, interrupted);
    step_out_of_nowhere(thread, &registers);
    struct sbx_times now = sbx_thread_times(thread);
    struct sbx_record record = {.kind = SBX_RECORD_ASYNC,
                                .flags = SBX_FLAG_AT_TRIGGER,
                                .begin_ns = now.wall_ns,
                                .end_ns = now.wall_ns,
                                .cpu_ns = now.cpu_ns};
    /* The stack pointer cannot be trusted now, and a walk in place reads from it up to the stack's end. So find out
     * first what is readable. */
    uint64_t low = find_memory(thread, registers.sp);
    if ((number == SIGSEGV || number == SIGBUS) && is_overflow(info, registers.sp, low)) {
        sbx_store_relaxed(&sbx_the_capture.header->crash.fault, SBX_FAULT_STACK); /* relaxed: read after death */
    }
    if (low == registers.sp - SBX_RED_ZONE_BYTES && sbx_copy_stack(registers.sp, 8, thread->stack_copy) == 8) {
        record.stack = sbx_capture_stack(thread, &registers);
    } else if (low > registers.sp - SBX_RED_ZONE_BYTES) {
        record.stack = capture_overflowed(thread, &registers, low);
    }
    sbx_capture_end_run(thread);
    sbx_capture_put(thread, &record);
}

/* Write down which signal came and how, and then where, unless it interrupted the agent's own code. True only for the
 * first thread that does so. */
SBX_SIGNAL_SAFE static bool write_down(int number, const siginfo_t *info, const ucontext_t *interrupted)
{
    struct sbx_crash *crash = &sbx_the_capture.header->crash;
    uint32_t expected = 0;
    if (!sbx_cas_acq_rel(&crash->claim, &expected, 1)) { /* order: acq_rel crash.claim - one writer */
        return false;
    }
    struct sbx_thread *thread = find_self();
    crash->fault = fault_of(number, info);
    crash->thread = thread != NULL ? thread->index : UINT32_MAX;
    crash->at_ns = sbx_now_ns();
    sbx_store_release(&crash->signal, (uint32_t)number); /* order: release crash.signal - the fields are whole */
    if (thread == NULL || thread->inside != 0) {
        sbx_count_drop(thread == NULL ? SBX_DROP_NO_THREAD : SBX_DROP_NESTED);
        return true;
    }
    thread->inside = 1;
    sbx_order_with_handler();
    record_stack(thread, number, info, interrupted);
    sbx_order_with_handler();
    thread->inside = 0;
    return true;
}

/* May run at any instruction of any thread, after anything went wrong, and on the alternate stack if the thread has
 * one. If this code itself faults, the kernel ends the process by the default action of SIGSEGV. */
SBX_SIGNAL_SAFE SBX_CALLED_BY_KERNEL void sbx_on_fatal_signal(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    bool is_ours = sbx_capture_is_ours() && sbx_capture_is_open() &&
                   (uint32_t)sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == sbx_the_capture.header->pid;
    bool is_first = is_ours && write_down(number, info, context);
    if (!is_first || is_installed(number)) {
        sbx_end_by_default(number, info);
    }
    errno = saved_errno;
}
