/* SPDX-License-Identifier: Apache-2.0 */
/* policy_shelf.c - files to read and to replace. */
#include "policy_shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct sbx_policy_shelf {
    int folder;
};

int sbx_policy_shelf_open(const char *data_dir, struct sbx_policy_shelf **shelf_out)
{
    struct sbx_policy_shelf *shelf = calloc(1, sizeof(*shelf));
    char *path;
    int result = 0;
    if (!shelf || asprintf(&path, "%s/policy", data_dir) < 0) {
        free(shelf);
        return -ENOMEM;
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        result = -errno;
    shelf->folder = result == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (result == 0 && shelf->folder < 0)
        result = -errno;
    free(path);
    if (result < 0) {
        free(shelf);
        return result;
    }
    *shelf_out = shelf;
    return 0;
}

void sbx_policy_shelf_close(struct sbx_policy_shelf *shelf)
{
    if (!shelf)
        return;
    close(shelf->folder);
    free(shelf);
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo): whether a file is the one a machine has is no matter of trust. */
static void print_tag(const char *bytes, size_t count, char tag_out[SBX_POLICY_TAG_BYTES])
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(1099511628211);
    snprintf(tag_out, SBX_POLICY_TAG_BYTES, "\"%016llx\"", (unsigned long long)hash);
}

int sbx_policy_shelf_read(const struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                          struct sbx_byte_buffer *bytes_out, char tag_out[SBX_POLICY_TAG_BYTES])
{
    char name[SBX_ID_TEXT_BYTES], part[8192];
    struct stat status;
    int result = 0;
    sbx_id_print(app_id, name);
    int file = openat(shelf->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return -errno;
    if (fstat(file, &status) < 0)
        result = -errno;
    else if (!S_ISREG(status.st_mode))
        result = -ENOENT;
    while (result == 0) {
        ssize_t got = read(file, part, sizeof(part));
        if (got < 0)
            result = -errno;
        if (got <= 0)
            break;
        sbx_byte_buffer_append(bytes_out, part, (size_t)got);
        if (bytes_out->used > SBX_POLICY_FILE_MAX)
            result = -EFBIG;
    }
    close(file);
    if (result == 0)
        print_tag(bytes_out->data ? bytes_out->data : "", bytes_out->used, tag_out);
    return result;
}

int sbx_policy_shelf_write(const struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES], const void *bytes,
                           size_t count)
{
    char name[SBX_ID_TEXT_BYTES], temporary[SBX_ID_TEXT_BYTES + 32];
    uint32_t random;
    if (count < 12 || memcmp(bytes, "SBXP", 4) != 0)
        return -EINVAL;
    if (count > SBX_POLICY_FILE_MAX)
        return -EFBIG;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    sbx_id_print(app_id, name);
    snprintf(temporary, sizeof(temporary), ".%s-%08x.tmp", name, random);
    int file = openat(shelf->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    int result = 0;
    for (size_t done = 0; done < count && result == 0;) {
        ssize_t written = write(file, (const char *)bytes + done, count - done);
        if (written < 0 && errno != EINTR)
            result = -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    if (result == 0 && fsync(file) < 0)
        result = -errno;
    if (close(file) < 0 && result == 0)
        result = -errno;
    if (result == 0 && renameat(shelf->folder, temporary, shelf->folder, name) < 0)
        result = -errno;
    if (result < 0)
        unlinkat(shelf->folder, temporary, 0);
    else if (fsync(shelf->folder) < 0)
        result = -errno;
    return result;
}
