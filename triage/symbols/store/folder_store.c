/* SPDX-License-Identifier: Apache-2.0 */
/* folder_store.c - images by build-id, in one folder. */
#include "folder_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_backend.h"
#include "store_rules.h"

enum {
    DRAFT_KEEP_S = 86400, /* a writer that takes longer than a day is taken to be dead */
    NAME_BYTES = 2 * SBX_IMAGE_BUILD_ID_BYTES_MAX + 5
};
static const char suffix[] = ".sym";
static const char draft_prefix[] = ".draft-";

struct folder_store {
    struct sbx_symbol_store base;
    int folder; /* FOLDER/TENANT/vN */
};

static const struct folder_store *own(const struct sbx_symbol_store *store)
{
    return (const struct folder_store *)store;
}

/* ---- folders ---- */

/* Open folder `name` in `parent`. It is made if that is allowed. Returns a descriptor or -errno. */
static int open_folder(int parent, const char *name, bool may_create, bool is_ours)
{
    if (may_create && mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
        return -errno;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_ours ? O_NOFOLLOW : 0));
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        int result = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return result;
    }
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        close(fd); /* another user could change the names */
        return -EPERM;
    }
    return fd;
}

/* Make the folders above `path`, as `mkdir -p` does. */
static int make_parents(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL) {
        return -ENOMEM;
    }
    int result = 0;
    for (char *slash = strchr(copy + 1, '/'); slash != NULL && result == 0; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST) {
            result = -errno;
        }
        *slash = '/';
    }
    free(copy);
    return result;
}

/* ---- files ---- */

/* The name of the image's file. Returns false if the build-id has no bytes or too many. */
static bool name_of(const uint8_t *build_id, size_t bytes, char name_out[NAME_BYTES])
{
    if (!sbx_store_hex(build_id, bytes, name_out)) {
        return false;
    }
    strcpy(name_out + 2 * bytes, suffix);
    return true;
}

static int open_image(int folder, const char *name, size_t cache_bytes, struct sbx_symbol_image **image_out)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? -errno : sbx_symbol_image_open(fd, cache_bytes, image_out);
}

/* Store that `name` was used, unless a use within the last day is stored already. A store that may not be written to
 * stays unchanged. */
static void refresh(const struct sbx_symbol_store *store, const char *name, uint64_t now_s)
{
    struct stat status;
    if (fstatat(own(store)->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || status.st_mtime < 0 ||
        (uint64_t)status.st_mtime + SBX_STORE_REFRESH_S > now_s) {
        return;
    }
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)now_s}};
    (void)utimensat(own(store)->folder, name, times, AT_SYMLINK_NOFOLLOW);
}

static int folder_find(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes, uint64_t now_s,
                       size_t cache_bytes, struct sbx_symbol_image **image_out)
{
    char name[NAME_BYTES];
    if (!name_of(build_id, bytes, name)) {
        return -ENOENT;
    }
    int result = open_image(own(store)->folder, name, cache_bytes, image_out);
    if (result == 0 && !sbx_store_is_of(*image_out, build_id, bytes)) {
        sbx_symbol_image_close(*image_out);
        return -EBADMSG;
    }
    if (result == 0) {
        refresh(store, name, now_s);
    }
    return result;
}

/* ---- writing ---- */

/* Wait for the other writers and take the lock. Returns a descriptor (closing it releases the lock) or -errno. */
static int lock(int folder)
{
    int fd = openat(folder, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    while (flock(fd, LOCK_EX) != 0) {
        if (errno != EINTR) {
            int result = -errno;
            close(fd);
            return result;
        }
    }
    return fd;
}

static int folder_begin(struct sbx_symbol_store *store, struct sbx_store_draft *draft, int *fd_out)
{
    for (int tries = 0; tries < 16; tries++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
            return -errno;
        }
        snprintf(draft->name, sizeof draft->name, "%s%016llx", draft_prefix, (unsigned long long)random);
        int fd = openat(own(store)->folder, draft->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            *fd_out = fd;
            return 0;
        }
        if (errno != EEXIST) {
            return -errno;
        }
    }
    return -EEXIST;
}

static void folder_abandon(struct sbx_symbol_store *store, const struct sbx_store_draft *draft)
{
    (void)unlinkat(own(store)->folder, draft->name, 0);
}

/* Decide what happens to `draft`, by the image `name` if it exists. Call it with the lock held. */
static int decide(const struct sbx_symbol_store *store, const char *name, const struct sbx_image_facts *draft,
                  enum sbx_store_outcome *outcome, enum sbx_symbol_source *before)
{
    struct sbx_symbol_image *there = NULL;
    int result = open_image(own(store)->folder, name, 0, &there);
    if (result == -ENOENT) {
        *outcome = SBX_STORE_ADDED;
        return 0;
    }
    if (result == 0) {
        result = sbx_symbol_image_verify(there);
    }
    if (result == -EBADMSG || result == -EPROTONOSUPPORT) {
        *outcome = SBX_STORE_REPLACED;
        result = 0;
    } else if (result == 0) {
        const struct sbx_image_facts *facts = sbx_symbol_image_facts(there);
        *before = facts->best;
        *outcome = sbx_store_compare(facts, draft);
    }
    sbx_symbol_image_close(there);
    return result;
}

