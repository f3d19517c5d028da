/* SPDX-License-Identifier: Apache-2.0 */
/* signal_frame_x86_64.h - included by signal_frame.h only.
 *
 * What AT_MINSIGSTKSZ counts includes the eight KiB of AMX's tiles, which a frame has only once the process has asked for
 * leave to use them (arch_prctl(2), ARCH_REQ_XCOMP_PERM; Documentation/arch/x86/xstate.rst). */
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

/* Behind a system call that ended with EINTR, by what a handler was given. */
SBX_SIGNAL_SAFE static inline bool sbx_was_call_cut(const ucontext_t *interrupted)
{
    return interrupted->uc_mcontext.gregs[REG_RAX] == -EINTR;
}

/* The two words that every frame has: the flags, and the segments behind them: cs of user code (0x33, under Xen also 0xe033), 0 for
 * gs and fs, ss (0 before Linux 4.3). A program's own words look so by chance at times, which is all right. */
SBX_SIGNAL_SAFE static inline bool sbx_is_in_frame(uint64_t first, uint64_t second)
{
    enum {
        ALWAYS_SET = 0x202, /* interrupts on, and the bit that is always 1 */
        FLAGS_END = 1 << 22,
    };
    return (second & UINT64_C(0x0000ffffffff1fff)) == 0x33 && first < FLAGS_END && (first & ALWAYS_SET) == ALWAYS_SET;
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
