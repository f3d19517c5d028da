/* SPDX-License-Identifier: Apache-2.0 */
/* split_files.c - finds the files with the split debug information of a program. */
#include "split_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol_bundle.h"

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), end_bytes = strlen(end);
    return bytes > end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

bool sbx_split_files_is_part(const char *path)
{
    return ends_with(path, ".dwo") || ends_with(path, ".dwp");
}

void sbx_split_files_open(struct sbx_split_files *files, const char *path)
{
    struct stat status;
    if ((files->count == SBX_SPLIT_PARTS_MAX && files->bundle == NULL) || !sbx_split_files_is_part(path)) {
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0 && files->bundle != NULL) {
        (void)sbx_bundle_add(files->bundle, SBX_BUNDLE_PART, fd); /* the end of the bundle reports failures */
        close(fd);
    } else if (fd >= 0) {
        files->descriptors[files->count++] = fd;
    }
}

void sbx_split_files_open_beside(struct sbx_split_files *files, const char *path)
{
    char tried[PATH_MAX], folder[PATH_MAX];
    size_t bytes = strlen(path);
    if (bytes + 8 > sizeof tried) {
        return;
    }
    snprintf(tried, sizeof tried, "%s.dwp", path);
    sbx_split_files_open(files, tried);
    if (ends_with(path, ".debug")) {
        snprintf(tried, sizeof tried, "%.*s.dwp", (int)(bytes - 6), path);
        sbx_split_files_open(files, tried);
    }
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1, slash == NULL ? "." : path);
    DIR *listing = opendir(folder);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        int length = snprintf(tried, sizeof tried, "%s/%s", folder, entry->d_name);
        if (ends_with(entry->d_name, ".dwo") && length > 0 && (size_t)length < sizeof tried) {
            sbx_split_files_open(files, tried);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
}