/* Give the draft its final name. Both are made durable: first the bytes, then the name. */
static int put_in_place(const struct sbx_symbol_store *store, const char *draft, const char *name)
{
    int fd = openat(own(store)->folder, draft, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int result = fd < 0 || fsync(fd) != 0 ? -errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (result == 0 && renameat(own(store)->folder, draft, own(store)->folder, name) != 0) {
        result = -errno;
    }
    return result == 0 && fsync(own(store)->folder) != 0 ? -errno : result;
}

static int folder_commit(struct sbx_symbol_store *store, const struct sbx_store_draft *draft, const uint8_t *build_id,
                         size_t bytes, enum sbx_store_outcome *outcome_out, enum sbx_symbol_source *before_out)
{
    char name[NAME_BYTES];
    struct sbx_symbol_image *image = NULL;
    enum sbx_store_outcome outcome = SBX_STORE_ADDED;
    enum sbx_symbol_source before = SBX_SYMBOLS_NONE;
    int held = -1,
        result = name_of(build_id, bytes, name) ? open_image(own(store)->folder, draft->name, 0, &image) : -EINVAL;
    if (result == 0) { /* the writer read a stranger's file, so the image is checked completely */
        result = sbx_store_is_of(image, build_id, bytes) ? sbx_symbol_image_verify(image) : -EBADMSG;
    }
    if (result == 0) {
        held = lock(own(store)->folder);
        result = held < 0 ? held : decide(store, name, sbx_symbol_image_facts(image), &outcome, &before);
    }
    if (result == 0 && (outcome == SBX_STORE_ADDED || outcome == SBX_STORE_REPLACED)) {
        result = put_in_place(store, draft->name, name);
    }
    folder_abandon(store, draft);
    if (held >= 0) {
        close(held);
    }
    sbx_symbol_image_close(image);
    if (result == 0) {
        *outcome_out = outcome;
        if (before_out != NULL) {
            *before_out = before;
        }
    }
    return result;
}

static int folder_remove(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes)
{
    char name[NAME_BYTES];
    if (!name_of(build_id, bytes, name)) {
        return -ENOENT;
    }
    int held = lock(own(store)->folder);
    int result = held < 0 ? held : unlinkat(own(store)->folder, name, 0) == 0 ? 0 : -errno;
    if (held >= 0) {
        close(held);
    }
    return result;
}

/* ---- the whole folder ---- */

/* Whether `name` is the name of an image: hex and the suffix. */
static bool is_image_name(const char *name)
{
    size_t bytes = strlen(name), suffix_bytes = strlen(suffix);
    return bytes > suffix_bytes && sbx_store_is_hex(name, bytes - suffix_bytes) &&
           strcmp(name + bytes - suffix_bytes, suffix) == 0;
}

/* Call `each` for every name in `folder` until it fails. Returns its last result. */
static int each_name(int folder, int (*each)(int folder, const char *name, void *context), void *context)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = fd < 0 ? NULL : fdopendir(fd);
    if (names == NULL) {
        int result = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return result;
    }
    int result = 0;
    const struct dirent *entry;
    while (result == 0 && (entry = readdir(names)) != NULL) {
        result = each(folder, entry->d_name, context);
    }
    closedir(names);
    return result;
}

static int add_to_list(int folder, const char *name, void *context)
{
    struct stat status;
    if (!is_image_name(name) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0; /* another kind of file, or removed meanwhile */
    }
    struct sbx_store_entry *entry = sbx_store_entries_add(context);
    if (entry == NULL) {
        return -ENOMEM;
    }
    struct sbx_symbol_image *image = NULL;
    entry->used_s = status.st_mtime < 0 ? 0 : (uint64_t)status.st_mtime;
    entry->file_bytes = (uint64_t)status.st_size;
    memcpy(entry->build_id, name, strlen(name) - strlen(suffix));
    entry->is_damaged = open_image(folder, name, 0, &image) != 0;
    if (!entry->is_damaged) {
        entry->facts = *sbx_symbol_image_facts(image);
    }
    sbx_symbol_image_close(image);
    return 0;
}

static int folder_list(struct sbx_symbol_store *store, struct sbx_store_entry **entries_out, size_t *count_out)
{
    struct sbx_store_entries list = {0};
    int result = each_name(own(store)->folder, add_to_list, &list);
    if (result != 0) {
        free(list.entries);
        return result;
    }
    sbx_store_entries_sort(&list);
    *entries_out = list.entries;
    *count_out = list.count;
    return 0;
}

struct sweep {
    uint64_t now_s;
    int removed;
    struct stat own; /* the store's own folder, which is cleaned first */
};

