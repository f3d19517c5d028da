/* SPDX-License-Identifier: Apache-2.0 */
/* process_memory.c - process_vm_readv(2), or /proc/PID/mem where a sandbox forbids that call. */
#include "process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096,
    PART_BYTES = 1 << 30 /* one call gives 2 GiB at most */
};

static ssize_t read_mem_file(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    ssize_t got = pread(file, to, bytes, (off_t)address);
    int error = errno == EIO ? EFAULT : errno;
    close(file);
    errno = error;
    return got;
}

static ssize_t read_part(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return got < 0 && errno == ENOSYS ? read_mem_file(pid, address, to, bytes) : got;
}

int sbx_process_memory_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    while (bytes > 0) {
        ssize_t got = read_part(pid, address, to, bytes < PART_BYTES ? bytes : PART_BYTES);
        if (got <= 0) {
            return got == 0 ? -EFAULT : -errno;
        }
        to = (char *)to + got;
        address += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

size_t sbx_process_memory_read_some(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = read_part(pid, address + done, (char *)to + done, bytes - done);
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    return done;
}

int sbx_process_memory_read_text(pid_t pid, uint64_t address, char *to, size_t bytes)
{
    size_t in_page = PAGE_BYTES - address % PAGE_BYTES;
    size_t got = sbx_process_memory_read_some(pid, address, to, bytes < in_page ? bytes : in_page);
    if (got == in_page && got < bytes && memchr(to, 0, got) == NULL) {
        got += sbx_process_memory_read_some(pid, address + got, to + got, bytes - got);
    }
    return got > 0 && memchr(to, 0, got) != NULL ? 0 : -EFAULT;
}
