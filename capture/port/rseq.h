/* SPDX-License-Identifier: Apache-2.0 */
/* rseq.h - a thread's restartable sequence area, used as a flag that the kernel clears.
 *
 * For each registered thread the kernel has the address of struct rseq (rseq(2), include/uapi/linux/rseq.h). When it
 * has preempted, migrated or signalled the thread, it looks at `rseq_cs` before the thread runs on. If the code range
 * of the descriptor does not contain the instruction pointer, the kernel only sets the word to 0. So a descriptor of a
 * range in which no code ever runs is a flag that means "not interrupted since it was put there". One load reads it.
 *
 * glibc from 2.35 on registers every thread and says where the area is (__rseq_offset). Nothing is registered here. The
 * layout is written out because this is also compiled with C libraries without <sys/rseq.h>. */
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
    uint32_t mm_cid; /* written since Linux 6.3, within the original 32 bytes */
    uint32_t padding;
};

struct sbx_rseq_cs {
    uint32_t version;
    uint32_t flags;
    uint64_t start_ip;
    uint64_t post_commit_offset;
    uint64_t abort_ip; /* the four bytes before it must be the signature, or the kernel kills the process */
} __attribute__((aligned(32)));

/* The signature with which glibc registers (sysdeps/unix/sysv/linux/ARCH/bits/rseq.h, RSEQ_SIG). 0: it is not known,
 * and the word is never armed. */
#if defined(__x86_64__)
#define SBX_RSEQ_SIGNATURE 0x53053053u
#elif defined(__aarch64__)
#define SBX_RSEQ_SIGNATURE 0xd428bc00u
#else
#define SBX_RSEQ_SIGNATURE 0u
#endif

/* The area of the calling thread. `offset` is the __rseq_offset of the glibc in this process. */
SBX_SIGNAL_SAFE static inline struct sbx_rseq_area *sbx_rseq_area(int32_t offset)
{
    return (struct sbx_rseq_area *)((uintptr_t)__builtin_thread_pointer() + (uintptr_t)(intptr_t)offset);
}

#endif
