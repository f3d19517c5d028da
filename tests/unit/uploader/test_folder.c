/* SPDX-License-Identifier: Apache-2.0 */
/* test_folder.c - folders and files for tests. */
#include "test_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void give_up(const char *what)
{
    perror(what);
    abort();
}

char *sbx_test_folder_make(void)
{
    char *path = strdup("/tmp/sbx-test-XXXXXX");
    if (path == NULL || mkdtemp(path) == NULL) {
        give_up("mkdtemp");
    }
    return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void sbx_test_folder_remove(char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    free(path);
}

const char *sbx_test_path(const char *folder, const char *name)
{
    static char paths[8][4400];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

bool sbx_test_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

void sbx_test_write(const char *path, const void *content, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(content, 1, bytes, file) != bytes || fclose(file) != 0) {
        give_up(path);
    }
}

uint8_t *sbx_test_read(const char *path, size_t *bytes_out)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        give_up(path);
    }
    uint8_t *content = malloc((size_t)status.st_size + 1);
    if (content == NULL || fread(content, 1, (size_t)status.st_size, file) != (size_t)status.st_size) {
        give_up(path);
    }
    content[status.st_size] = '\0';
    fclose(file);
    *bytes_out = (size_t)status.st_size;
    return content;
}

unsigned sbx_test_count(const char *folder, const char *suffix)
{
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        give_up(folder);
    }
    unsigned count = 0;
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name), suffix_length = strlen(suffix);
        struct stat status;
        if (length >= suffix_length && strcmp(entry->d_name + length - suffix_length, suffix) == 0 &&
            fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode)) {
            count++;
        }
    }
    closedir(listing);
    return count;
}

bool sbx_test_contains(const void *haystack, size_t bytes, const void *needle, size_t needle_bytes)
{
    return memmem(haystack, bytes, needle, needle_bytes) != NULL;
}
