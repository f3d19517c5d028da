/* SPDX-License-Identifier: Apache-2.0 */
/* rseq.h - a thread's restartable sequence area, used as a flag the kernel takes down.
 *
 * The kernel keeps with each registered thread the address of struct rseq (rseq(2), include/uapi/linux/rseq.h). When it
 * has preempted, migrated or signalled the thread, it looks at `rseq_cs` before the thread runs on; a descriptor whose
 * code range does not hold the instruction pointer is simply forgotten: the word becomes 0. So a descriptor of a range
 * in which nothing ever runs is a flag that says "not interrupted since it was put there", read with one load.
 *
 * glibc from 2.35 registers every thread and says where the area lies (__rseq_offset); nothing is registered here.
 * The layout is spelled out because libcs without <sys/rseq.h> compile this too. */
#ifndef SBX_RSEQ_H
#define SBX_RSEQ_H

#include <stdint.h>

#include "marks.h"
#include "order.h"

struct sbx_rseq_area {
    uint32_t cpu_id_start;
    int32_t cpu_id; /* -1: never registered, -2: the kernel refused (RSEQ_CPU_ID_UNINITIALIZED, _REGISTRATION_FAILED) */
    uint64_t rseq_cs;
    uint32_t flags;
    uint32_t node_id;
    uint32_t mm_cid; /* written since Linux 6.3; the original 32 bytes have the room */
    uint32_t padding;
};

struct sbx_rseq_cs {
    uint32_t version;
    uint32_t flags;
    uint64_t start_ip;
    uint64_t post_commit_offset;
    uint64_t abort_ip; /* the four bytes before it must be the signature, or the kernel kills */
} __attribute__((aligned(32)));

/* What glibc registers with (sysdeps/unix/sysv/linux/ARCH/bits/rseq.h, RSEQ_SIG). 0: not known, never armed. */
#if defined(__x86_64__)
#define SBX_RSEQ_SIGNATURE 0x53053053u
#elif defined(__aarch64__)
#define SBX_RSEQ_SIGNATURE 0xd428bc00u
#else
#define SBX_RSEQ_SIGNATURE 0u
#endif

/* Of the calling thread; `offset` is glibc's __rseq_offset, and must be of this libc. */
SBX_SIGNAL_SAFE static inline struct sbx_rseq_area *sbx_rseq_area(int32_t offset)
{
    return (struct sbx_rseq_area *)((uintptr_t)__builtin_thread_pointer() + (uintptr_t)(intptr_t)offset);
}

#endif
