/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_pages.c - writes a memory file, seals it and maps it. */
#include "sealed_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file_bytes.h"

enum { /* include/uapi/linux/memfd.h and fcntl.h; older headers lack some of them */
    CLOEXEC = 1,
    ALLOW_SEALING = 2,
    NOEXEC_SEAL = 8,          /* Linux 6.3, which warns without it */
    ADD_SEALS = 1024 + 9,     /* F_ADD_SEALS */
    ALL_SEALS = 1 | 2 | 4 | 8 /* no more seals, no shrinking, no growing, no writing */
};

/* No memory file under a seccomp filter, because the filter's author may not have expected these calls. And none larger
 * than RLIMIT_FSIZE, because writing it would send the program a signal. */
static bool may_make_file(size_t bytes)
{
    struct rlimit limit;
    return prctl(PR_GET_SECCOMP) == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

static int make_file(void)
{
    int file = (int)syscall(SYS_memfd_create, "stallbox-rows", CLOEXEC | NOEXEC_SEAL);
    return file < 0 && errno == EINVAL ? (int)syscall(SYS_memfd_create, "stallbox-rows", CLOEXEC | ALLOW_SEALING)
                                       : file;
}

static void *map_file_of(const void *pages, size_t bytes)
{
    void *mapping = MAP_FAILED;
    int file = may_make_file(bytes) ? make_file() : -1;
    if (file >= 0 && sbx_file_write(file, 0, pages, bytes) == 0 && fcntl(file, ADD_SEALS, ALL_SEALS) == 0) {
        mapping = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    return mapping;
}

void *sbx_pages_seal(void *pages, size_t bytes)
{
    void *sealed = map_file_of(pages, bytes);
    if (sealed == MAP_FAILED) {
        (void)mprotect(pages, bytes, PROT_READ); /* on failure they stay writable */
        return pages;
    }
    (void)madvise(sealed, bytes, MADV_NOHUGEPAGE);
    munmap(pages, bytes);
    return sealed;
}
