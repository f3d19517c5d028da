/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_file.c - O_EXCL, a lock, and a test for the owner of the lock. */
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    NAME_TRIES = 8 /* a planted or left-over name costs one try; eight in a row are not chance */
};

static uint32_t any_number(const void *salt)
{
    uint32_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        struct timespec now = {0, 0}; /* early boot, or forbidden: a name that is taken is detected */
        clock_gettime(CLOCK_MONOTONIC, &now);
        random = (uint32_t)now.tv_nsec ^ (uint32_t)((uintptr_t)salt >> 4);
    }
    return random;
}

/* Takes the lock of a file that was just created. False if another process swept the file between the open and the
 * lock: then it has lost its name, or is about to lose it. On a file system without locks the file is only protected by
 * its age. */
static bool hold(int file)
{
    struct stat status;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return false;
    }
    return fstat(file, &status) == 0 && status.st_nlink != 0;
}

int sbx_temporary_create(int folder, const char *name, char temporary_out[SBX_TEMPORARY_NAME_BYTES])
{
    for (int i = 0; i < NAME_TRIES; i++) {
        int length = snprintf(temporary_out, SBX_TEMPORARY_NAME_BYTES, ".%s-%08x.%d.tmp", name,
                              (unsigned)any_number(temporary_out), (int)getpid());
        if (length < 0 || length >= SBX_TEMPORARY_NAME_BYTES) {
            return -ENAMETOOLONG;
        }
        int file = openat(folder, temporary_out, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST) {
            return -errno;
        }
        if (file >= 0 && hold(file)) {
            return file;
        }
        if (file >= 0) {
            unlinkat(folder, temporary_out, 0);
            close(file);
        }
    }
    return -EEXIST;
}

static enum sbx_writer ask(int folder, const char *name, bool sweeps)
{
    struct stat status;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        return SBX_WRITER_UNKNOWN;
    }
    enum sbx_writer writer = SBX_WRITER_UNKNOWN;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) {
        if (flock(file, LOCK_SH | LOCK_NB) == 0) {
            writer = SBX_WRITER_IS_GONE;
            if (sweeps) {
                unlinkat(folder, name, 0); /* on failure it stays for the next sweep */
            }
        } else if (errno == EWOULDBLOCK) {
            writer = SBX_WRITER_LIVES;
        }
    }
    close(file);
    return writer;
}

enum sbx_writer sbx_temporary_writer(int folder, const char *name)
{
    return ask(folder, name, false);
}

enum sbx_writer sbx_temporary_sweep(int folder, const char *name)
{
    return ask(folder, name, true);
}

void *sbx_lock_keep(int file)
{
    void *kept = mmap(NULL, PAGE, PROT_NONE, MAP_SHARED, file, 0);
    if (kept != MAP_FAILED && madvise(kept, PAGE, MADV_DONTFORK) != 0) {
        munmap(kept, PAGE);
        kept = MAP_FAILED;
    }
    return kept != MAP_FAILED ? kept : NULL;
}

void sbx_lock_drop(void *kept)
{
    if (kept != NULL) {
        munmap(kept, PAGE);
    }
}
