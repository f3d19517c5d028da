/* SPDX-License-Identifier: Apache-2.0 */
/* policy_shelf.c - policies in files, or in rows of a database. */
#include "policy_shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_handle.h"
#include "store_schema.h"

enum {
    READ,
    WRITE,
    TAKE_OVER,
    STATEMENTS
};
static const char *const sql[STATEMENTS] = {
    [READ] = "SELECT document FROM policy WHERE app = ?1",
    [WRITE] = "INSERT OR REPLACE INTO policy(app, document) VALUES(?1, ?2)",
    [TAKE_OVER] = "INSERT OR IGNORE INTO policy(app, document) VALUES(?1, ?2)",
};

struct sbx_policy_shelf {
    int folder;
    bool is_shared; /* policies are in the shared database */
    struct sbx_store_handle database;
};

static int open_folder(const char *data_dir, struct sbx_policy_shelf *shelf)
{
    char *path;
    int result = 0;
    if (asprintf(&path, "%s/policy", data_dir) < 0)
        return -ENOMEM;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        result = -errno;
    shelf->folder = result == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (result == 0 && shelf->folder < 0)
        result = -errno;
    free(path);
    return result;
}

void sbx_policy_shelf_close(struct sbx_policy_shelf *shelf)
{
    if (!shelf)
        return;
    if (shelf->is_shared)
        sbx_store_handle_close(&shelf->database);
    if (shelf->folder >= 0)
        close(shelf->folder);
    free(shelf);
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo). The tag only tells whether a machine has the current file; it is not a proof of
 * anything. */
static void print_tag(const char *bytes, size_t count, char tag_out[SBX_POLICY_TAG_BYTES])
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(1099511628211);
    snprintf(tag_out, SBX_POLICY_TAG_BYTES, "\"%016llx\"", (unsigned long long)hash);
}

static int read_file(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                     struct sbx_byte_buffer *bytes_out)
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
    return result;
}

static int read_row(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                    struct sbx_byte_buffer *bytes_out)
{
    sbx_store_handle_lock(&shelf->database);
    struct sbx_statement *statement = sbx_store_handle_use(&shelf->database, READ);
    sbx_bind_blob(statement, 1, app_id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result > 0) {
        sbx_byte_buffer_append(bytes_out, sbx_column_blob(statement, 0), sbx_column_bytes(statement, 0));
        sbx_statement_reset(statement);
    }
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&shelf->database);
    return result > 0 ? (bytes_out->failed ? -ENOMEM : 0) : result == 0 ? -ENOENT : result;
}

static int write_row(struct sbx_policy_shelf *shelf, size_t index, const uint8_t app_id[SBX_ID_BYTES],
                     const void *bytes, size_t count)
{
    sbx_store_handle_lock(&shelf->database);
    struct sbx_statement *statement = sbx_store_handle_use(&shelf->database, index);
    sbx_bind_blob(statement, 1, app_id, SBX_ID_BYTES);
    sbx_bind_blob(statement, 2, bytes, count);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&shelf->database);
    return result;
}

int sbx_policy_shelf_read(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                          struct sbx_byte_buffer *bytes_out, char tag_out[SBX_POLICY_TAG_BYTES])
{
    int result = shelf->is_shared ? read_row(shelf, app_id, bytes_out) : read_file(shelf, app_id, bytes_out);
    if (result == 0)
        print_tag(bytes_out->data ? bytes_out->data : "", bytes_out->used, tag_out);
    return result;
}

/* Take over the files that this server offered before it had a database. */
static int take_over_files(struct sbx_policy_shelf *shelf)
{
    int listed = dup(shelf->folder), result = 0;
    DIR *folder = listed >= 0 ? fdopendir(listed) : NULL;
    if (!folder) {
        result = -errno;
        if (listed >= 0)
            close(listed);
        return result;
    }
    for (struct dirent *entry; result == 0 && (entry = readdir(folder)) != NULL;) {
        uint8_t app_id[SBX_ID_BYTES];
        struct sbx_byte_buffer bytes = {0};
        if (!sbx_id_parse(entry->d_name, strlen(entry->d_name), app_id))
            continue;
        if (read_file(shelf, app_id, &bytes) == 0 && !bytes.failed && bytes.used > 0)
            result = write_row(shelf, TAKE_OVER, app_id, bytes.data, bytes.used);
        sbx_byte_buffer_finish(&bytes);
    }
    closedir(folder);
    return result;
}

int sbx_policy_shelf_open(const char *data_dir, const char *database, struct sbx_policy_shelf **shelf_out, char *why,
                          size_t why_bytes)
{
    struct sbx_policy_shelf *shelf = calloc(1, sizeof(*shelf));
    if (!shelf) {
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    shelf->folder = -1;
    int result = open_folder(data_dir, shelf);
    if (result < 0)
        snprintf(why, why_bytes, "%s/policy: %s", data_dir, strerror(-result));
    if (result == 0 && database) {
        shelf->is_shared = true;
        result = sbx_store_handle_open(&shelf->database, database, sbx_store_postgres_setup, sql, STATEMENTS, why,
                                       why_bytes);
        if (result == 0 && (result = take_over_files(shelf)) < 0)
            snprintf(why, why_bytes, "%s/policy: %s", data_dir, strerror(-result));
    }
    if (result < 0) {
        sbx_policy_shelf_close(shelf);
        return result;
    }
    *shelf_out = shelf;
    return 0;
}

int sbx_policy_shelf_write(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES], const void *bytes,
                           size_t count)
{
    char name[SBX_ID_TEXT_BYTES], temporary[SBX_ID_TEXT_BYTES + 32];
    uint32_t random;
    if (count < 12 || memcmp(bytes, "SBXP", 4) != 0)
        return -EINVAL;
    if (count > SBX_POLICY_FILE_MAX)
        return -EFBIG;
    if (shelf->is_shared)
        return write_row(shelf, WRITE, app_id, bytes, count);
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
