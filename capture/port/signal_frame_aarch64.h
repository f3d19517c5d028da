/* SPDX-License-Identifier: Apache-2.0 */
/* signal_frame_aarch64.h - included by signal_frame.h only. AT_MINSIGSTKSZ includes the vector registers of this
 * machine. */
#ifndef SBX_SIGNAL_FRAME_AARCH64_H
#define SBX_SIGNAL_FRAME_AARCH64_H

static inline uint64_t sbx_signal_frame_bytes(void)
{
    return sbx_signal_frame_most();
}

/* Did the signal arrive behind a system call that ended with EINTR, according to the handler's context? */
SBX_SIGNAL_SAFE static inline bool sbx_was_call_cut(const ucontext_t *interrupted)
{
    return (int64_t)interrupted->uc_mcontext.regs[0] == -EINTR;
}

/* Is `word` part of a whole frame between `low` and `high`? It must be the head of the record that every frame has,
 * that of the floating-point registers (FPSIMD_MAGIC, and its size). Before it must be the head of the frame's
 * ucontext, without flags and link. */
SBX_SIGNAL_SAFE SBX_READS_FOREIGN_STACKS static inline bool sbx_is_in_frame(const uint64_t *word, uint64_t low,
                                                                            uint64_t high)
{
    enum {
        LINK_AT = offsetof(ucontext_t, uc_link) / 8,
        RECORD_AT = offsetof(ucontext_t, uc_mcontext.__reserved) / 8,
    };
    if (word[0] != (UINT64_C(528) << 32 | UINT64_C(0x46508001))) {
        return false;
    }
    const uint64_t *head = word - RECORD_AT;
    return (uint64_t)(uintptr_t)head >= low && (uint64_t)(uintptr_t)word < high && head[0] == 0 && head[LINK_AT] == 0;
}

/* Where that word is in the frame of the handler that was given `interrupted`. The kernel writes this record first. */
SBX_SIGNAL_SAFE static inline const uint64_t *sbx_frame_words(const ucontext_t *interrupted)
{
    return (const uint64_t *)(const void *)interrupted->uc_mcontext.__reserved;
}

enum {
    SBX_CALL_BYTES = 4
};
#define SBX_CALL_INSTRUCTION   \
    {                          \
        0x01, 0x00, 0x00, 0xd4 \
    } /* svc #0 */

#endif
