/* SPDX-License-Identifier: Apache-2.0 */
/* provider_shelf.c - merges maps of names, and writes them under another name first. */
#include "provider_shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider_map.h"

#define FIRST_WORDS "stallbox-provider-map 1\t"

struct sbx_provider_shelf {
    char *folder;
    int fd;
};

int sbx_provider_shelf_open(const char *data_dir, struct sbx_provider_shelf **shelf_out)
{
    struct sbx_provider_shelf *shelf = calloc(1, sizeof(*shelf));
    if (!shelf || asprintf(&shelf->folder, "%s/providers", data_dir) < 0) {
        free(shelf);
        return -ENOMEM;
    }
    if (mkdir(shelf->folder, 0700) < 0 && errno != EEXIST)
        shelf->fd = -1;
    else
        shelf->fd = open(shelf->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (shelf->fd < 0) {
        int result = -errno;
        free(shelf->folder);
        free(shelf);
        return result;
    }
    *shelf_out = shelf;
    return 0;
}

void sbx_provider_shelf_close(struct sbx_provider_shelf *shelf)
{
    if (!shelf)
        return;
    close(shelf->fd);
    free(shelf->folder);
    free(shelf);
}

const char *sbx_provider_shelf_folder(const struct sbx_provider_shelf *shelf)
{
    return shelf->folder;
}

int sbx_provider_shelf_is_map(const char *text, size_t bytes)
{
    return bytes >= strlen(FIRST_WORDS) && memcmp(text, FIRST_WORDS, strlen(FIRST_WORDS)) == 0;
}

/* Read the runtime's name from the first line. A file name is made of it, so it has only letters, digits, '-', '_' and
 * '.'. */
static bool read_name(const char *text, size_t bytes, char name_out[SBX_PROVIDER_NAME_BYTES])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t begin = strlen(FIRST_WORDS), length = 0;
    if (!sbx_provider_shelf_is_map(text, bytes))
        return false;
    while (begin + length < bytes && text[begin + length] != '\n')
        length++;
    if (length == 0 || length >= SBX_PROVIDER_NAME_BYTES || text[begin] == '.')
        return false;
    memcpy(name_out, text + begin, length);
    name_out[length] = '\0';
    return strspn(name_out, allowed) == length;
}

/* ---- merging ---- */

struct merge {
    struct sbx_provider_map *there;
    struct sbx_shelved *shelved;
    FILE *out; /* NULL: the lines are only counted */
};

static void merge_function(void *context, const struct sbx_provider_function *function)
{
    struct merge *merge = context;
    const struct sbx_provider_function *there = sbx_provider_map_find(merge->there, function->provider, function->id);
    if (!there) {
        merge->shelved->added++;
        fprintf(merge->out, "%016" PRIx64 "\t%u\t%s\t%s%s%s\n", function->id, function->line, function->file,
                function->function, function->lines[0] != '\0' ? "\t" : "", function->lines);
    } else if (there->line == function->line && strcmp(there->file, function->file) == 0 &&
               strcmp(there->function, function->function) == 0 && strcmp(there->lines, function->lines) == 0) {
        merge->shelved->same++;
    } else {
        merge->shelved->different++;
    }
}

/* Copy what the file has now, before the new lines; without a file, write its first line. Returns 0 or -errno. */
static int copy_old(const struct sbx_provider_shelf *shelf, const char *file, const char *name, FILE *out)
{
    char buffer[16384];
    char last = '\n';
    int fd = openat(shelf->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT)
        return -errno;
    if (fd < 0) {
        fprintf(out, FIRST_WORDS "%s\n", name);
        return 0;
    }
    ssize_t got;
    while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
        fwrite(buffer, 1, (size_t)got, out);
        last = buffer[got - 1];
    }
    int result = got < 0 ? -errno : 0;
    close(fd);
    if (last != '\n')
        fputc('\n', out);
    return result;
}

/* Write the merged file under another name, and rename it if it has anything new. Returns 0 or -errno. */
static int write_merged(const struct sbx_provider_shelf *shelf, struct sbx_provider_map *fresh, struct merge *merge)
{
    char file[SBX_PROVIDER_NAME_BYTES + 16], aside[SBX_PROVIDER_NAME_BYTES + 16];
    snprintf(file, sizeof(file), "provider-%s.map", merge->shelved->name);
    snprintf(aside, sizeof(aside), ".new-%s", merge->shelved->name);
    int fd = openat(shelf->fd, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    merge->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!merge->out) {
        int result = -errno;
        if (fd >= 0)
            close(fd);
        return result;
    }
    int result = copy_old(shelf, file, merge->shelved->name, merge->out);
    sbx_provider_map_each(fresh, merge_function, merge);
    long bytes = ftell(merge->out);
    if (result == 0 && bytes > SBX_PROVIDER_FILE_BYTES_MAX)
        result = -E2BIG;
    if (fflush(merge->out) != 0 && result == 0)
        result = -errno;
    if (ferror(merge->out) && result == 0)
        result = -ENOSPC;
    if (result == 0 && merge->shelved->added && fsync(fd) < 0)
        result = -errno;
    if (fclose(merge->out) != 0 && result == 0)
        result = -errno;
    if (result == 0 && merge->shelved->added &&
        (renameat(shelf->fd, aside, shelf->fd, file) < 0 || fsync(shelf->fd) < 0))
        result = -errno;
    (void)unlinkat(shelf->fd, aside, 0);
    return result;
}

int sbx_provider_shelf_add(struct sbx_provider_shelf *shelf, const char *text, size_t bytes,
                           struct sbx_shelved *shelved_out, char *why, size_t why_bytes)
{
    *shelved_out = (struct sbx_shelved){0};
    if (!read_name(text, bytes, shelved_out->name)) {
        snprintf(why, why_bytes,
                 "the first line of a map of names is \"stallbox-provider-map 1\", a tab, and the name of"
                 " its runtime: 1 to 23 letters, digits, '-', '_' and '.'");
        return -EBADMSG;
    }
    shelved_out->number = sbx_provider_number(shelved_out->name);
    struct sbx_provider_map *fresh = sbx_provider_map_create(), *there = sbx_provider_map_create();
    struct merge merge = {.there = there, .shelved = shelved_out};
    int result = fresh && there ? sbx_provider_map_add(fresh, text, bytes) : -ENOMEM;
    if (result == 0) {
        snprintf(why, why_bytes, "the map of names has no function");
        result = -EBADMSG;
    } else if (result == -EPROTO) {
        snprintf(why, why_bytes, "no map of names");
        result = -EBADMSG;
    }
    if (result > 0)
        result = sbx_provider_map_add_folder(there, shelf->folder);
    if (result == 0 && (sbx_provider_map_count(fresh) > SBX_PROVIDER_FUNCTIONS_MAX - sbx_provider_map_count(there) ||
                        (!sbx_provider_map_name(there, shelved_out->number) &&
                         sbx_provider_map_names(there) == SBX_PROVIDER_NAMES_MAX)))
        result = -E2BIG;
    if (result == 0)
        result = write_merged(shelf, fresh, &merge);
    if (result == -E2BIG)
        snprintf(why, why_bytes, "there would be more than %d functions, %d runtimes, or %d MiB in one map",
                 SBX_PROVIDER_FUNCTIONS_MAX, SBX_PROVIDER_NAMES_MAX, SBX_PROVIDER_FILE_BYTES_MAX >> 20);
    else if (result < 0 && result != -EBADMSG)
        snprintf(why, why_bytes, "%s", strerror(-result));
    sbx_provider_map_destroy(fresh);
    sbx_provider_map_destroy(there);
    return result;
}
