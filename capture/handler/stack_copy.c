/* SPDX-License-Identifier: Apache-2.0 */
/* stack_copy.c - memory of this process copied by the kernel. */
#include "stack_copy.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "raw_syscall.h"
#include "the_capture.h"
#include "thread_block.h"

/* Used without process_vm_readv, which seccomp forbids in some containers and which qemu-user does not have. Reading
 * this file also fails where a load would fault. The file is opened each time: if the program closed all its files, a
 * kept descriptor might later name a file of the program. */
SBX_SIGNAL_SAFE static size_t copy_by_file(uint64_t from, size_t bytes, uint8_t *to)
{
    long file = sbx_raw_open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    long got = sbx_raw_pread((int)file, to, bytes, from);
    sbx_raw_close((int)file);
    return got > 0 ? (size_t)got : 0;
}

void sbx_copy_stack_start(void)
{
    uint8_t copy[8] = {0};
    const uint64_t word = UINT64_C(0x5ba11b0c5ba11b0c);
    sbx_the_capture.copies_by_file = false;
    size_t got = sbx_copy_stack((uint64_t)(uintptr_t)&word, sizeof word, copy);
    sbx_the_capture.copies_by_file = got != sizeof word || __builtin_memcmp(copy, &word, sizeof word) != 0;
}

SBX_SIGNAL_SAFE size_t sbx_copy_stack(uint64_t from, size_t bytes, uint8_t *to)
{
    if (SBX_UNLIKELY(sbx_the_capture.copies_by_file)) {
        return copy_by_file(from, bytes < SBX_STACK_COPY_BYTES ? bytes : SBX_STACK_COPY_BYTES, to);
    }
    /* One element per page: the copy ends at the first unmapped page, and the bytes before it count. */
    struct iovec pages[2 + SBX_STACK_COPY_BYTES / 4096];
    unsigned count = 0;
    uint64_t at = from, end = from + (bytes < SBX_STACK_COPY_BYTES ? bytes : SBX_STACK_COPY_BYTES);
    while (at < end && count < SBX_COUNT_OF(pages)) {
        uint64_t next = (at | 4095) + 1;
        pages[count].iov_base = (void *)at;
        pages[count].iov_len = (next < end ? next : end) - at;
        count++;
        at = next;
    }
    struct iovec whole = {to, end - from};
    long got = syscall(SYS_process_vm_readv, (long)sbx_the_capture.header->pid, &whole, 1, pages, count, 0);
    return got > 0 ? (size_t)got : 0;
}
