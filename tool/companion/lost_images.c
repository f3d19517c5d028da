/* SPDX-License-Identifier: Apache-2.0 */
/* lost_images.c - descriptors of executables, and copies of executables that have lost their path. */
#include "lost_images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "durable_file.h"
#include "temporary_file.h"

enum {
    COPY_BYTES = 1 << 20,
    KEY_BYTES = 64
};

static const char folder_name[] = "images";

struct image {
    int file;
    dev_t device;
    ino_t number;
    bool is_kept; /* copied, or the copy failed */
};

struct sbx_lost_images {
    const char *spool_path;
    pthread_mutex_t lock; /* protects the members below */
    struct image held[SBX_IMAGES_HELD_MAX];
    unsigned count;
};

struct sbx_lost_images *sbx_lost_images_create(const char *spool_path)
{
    struct sbx_lost_images *images = calloc(1, sizeof *images);
    if (images != NULL) {
        images->spool_path = spool_path;
        pthread_mutex_init(&images->lock, NULL);
    }
    return images;
}

void sbx_lost_images_destroy(struct sbx_lost_images *images)
{
    for (unsigned i = 0; images != NULL && i < images->count; i++) {
        close(images->held[i].file);
    }
    if (images != NULL) {
        pthread_mutex_destroy(&images->lock);
    }
    free(images);
}

static bool is_held(const struct sbx_lost_images *images, const struct stat *status)
{
    for (unsigned i = 0; i < images->count; i++) {
        if (images->held[i].number == status->st_ino && images->held[i].device == status->st_dev) {
            return true;
        }
    }
    return false;
}

void sbx_lost_images_see(struct sbx_lost_images *images, uint32_t pid)
{
    char path[40];
    struct stat status;
    if (images == NULL) {
        return;
    }
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return; /* it has ended, or we may not look at it */
    }
    pthread_mutex_lock(&images->lock);
    bool is_new = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && !is_held(images, &status) &&
                  images->count < SBX_IMAGES_HELD_MAX;
    if (is_new) {
        images->held[images->count++] = (struct image){.file = file, .device = status.st_dev, .number = status.st_ino};
    }
    pthread_mutex_unlock(&images->lock);
    if (!is_new) {
        close(file);
    }
}

/* Does the path of the executable now lead to another file, or to none? `path_out` is that path. */
static bool is_lost(const struct image *image, char path_out[PATH_MAX])
{
    static const char deleted[] = " (deleted)"; /* the kernel appends this to the path */
    char link[40];
    struct stat status;
    snprintf(link, sizeof link, "/proc/self/fd/%d", image->file);
    ssize_t bytes = readlink(link, path_out, PATH_MAX - 1);
    if (bytes <= 0) {
        return false;
    }
    path_out[bytes] = '\0';
    bool lost = stat(path_out, &status) != 0 || status.st_dev != image->device || status.st_ino != image->number;
    size_t mark = sizeof deleted - 1;
    if (lost && (size_t)bytes > mark && strcmp(path_out + bytes - mark, deleted) == 0) {
        path_out[(size_t)bytes - mark] = '\0';
    }
    return lost;
}

/* Open `name` in `folder` as a folder; -1: it is not one. */
static int open_folder(int folder, const char *name)
{
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Add up the sizes of the files in `folder`, which is then closed. `removes`: also remove the files. */
static uint64_t go_through(int folder, bool removes)
{
    DIR *listing = folder >= 0 ? fdopendir(folder) : NULL;
    uint64_t sum = 0;
    if (listing == NULL) {
        if (folder >= 0) {
            close(folder);
        }
        return 0;
    }
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        struct stat status;
        if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
            sum += (uint64_t)status.st_size;
            if (removes) {
                (void)unlinkat(folder, entry->d_name, 0);
            }
        }
    }
    closedir(listing);
    return sum;
}

/* Remove the oldest copies until there is room for `bytes` more. Each copy is in its own folder. */
static void make_room(int folder, uint64_t bytes)
{
    for (;;) {
        DIR *listing = fdopendir(open_folder(folder, "."));
        char oldest[NAME_MAX + 1] = "";
        time_t oldest_s = 0;
        uint64_t sum = 0;
        if (listing == NULL) {
            return;
        }
        for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
            struct stat status;
            if (entry->d_name[0] == '.' || fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISDIR(status.st_mode)) {
                continue;
            }
            sum += go_through(open_folder(folder, entry->d_name), false);
            if (oldest[0] == '\0' || status.st_mtime < oldest_s) {
                oldest_s = status.st_mtime;
                snprintf(oldest, sizeof oldest, "%s", entry->d_name);
            }
        }
        closedir(listing);
        if (sum + bytes <= (uint64_t)SBX_IMAGES_MIB_MAX << 20 || oldest[0] == '\0') {
            return;
        }
        (void)go_through(open_folder(folder, oldest), true);
        if (unlinkat(folder, oldest, AT_REMOVEDIR) != 0) {
            return;
        }
    }
}

