/* SPDX-License-Identifier: Apache-2.0 */
/* signal_frame_x86_64.h - included by signal_frame.h only.
 *
 * AT_MINSIGSTKSZ includes the eight KiB of AMX's tiles. A frame contains them only after the process has asked for
 * permission to use them (arch_prctl(2), ARCH_REQ_XCOMP_PERM; Documentation/arch/x86/xstate.rst). */
#ifndef SBX_SIGNAL_FRAME_X86_64_H
#define SBX_SIGNAL_FRAME_X86_64_H

static inline uint64_t sbx_signal_frame_bytes(void)
{
    enum {
        GET_PERMITTED = 0x1022, /* ARCH_GET_XCOMP_PERM */
        TILES = 18,
        TILE_BYTES = 8192,
    };
    uint64_t permitted = 0, most = sbx_signal_frame_most();
    bool has_tiles = sbx_raw_syscall(SYS_arch_prctl, GET_PERMITTED, (long)(uintptr_t)&permitted, 0, 0, 0, 0) != 0 ||
                     (permitted >> TILES & 1) != 0;
    return !has_tiles && most > TILE_BYTES + 2048 ? most - TILE_BYTES : most;
}

/* Did the signal arrive behind a system call that ended with EINTR, according to the handler's context? */
SBX_SIGNAL_SAFE static inline bool sbx_was_call_cut(const ucontext_t *interrupted)
{
    return interrupted->uc_mcontext.gregs[REG_RAX] == -EINTR;
}

/* Are the words at `word` part of a whole frame between `low` and `high`? They must be the flags, and behind them the
 * segments: cs of user code (0x33, under Xen also 0xe033), 0 for gs and fs, ss (0 before Linux 4.3). Before them must
 * be the head of the frame's ucontext, with few flags, no link and the flags of an alternate stack. Behind them must be
 * the address of the registers that do not fit, which lies above. No handler changes these words. The remains of an
 * older frame are hardly ever whole. */
SBX_SIGNAL_SAFE SBX_READS_FOREIGN_STACKS static inline bool sbx_is_in_frame(const uint64_t *word, uint64_t low,
                                                                            uint64_t high)
{
    enum {
        ALWAYS_SET = 0x202, /* interrupts are on, and the bit that is always 1 */
        FLAGS_END = 1 << 22,
        UC_FLAGS_END = 64,
        LINK_AT = offsetof(ucontext_t, uc_link) / 8,
        STACK_FLAGS_AT = offsetof(ucontext_t, uc_stack.ss_flags) / 8,
        FLAGS_AT = offsetof(ucontext_t, uc_mcontext.gregs[REG_EFL]) / 8,
        FPREGS_AT = offsetof(ucontext_t, uc_mcontext.fpregs) / 8,
        FPREGS_MOST = 1 << 16,
    };
    if ((word[1] & UINT64_C(0x0000ffffffff1fff)) != 0x33 || word[0] >= FLAGS_END ||
        (word[0] & ALWAYS_SET) != ALWAYS_SET) {
        return false;
    }
    const uint64_t *head = word - FLAGS_AT;
    uint64_t at = (uint64_t)(uintptr_t)head;
    return at >= low && high - at > FPREGS_AT * sizeof *head && head[0] < UC_FLAGS_END && head[LINK_AT] == 0 &&
           (uint32_t)head[STACK_FLAGS_AT] << 1 <= 4 << 1 &&
           (head[FPREGS_AT] == 0 || head[FPREGS_AT] - at < FPREGS_MOST);
}

/* Where those words are in the frame of the handler that was given `interrupted`. */
SBX_SIGNAL_SAFE static inline const uint64_t *sbx_frame_words(const ucontext_t *interrupted)
{
    return (const uint64_t *)(const void *)&interrupted->uc_mcontext.gregs[REG_EFL];
}

enum {
    SBX_CALL_BYTES = 2
};
#define SBX_CALL_INSTRUCTION \
    {                        \
        0x0f, 0x05           \
    }

#endif
