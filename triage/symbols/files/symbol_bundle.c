/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_bundle.c - a table, and the files after it. */
#include "symbol_bundle.h"

#include <endian.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[SBX_BUNDLE_BEGIN_BYTES] = {'S', 'B', 'X', 'P', 'A', 'R', 'T', 'S'};

enum {
    VERSION = 1,
    COPY_BYTES = 256 << 10
};

struct head {
    char magic[8];
    uint32_t version, count;
};
struct row {
    uint32_t kind, zero;
    uint64_t offset, bytes;
};

bool sbx_bundle_is(const void *begin, size_t bytes)
{
    return bytes >= sizeof magic && memcmp(begin, magic, sizeof magic) == 0;
}

/* ---- reading ---- */

static int read_exactly(int fd, void *into, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)into + done, bytes - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -errno : -EBADMSG;
        }
        done += (size_t)got;
    }
    return 0;
}

int sbx_bundle_read(int fd, struct sbx_bundle *bundle_out)
{
    struct head head;
    off_t end = lseek(fd, 0, SEEK_END); /* not by fstat(): the worker's filter forbids it */
    *bundle_out = (struct sbx_bundle){NULL, 0};
    int result = end < 0 ? -errno : read_exactly(fd, &head, sizeof head, 0);
    if (result != 0) {
        return result;
    }
    size_t count = le32toh(head.count);
    if (!sbx_bundle_is(head.magic, sizeof head.magic) || le32toh(head.version) != VERSION || count == 0 ||
        count > SBX_BUNDLE_MEMBERS_MAX) {
        return -EBADMSG;
    }
    struct row *rows = malloc(count * sizeof *rows);
    struct sbx_bundle_member *members = calloc(count, sizeof *members);
    result = rows == NULL || members == NULL ? -ENOMEM : read_exactly(fd, rows, count * sizeof *rows, sizeof head);
    uint64_t from = sizeof head + count * sizeof *rows, size = (uint64_t)end;
    for (size_t i = 0; i < count && result == 0; i++) {
        members[i] = (struct sbx_bundle_member){le32toh(rows[i].kind), le64toh(rows[i].offset), le64toh(rows[i].bytes)};
        bool is_known = members[i].kind >= SBX_BUNDLE_PROGRAM && members[i].kind <= SBX_BUNDLE_PART;
        bool lies_well = members[i].offset % 8 == 0 && members[i].offset >= from && members[i].offset <= size &&
                         members[i].bytes <= size - members[i].offset;
        result = is_known && lies_well && rows[i].zero == 0 ? 0 : -EBADMSG;
        from = members[i].offset + members[i].bytes;
    }
    free(rows);
    if (result != 0) {
        free(members);
        return result;
    }
    *bundle_out = (struct sbx_bundle){members, count};
    return 0;
}

/* ---- writing ---- */

struct known { /* a file that was added */
    dev_t device;
    ino_t inode;
};

struct sbx_bundle_writer {
    int fd, failure;
    struct row *rows;
    size_t count, max;
    uint64_t at;
    void *known; /* tsearch() */
};

static int compare_known(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    return x->device != y->device ? (x->device < y->device ? -1 : 1)
           : x->inode != y->inode ? (x->inode < y->inode ? -1 : 1)
                                  : 0;
}

static int write_exactly(int fd, const void *from, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t written = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(at + done));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? -errno : -EIO;
        }
        done += (size_t)written;
    }
    return 0;
}

int sbx_bundle_copy(int from, uint64_t offset, uint64_t bytes, int to, uint64_t to_offset)
{
    char *buffer = malloc(COPY_BYTES);
    int result = buffer == NULL ? -ENOMEM : 0;
    for (uint64_t done = 0; done < bytes && result == 0;) {
        size_t part = bytes - done < COPY_BYTES ? (size_t)(bytes - done) : COPY_BYTES;
        result = read_exactly(from, buffer, part, offset + done);
        result = result == 0 ? write_exactly(to, buffer, part, to_offset + done) : result;
        done += part;
    }
    free(buffer);
    return result;
}

struct sbx_bundle_writer *sbx_bundle_begin(int fd, size_t members_max)
{
    struct sbx_bundle_writer *writer = calloc(1, sizeof *writer);
    members_max = members_max > SBX_BUNDLE_MEMBERS_MAX ? SBX_BUNDLE_MEMBERS_MAX : members_max;
    if (writer != NULL) {
        *writer = (struct sbx_bundle_writer){.fd = fd,
                                             .rows = calloc(members_max + 1, sizeof *writer->rows),
                                             .max = members_max,
                                             .at = sizeof(struct head) + members_max * sizeof(struct row)};
    }
    if (writer != NULL && writer->rows == NULL) {
        free(writer);
        return NULL;
    }
    return writer;
}

/* Whether that file was added. If memory runs out: false. */
static bool is_known(struct sbx_bundle_writer *writer, const struct stat *status)
{
    struct known *known = malloc(sizeof *known);
    if (known == NULL) {
        return false;
    }
    *known = (struct known){status->st_dev, status->st_ino};
    struct known **found = tsearch(known, &writer->known, compare_known);
    bool was_there = found != NULL && *found != known;
    if (found == NULL || was_there) {
        free(known);
    }
    return was_there;
}

int sbx_bundle_add(struct sbx_bundle_writer *writer, enum sbx_bundle_kind kind, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return -EINVAL;
    }
    if (writer->failure != 0 || is_known(writer, &status)) {
        return writer->failure;
    }
    uint64_t at = (writer->at + 7) / 8 * 8, bytes = (uint64_t)status.st_size;
    writer->failure = writer->count == writer->max ? -E2BIG : sbx_bundle_copy(fd, 0, bytes, writer->fd, at);
    if (writer->failure == 0) {
        writer->rows[writer->count++] =
            (struct row){.kind = htole32(kind), .offset = htole64(at), .bytes = htole64(bytes)};
        writer->at = at + bytes;
    }
    return writer->failure;
}

size_t sbx_bundle_count(const struct sbx_bundle_writer *writer)
{
    return writer->count;
}

int sbx_bundle_end(struct sbx_bundle_writer *writer)
{
    if (writer == NULL) {
        return 0;
    }
    struct head head = {.version = htole32(VERSION), .count = htole32((uint32_t)writer->count)};
    memcpy(head.magic, magic, sizeof magic);
    int result = writer->failure;
    if (result == 0 && ftruncate(writer->fd, (off_t)writer->at) != 0) { /* an empty last member writes nothing */
        result = -errno;
    }
    result = result == 0 ? write_exactly(writer->fd, &head, sizeof head, 0) : result;
    result = result == 0 ? write_exactly(writer->fd, writer->rows, writer->count * sizeof *writer->rows, sizeof head)
                         : result;
    tdestroy(writer->known, free);
    free(writer->rows);
    free(writer);
    return result;
}