static int copy_bytes(int from, int to)
{
    char *buffer = malloc(COPY_BYTES);
    int result = buffer == NULL ? -ENOMEM : 0;
    off_t at = 0;
    while (result == 0) {
        ssize_t got = pread(from, buffer, COPY_BYTES, at);
        if (got <= 0) {
            result = got < 0 ? -errno : 0;
            break;
        }
        for (ssize_t done = 0; done < got && result == 0;) {
            ssize_t put = write(to, buffer + done, (size_t)(got - done));
            result = put < 0 ? -errno : 0;
            done += put > 0 ? put : 0;
        }
        at += got;
    }
    free(buffer);
    return result;
}

/* Copy to `name` in `folder`. Returns 0 or -errno. */
static int copy_file(int from, int folder, const char *name)
{
    char temporary[SBX_TEMPORARY_NAME_BYTES];
    int copy = sbx_temporary_create(folder, name, temporary);
    if (copy < 0) {
        return copy;
    }
    int result = copy_bytes(from, copy);
    if (result == 0 && renameat(folder, temporary, folder, name) != 0) {
        result = -errno;
    }
    if (result != 0) {
        (void)unlinkat(folder, temporary, 0);
    }
    close(copy);
    return result;
}

/* Returns 1: copied; 0: no copy is needed, or the file is too large; or -errno. */
static int keep_one(int images, const struct image *image, const char *path)
{
    struct stat status;
    struct statvfs space;
    char key[KEY_BYTES];
    const char *slash = strrchr(path, '/'), *name = slash != NULL && slash[1] != '\0' ? slash + 1 : "program";
    if (fstat(image->file, &status) != 0 || fstatvfs(images, &space) != 0) {
        return -errno;
    }
    snprintf(key, sizeof key, "%llx-%llx-%llx", (unsigned long long)status.st_dev, (unsigned long long)status.st_ino,
             (unsigned long long)status.st_mtim.tv_sec);
    uint64_t bytes = (uint64_t)status.st_size, room = (uint64_t)space.f_bavail * space.f_frsize;
    if (bytes > (uint64_t)SBX_IMAGE_MIB_MAX << 20 || bytes > room / SBX_IMAGES_FREE_SHARE) {
        return 0;
    }
    make_room(images, bytes);
    (void)mkdirat(images, key, 0700);
    int folder = open_folder(images, key);
    if (folder < 0) {
        return -errno;
    }
    sbx_durable_file_sweep(folder); /* files of a companion that was killed during a copy */
    int result = faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : 1;
    if (result == 1) {
        int error = copy_file(image->file, folder, name);
        result = error != 0 ? error : 1;
    }
    close(folder);
    if (result < 0) {
        (void)unlinkat(images, key, AT_REMOVEDIR);
    }
    return result;
}

/* Open SPOOL/images, and make it when it is missing. Returns a descriptor or -errno. */
static int open_images(const char *spool_path)
{
    int spool = open(spool_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spool < 0) {
        return -errno;
    }
    (void)mkdirat(spool, folder_name, 0700);
    int folder = open_folder(spool, folder_name);
    int result = folder >= 0 ? folder : -errno;
    close(spool);
    return result;
}

int sbx_lost_images_keep(struct sbx_lost_images *images)
{
    int copied = 0, folder = -1;
    char path[PATH_MAX];
    if (images == NULL) {
        return 0;
    }
    pthread_mutex_lock(&images->lock);
    for (unsigned i = 0; i < images->count && copied >= 0; i++) {
        struct image *image = &images->held[i];
        if (image->is_kept || !is_lost(image, path)) {
            continue;
        }
        image->is_kept = true;
        folder = folder >= 0 ? folder : open_images(images->spool_path);
        int result = folder >= 0 ? keep_one(folder, image, path) : folder;
        copied = result < 0 ? result : copied + result;
    }
    if (folder >= 0) {
        close(folder);
    }
    pthread_mutex_unlock(&images->lock);
    return copied;
}