static int sweep_one(int folder, const char *name, void *context)
{
    struct sweep *sweep = context;
    bool is_draft = strncmp(name, draft_prefix, strlen(draft_prefix)) == 0;
    struct stat status;
    if ((!is_draft && !is_image_name(name)) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    uint64_t keep_s = is_draft ? DRAFT_KEEP_S : SBX_STORE_KEEP_S;
    if (status.st_mtime >= 0 && (uint64_t)status.st_mtime + keep_s < sweep->now_s && unlinkat(folder, name, 0) == 0) {
        sweep->removed += !is_draft;
    }
    return 0;
}

static int sweep_folder(int folder, struct sweep *sweep)
{
    int held = lock(folder);
    if (held < 0) {
        return held;
    }
    int result = each_name(folder, sweep_one, sweep);
    close(held);
    return result;
}

/* Clean the folder of another parser version: no other process does it once the programs of that version are gone. A
 * folder that cannot be opened stays. */
static int sweep_version(int tenant, const char *name, void *context)
{
    struct sweep *sweep = context;
    struct stat status;
    if (name[0] != 'v' || name[1] == '\0' || strspn(name + 1, "0123456789") != strlen(name + 1)) {
        return 0;
    }
    int folder = open_folder(tenant, name, false, true);
    if (folder < 0) {
        return 0;
    }
    bool is_own =
        fstat(folder, &status) == 0 && status.st_dev == sweep->own.st_dev && status.st_ino == sweep->own.st_ino;
    if (!is_own) {
        (void)sweep_folder(folder, sweep);
    }
    close(folder);
    return 0;
}

static int sweep_tenant(int top, const char *name, void *context)
{
    int tenant = sbx_store_is_tenant(name) ? open_folder(top, name, false, true) : -1;
    if (tenant >= 0) {
        (void)each_name(tenant, sweep_version, context);
        close(tenant);
    }
    return 0;
}

/* Clean the store's own folder, FOLDER/TENANT/vN, then the others in FOLDER, because perhaps no other process does
 * it. */
static int folder_sweep(struct sbx_symbol_store *store, uint64_t now_s)
{
    struct sweep sweep = {.now_s = now_s};
    int folder = own(store)->folder;
    int result = sweep_folder(folder, &sweep);
    if (result != 0) {
        return result;
    }
    int top = fstat(folder, &sweep.own) == 0 ? openat(folder, "../..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (top >= 0) {
        (void)each_name(top, sweep_tenant, &sweep);
        close(top);
    }
    return sweep.removed;
}

/* Errors of a folder are reported by the call that fails, so there is nothing to tell here. */
static enum sbx_store_trouble folder_trouble(struct sbx_symbol_store *store, char *words_out, size_t bytes)
{
    (void)store;
    snprintf(words_out, bytes, "%s", "");
    return SBX_STORE_IS_WELL;
}

static int folder_connect_once(struct sbx_symbol_store *store)
{
    (void)store;
    return 0;
}

static void folder_close(struct sbx_symbol_store *store)
{
    close(own(store)->folder);
    free(store);
}

static int folder_of_tenant(const struct sbx_symbol_store *store, const char *tenant, bool may_create,
                            struct sbx_symbol_store **store_out);

static const struct sbx_store_backend folder_backend = {.find = folder_find,
                                                        .begin = folder_begin,
                                                        .commit = folder_commit,
                                                        .abandon = folder_abandon,
                                                        .remove = folder_remove,
                                                        .list = folder_list,
                                                        .sweep = folder_sweep,
                                                        .trouble = folder_trouble,
                                                        .connect_once = folder_connect_once,
                                                        .of_tenant = folder_of_tenant,
                                                        .close = folder_close};

/* Open TENANT in `top`, which is taken. `top` may be a negative errno, which is then returned. */
static int open_tenant(int top, const char *tenant, bool may_create, struct sbx_symbol_store **store_out)
{
    char version[16];
    int middle = top < 0 ? top : open_folder(top, tenant, may_create, true);
    snprintf(version, sizeof version, "v%d", SBX_SYMBOL_PARSER_VERSION);
    int bottom = middle < 0 ? middle : open_folder(middle, version, may_create, true);
    if (top >= 0) {
        close(top);
    }
    if (middle >= 0) {
        close(middle);
    }
    if (bottom < 0) {
        return bottom;
    }
    struct folder_store *store = malloc(sizeof *store);
    if (store == NULL) {
        close(bottom);
        return -ENOMEM;
    }
    *store = (struct folder_store){.base.backend = &folder_backend, .folder = bottom};
    *store_out = &store->base;
    return 0;
}

static int folder_of_tenant(const struct sbx_symbol_store *store, const char *tenant, bool may_create,
                            struct sbx_symbol_store **store_out)
{
    if (!sbx_store_is_tenant(tenant)) {
        return -EINVAL;
    }
    int top = openat(own(store)->folder, "../..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return open_tenant(top < 0 ? -errno : top, tenant, may_create, store_out);
}

int sbx_folder_store_open(const char *folder, const char *tenant, bool may_create, struct sbx_symbol_store **store_out)
{
    if (!sbx_store_is_tenant(tenant)) {
        return -EINVAL;
    }
    int result = may_create ? make_parents(folder) : 0;
    return result != 0 ? result
                       : open_tenant(open_folder(AT_FDCWD, folder, may_create, false), tenant, may_create, store_out);
}
