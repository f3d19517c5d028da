/* SPDX-License-Identifier: Apache-2.0 */
/* signal_frame_aarch64.h - included by signal_frame.h only. AT_MINSIGSTKSZ counts what vectors this machine has. */
#ifndef SBX_SIGNAL_FRAME_AARCH64_H
#define SBX_SIGNAL_FRAME_AARCH64_H

static inline uint64_t sbx_signal_frame_bytes(void)
{
    return sbx_signal_frame_most();
}

/* Behind a system call that ended with EINTR, by what a handler was given. */
SBX_SIGNAL_SAFE static inline bool sbx_was_call_cut(const ucontext_t *interrupted)
{
    return (int64_t)interrupted->uc_mcontext.regs[0] == -EINTR;
}

/* The head of the record that every frame has, that of the floating-point registers (FPSIMD_MAGIC, and its size), and a word that
 * may be anything. */
SBX_SIGNAL_SAFE static inline bool sbx_is_in_frame(uint64_t first, uint64_t second)
{
    (void)second;
    return first == (UINT64_C(528) << 32 | UINT64_C(0x46508001));
}

/* Where that word is in the frame of the handler that was given `interrupted`: the kernel writes it first. */
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
