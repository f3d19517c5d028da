/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_pages.c - writes memory files, seals them and maps them. */
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
#include "process_state.h"

enum { /* include/uapi/linux/memfd.h and fcntl.h; older headers lack some of them */
    CLOEXEC = 1,
    ALLOW_SEALING = 2,
    NOEXEC_SEAL = 8,          /* Linux 6.3, which warns without it */
    ADD_SEALS = 1024 + 9,     /* F_ADD_SEALS */
    ALL_SEALS = 1 | 2 | 4 | 8 /* no more seals, no shrinking, no growing, no writing */
};

enum {
    SHARED_FILE_BYTES = 16 << 20 /* a large program's rows have 12 MiB */
};

/* The memory file that many pages share, so that they are one mapping. A fork copies each mapping. */
static struct {
    int descriptor; /* 0: there is none */
    uint8_t *begin; /* SHARED_FILE_BYTES of addresses, of which the first `used` show the file */
    size_t used;
} shared_file;
static bool may_keep_descriptor;
SBX_OF_ONE_PROCESS(shared_file);
SBX_OF_ONE_PROCESS(may_keep_descriptor);

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

/* ---- many in one file ---- */

/* Addresses alone. Not where the program has a limit of them: it may need the rest. */
static uint8_t *reserve_addresses(size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) {
        return MAP_FAILED;
    }
    return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static bool begin_shared_file(void)
{
    int descriptor = may_make_file(SHARED_FILE_BYTES) ? make_file() : -1;
    void *begin = descriptor > 0 ? reserve_addresses(SHARED_FILE_BYTES) : MAP_FAILED;
    if (begin == MAP_FAILED) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        return false;
    }
    shared_file.descriptor = descriptor;
    shared_file.begin = begin;
    shared_file.used = 0;
    return true;
}

void sbx_pages_seal_rest(void)
{
    if (shared_file.descriptor == 0) {
        return;
    }
    (void)fcntl(shared_file.descriptor, ADD_SEALS, ALL_SEALS); /* nobody else has the descriptor */
    close(shared_file.descriptor);
    if (shared_file.used < SHARED_FILE_BYTES) {
        munmap(shared_file.begin + shared_file.used, SHARED_FILE_BYTES - shared_file.used);
    }
    shared_file.descriptor = 0;
}

void sbx_pages_seal_together(bool has_own_descriptors)
{
    if (!has_own_descriptors) {
        sbx_pages_seal_rest();
    }
    may_keep_descriptor = has_own_descriptors;
}

static void *map_part_of_shared_file(const void *pages, size_t bytes)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page_bytes - 1) & ~(page_bytes - 1);
    if (!may_keep_descriptor || whole > SHARED_FILE_BYTES) {
        return MAP_FAILED;
    }
    if (shared_file.descriptor != 0 && whole > SHARED_FILE_BYTES - shared_file.used) {
        sbx_pages_seal_rest();
    }
    if (shared_file.descriptor == 0 && !begin_shared_file()) {
        return MAP_FAILED;
    }
    uint8_t *place = shared_file.begin + shared_file.used;
    void *mapping = MAP_FAILED;
    if (may_make_file(shared_file.used + whole) &&
        sbx_file_write(shared_file.descriptor, (off_t)shared_file.used, pages, bytes) == 0) {
        mapping =
            mmap(place, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, shared_file.descriptor, (off_t)shared_file.used);
    }
    if (mapping == MAP_FAILED) {
        sbx_pages_seal_rest();
    } else {
        shared_file.used += whole;
    }
    return mapping;
}

/* ---- one by one ---- */

void *sbx_pages_seal(void *pages, size_t bytes)
{
    void *sealed = map_part_of_shared_file(pages, bytes);
    sealed = sealed != MAP_FAILED ? sealed : map_file_of(pages, bytes);
    if (sealed == MAP_FAILED) {
        (void)mprotect(pages, bytes, PROT_READ); /* on failure they stay writable */
        return pages;
    }
    (void)madvise(sealed, bytes, MADV_NOHUGEPAGE);
    munmap(pages, bytes);
    return sealed;
}
