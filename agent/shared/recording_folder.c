/* SPDX-License-Identifier: Apache-2.0 */
/* recording_folder.c - one walk over the list of places, used to create and to find recordings. */
#include "recording_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_folder.h"
#include "preload.h"

enum {
    RANDOM_TRIES = 4
};

/* What a walk does with each place. The functions below return true when the walk can stop. */
struct walk {
    bool makes;      /* create missing folders, and stop at the first one with room; otherwise collect */
    unsigned usable; /* places that are ours */
    struct sbx_recording_folders *found;
    char *path_out, *why;
    size_t why_bytes;
    int first_error;
};

static bool has_room(const struct walk *walk)
{
    return walk->makes || walk->found->count < SBX_RECORDING_FOLDERS_MAX;
}

static bool take(struct walk *walk, const char *path)
{
    walk->usable++;
    if (walk->makes) {
        bool fits = sbx_recording_fits(path);
        if (fits || walk->path_out[0] == 0) { /* the first one, if none has room: creating the recording reports it */
            snprintf(walk->path_out, SBX_RECORDING_PATH_MAX, "%s", path);
        }
        return fits;
    }
    for (unsigned i = 0; i < walk->found->count; i++) {
        if (strcmp(walk->found->paths[i], path) == 0) {
            return false;
        }
    }
    if (has_room(walk)) {
        snprintf(walk->found->paths[walk->found->count++], SBX_RECORDING_PATH_MAX, "%s", path);
    }
    return false;
}

static void note_refusal(struct walk *walk, const char *path, int error)
{
    if (walk->makes && walk->first_error == 0) {
        walk->first_error = error;
        if (walk->why != NULL) {
            sbx_own_folder_explain(path, error, walk->why, walk->why_bytes);
        }
    }
}

/* Tries the place `path`. */
static bool try_name(struct walk *walk, const char *path)
{
    if (walk->makes && mkdir(path, 0700) != 0 && errno != EEXIST) {
        note_refusal(walk, path, -errno);
        return false;
    }
    int folder = sbx_own_folder_open(path);
    if (folder < 0) {
        note_refusal(walk, path, folder);
        return false;
    }
    close(folder);
    return take(walk, path);
}

static bool try_below(struct walk *walk, const char *parent, const char *name)
{
    char path[SBX_RECORDING_PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", parent, name);
    return length > 0 && (size_t)length < sizeof path && try_name(walk, path);
}

/* A folder of this session: it must be ours, wherever the path comes from. */
static bool try_session(struct walk *walk, const char *parent)
{
    int folder = parent != NULL && parent[0] == '/' ? sbx_own_folder_open(parent) : -ENOENT;
    if (folder < 0) {
        return false;
    }
    close(folder);
    return try_below(walk, parent, "stallbox");
}

/* Existing folders with a random suffix. In a folder that everybody may write to, anybody may have created some; only
 * ours count. */
static bool try_random(struct walk *walk, const char *parent)
{
    char prefix[40], path[SBX_RECORDING_PATH_MAX];
    bool is_enough = false;
    int length = snprintf(prefix, sizeof prefix, "stallbox-%u-", (unsigned)geteuid());
    DIR *listing = opendir(parent);
    if (listing == NULL) {
        return false;
    }
    for (struct dirent *entry = readdir(listing); entry != NULL && !is_enough && has_room(walk);
         entry = readdir(listing)) {
        if (strncmp(entry->d_name, prefix, (size_t)length) == 0 &&
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) < (int)sizeof path) {
            int folder = sbx_own_folder_open(path);
            if (folder >= 0) {
                close(folder);
                is_enough = take(walk, path);
            }
        }
    }
    closedir(listing);
    for (int i = 0; walk->makes && !is_enough && i < RANDOM_TRIES; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
            break; /* a predictable name would be of no use here */
        }
        snprintf(path, sizeof path, "%s/%s%016llx", parent, prefix, (unsigned long long)random);
        if (mkdir(path, 0700) == 0) {
            is_enough = try_name(walk, path);
        } else if (errno != EEXIST) {
            break;
        }
    }
    return is_enough;
}

/* The home must be ours: under sudo it may be another user's, and we do not create folders of root there. */
static bool try_state_home(struct walk *walk)
{
    char path[SBX_RECORDING_PATH_MAX];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state != NULL && state[0] == '/';
    struct stat status;
    const char *root = has_state ? state : home;
    if (root == NULL || root[0] != '/' || stat(root, &status) != 0 || status.st_uid != geteuid()) {
        return false;
    }
    int length = snprintf(path, sizeof path, "%s%s/stallbox/recordings", root, has_state ? "" : "/.local/state");
    if (length < 0 || (size_t)length >= sizeof path || (walk->makes && sbx_make_folders(path) != 0)) {
        return false;
    }
    return try_name(walk, path);
}

/* Folders with a random suffix. A new one is created only if the name without suffix belongs to another user. It is not
 * created if our folder is full, because both have the same room. */
static bool try_for_all(struct walk *walk, const char *parent, bool has_name)
{
    return (!walk->makes || !has_name) && try_random(walk, parent);
}

static bool walk_places(struct walk *walk)
{
    char name[40], session[40];
    snprintf(name, sizeof name, "stallbox-%u", (unsigned)geteuid());
    snprintf(session, sizeof session, "/run/user/%u", (unsigned)geteuid());
    if (try_below(walk, "/dev/shm", name)) {
        return true;
    }
    bool has_shm = walk->usable != 0;
    if (try_session(walk, getenv("XDG_RUNTIME_DIR")) || try_session(walk, session) ||
        try_for_all(walk, "/dev/shm", has_shm)) {
        return true;
    }
    unsigned before = walk->usable;
    return try_below(walk, "/tmp", name) || try_for_all(walk, "/tmp", walk->usable != before) || try_state_home(walk);
}

int sbx_recordings_choose(char path_out[SBX_RECORDING_PATH_MAX], char *why, size_t why_bytes)
{
    struct walk walk = {.makes = true, .path_out = path_out, .why = why, .why_bytes = why_bytes};
    path_out[0] = 0;
    return walk_places(&walk) || path_out[0] != 0 ? 0 : walk.first_error;
}

const char *sbx_recordings_given(void)
{
    const char *given = getenv(SBX_ENV_RECORDINGS);
    return given != NULL && given[0] != '\0' ? given : NULL;
}

void sbx_recordings_find(const char *given, struct sbx_recording_folders *found_out)
{
    struct walk walk = {.found = found_out};
    found_out->count = 0;
    if (given != NULL) {
        snprintf(found_out->paths[found_out->count++], SBX_RECORDING_PATH_MAX, "%s", given);
    } else {
        (void)walk_places(&walk);
    }
}
