/* SPDX-License-Identifier: Apache-2.0 */
/* handler_above.c - searches the stack above the caller for addresses to which only a signal handler returns. */
#include "handler_above.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "raw_syscall.h"

enum {
    /* Copied at a time, onto a stack that may be a small one. A page is mapped as a whole or not at all, and has a
     * whole number of these pieces. */
    WORDS = 128,
    PIECE_BYTES = WORDS * 8,
    PIECES_MAX = 16384, /* 16 MiB: a deeper stack is not searched to its end, and the answer is "perhaps" */
    VDSO_CODE_BYTES = 8192,
};

#if defined(__x86_64__)
enum {
    SIGNALS = 64,
    /* Word indexes in the frame that the kernel pushes, from the return address on (struct rt_sigframe, then ucontext;
     * the kernel's arch/x86/include/uapi/asm/sigcontext.h). */
    FRAME_LINK = 2,
    FRAME_SP = 21,
    FRAME_FLAGS = 23,
    FRAME_SEGMENTS = 24,
    FRAME_WORDS = 25,
    USER_CODE = 0x33,
    FLAG_ALWAYS = 2
};

/* The kernel's layout; libc's differs. */
struct kernel_action {
    uint64_t handler, flags, restorer, mask;
};

static uint64_t libc_restorer;

static bool read_action(int number, struct kernel_action *action_out)
{
    return sbx_raw_syscall(SYS_rt_sigaction, number, 0, (long)(uintptr_t)action_out, 8, 0, 0) == 0;
}
#endif

void sbx_handler_learn(void)
{
#if defined(__x86_64__)
    struct kernel_action before, ours;
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    const int number = SIGNALS; /* the last real-time signal, whatever value libc's SIGRTMAX has */
    if (read_action(number, &before) && sigaction(number, &ignored, NULL) == 0) {
        libc_restorer = read_action(number, &ours) ? ours.restorer : 0;
        (void)sbx_raw_syscall(SYS_rt_sigaction, number, (long)(uintptr_t)&before, 0, 8, 0, 0);
    }
#endif
}

/* Copies the program's memory as far as it is mapped: the kernel reports unmapped addresses. */
static long copy_from(uint64_t address, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    long pid = sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    return sbx_raw_syscall(SYS_process_vm_readv, pid, (long)(uintptr_t)&local, 1, (long)(uintptr_t)&remote, 1, 0);
}

struct search {
    uint64_t restorers[8]; /* the distinct ones; programs have one or two */
    unsigned count;
    uint64_t vdso_begin, vdso_end; /* an address in it is a trampoline when handlers have no restorer */
    bool is_full;
};

#if defined(__x86_64__)
static void add(struct search *search, uint64_t restorer)
{
    for (unsigned i = 0; i < search->count; i++) {
        if (search->restorers[i] == restorer) {
            return;
        }
    }
    if (restorer == 0) {
        return;
    }
    if (search->count == sizeof search->restorers / sizeof search->restorers[0]) {
        search->is_full = true;
        return;
    }
    search->restorers[search->count++] = restorer;
}
#endif

static void find_restorers(struct search *search)
{
#if defined(__x86_64__)
    add(search, libc_restorer);
    for (int number = 1; number <= SIGNALS; number++) {
        struct kernel_action action;
        if (read_action(number, &action) && action.handler > 1) {
            add(search, action.restorer);
        }
    }
#else
    const ElfW(Ehdr) *vdso = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
    if (vdso != NULL) {
        search->vdso_begin = (uint64_t)(uintptr_t)vdso;
        search->vdso_end = search->vdso_begin + VDSO_CODE_BYTES; /* its code is a page or two */
    }
#endif
}

/* Is there a complete signal frame behind the word that was found? An old word that lies in an unused part of a later
 * stack frame no longer has one. */
static bool is_frame(uint64_t address)
{
#if defined(__x86_64__)
    uint64_t frame[FRAME_WORDS];
    if (copy_from(address, frame, sizeof frame) != (long)sizeof frame) {
        return false;
    }
    return frame[FRAME_LINK] == 0 && frame[FRAME_SP] != 0 && (frame[FRAME_SEGMENTS] & 0xffff) == USER_CODE &&
           (frame[FRAME_FLAGS] & FLAG_ALWAYS) != 0 && frame[FRAME_FLAGS] >> 22 == 0;
#else
    (void)address;
    return true;
#endif
}

static bool is_trampoline(const struct search *search, uint64_t word)
{
    for (unsigned i = 0; i < search->count; i++) {
        if (word == search->restorers[i]) {
            return true;
        }
    }
    return word - search->vdso_begin < search->vdso_end - search->vdso_begin;
}

SBX_HOOK_SAFE uint64_t sbx_handler_find_above(uint64_t until)
{
    struct search search = {.count = 0};
    uint64_t words[WORDS], at = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    find_restorers(&search);
    if (search.is_full) {
        return SBX_HANDLER_PERHAPS;
    }
    for (unsigned pieces = 0; pieces < PIECES_MAX; pieces++) {
        /* Not beyond the end of the page, because the stack ends at a page boundary. */
        size_t bytes = PIECE_BYTES - at % PIECE_BYTES;
        long got = copy_from(at, words, bytes);
        if (got == -EFAULT) {
            return SBX_HANDLER_NONE; /* the end of the stack */
        }
        if (got != (long)bytes) {
            return SBX_HANDLER_PERHAPS;
        }
        for (size_t i = 0; i < bytes / 8; i++) {
            if (until != 0 && at + i * 8 >= until) {
                return SBX_HANDLER_NONE;
            }
            if (is_trampoline(&search, words[i]) && is_frame(at + i * 8)) {
                return at + i * 8;
            }
        }
        at += bytes;
    }
    return SBX_HANDLER_PERHAPS;
}
