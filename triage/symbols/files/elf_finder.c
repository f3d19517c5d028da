/* SPDX-License-Identifier: Apache-2.0 */
/* elf_finder.c - from a build-id to the files that have it.
 *
 * Names are not reliable (redis-server is a link to redis-check-rdb; a library is replaced under a running program),
 * build-ids are. So however a file was found, its note is read before it counts. The content of a folder is kept for a
 * minute, so that a server that runs for weeks sees new files. */
#include "elf_finder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "build_id.h"
#include "file_ids.h"
#include "shortage.h"

enum {
    DEPTH_GIVEN = 8,
    DEPTH_USUAL = 2,
    FILES_MAX = 50000,
    REMEMBER_S = 60,
    INDEX_LINES_MAX = 100000
};

enum source {
    SOURCE_INDEX,
    SOURCE_GIVEN,
    SOURCE_RUNNING, /* files of running processes; they may have been deleted or replaced since */
    SOURCE_USUAL,
    SOURCES
};

/* One known file. */
struct known {
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    size_t bytes;
    enum source source;
    char *path;
};

static const char *const library_folders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
    "/usr/local/lib",
};
static const char *const program_folders[] = {"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin"};

enum {
    LIBRARY_FOLDERS = sizeof library_folders / sizeof library_folders[0],
    PROGRAM_FOLDERS = sizeof program_folders / sizeof program_folders[0]
};

/* A usual folder that was searched. Usual folders lie inside each other and behind links (/bin, /lib), and each is read
 * only once. */
struct seen {
    dev_t device;
    ino_t number;
    int depth; /* the depth of the search */
};

struct sbx_elf_finder {
    char **dirs;
    size_t dir_count;
    struct known *known;
    size_t known_count, known_room;
    bool skips_local;
    size_t files_left;                                   /* of the current scan */
    struct seen seen[LIBRARY_FOLDERS + PROGRAM_FOLDERS]; /* of the current scan of the usual folders */
    size_t seen_count;
    time_t scanned_s[SOURCES]; /* time of the last scan, by now_s; 0: never */
    time_t (*now_s)(void);
};

static time_t monotonic_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1; /* never 0 */
}

struct sbx_elf_finder *sbx_elf_finder_create(const char *const *dirs, size_t dir_count)
{
    struct sbx_elf_finder *finder = calloc(1, sizeof *finder);
    if (finder == NULL) {
        return NULL;
    }
    finder->now_s = monotonic_s;
    finder->dirs = calloc(dir_count + 1, sizeof *finder->dirs);
    if (finder->dirs == NULL) {
        goto destroy_finder;
    }
    for (; finder->dir_count < dir_count; finder->dir_count++) {
        finder->dirs[finder->dir_count] = strdup(dirs[finder->dir_count]);
        if (finder->dirs[finder->dir_count] == NULL) {
            goto destroy_finder;
        }
    }
    return finder;

destroy_finder:
    sbx_elf_finder_destroy(finder);
    return NULL;
}

void sbx_elf_finder_destroy(struct sbx_elf_finder *finder)
{
    if (finder == NULL) {
        return;
    }
    for (size_t i = 0; i < finder->known_count; i++) {
        free(finder->known[i].path);
    }
    free(finder->known);
    for (size_t i = 0; i < finder->dir_count; i++) {
        free(finder->dirs[i]);
    }
    free(finder->dirs);
    free(finder);
}

void sbx_elf_finder_skip_local(struct sbx_elf_finder *finder)
{
    finder->skips_local = true;
}

void sbx_elf_finder_use_clock(struct sbx_elf_finder *finder, time_t (*now_s)(void))
{
    finder->now_s = now_s;
}

static int add_known(struct sbx_elf_finder *finder, const uint8_t *build_id, size_t bytes, const char *path,
                     enum source source)
{
    if (finder->known_count == finder->known_room) {
        size_t room = finder->known_room == 0 ? 64 : finder->known_room * 2;
        struct known *grown = realloc(finder->known, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        finder->known = grown;
        finder->known_room = room;
    }
    struct known *known = &finder->known[finder->known_count];
    known->path = strdup(path);
    if (known->path == NULL) {
        return -ENOMEM;
    }
    memcpy(known->build_id, build_id, bytes);
    known->bytes = bytes;
    known->source = source;
    finder->known_count++;
    return 0;
}

static void forget(struct sbx_elf_finder *finder, enum source source)
{
    size_t kept = 0;
    for (size_t i = 0; i < finder->known_count; i++) {
        if (finder->known[i].source == source) {
            free(finder->known[i].path);
        } else {
            finder->known[kept++] = finder->known[i];
        }
    }
    finder->known_count = kept;
}

/* Also search FOLDER/images, where FOLDER is that of the index. It has copies of files that had lost their names. */
static int add_images_beside(struct sbx_elf_finder *finder, const char *index_path)
{
    const char *slash = strrchr(index_path, '/');
    char *folder = NULL;
    if (asprintf(&folder, "%.*simages", slash != NULL ? (int)(slash + 1 - index_path) : 0, index_path) < 0) {
        return -ENOMEM;
    }
    char **grown = realloc(finder->dirs, (finder->dir_count + 2) * sizeof *grown);
    if (grown == NULL) {
        free(folder);
        return -ENOMEM;
    }
    finder->dirs = grown;
    finder->dirs[finder->dir_count++] = folder;
    finder->scanned_s[SOURCE_GIVEN] = 0;
    return 0;
}

int sbx_elf_finder_add_index(struct sbx_elf_finder *finder, const char *index_path)
{
    FILE *index = fopen(index_path, "re");
    if (index == NULL) {
        return -errno;
    }
    int result = add_images_beside(finder, index_path);
    char line[2 * SBX_BUILD_ID_BYTES_MAX + PATH_MAX + 8];
    for (int lines = 0; result == 0 && lines < INDEX_LINES_MAX && fgets(line, sizeof line, index) != NULL; lines++) {
        uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
        line[strcspn(line, "\n")] = '\0';
        size_t digits = strcspn(line, " ");
        size_t bytes = sbx_build_id_parse(line, digits, build_id);
        if (bytes > 0 && line[digits] == ' ' && line[digits + 1] == '/') {
            result = add_known(finder, build_id, bytes, line + digits + 1, SOURCE_INDEX);
        }
    }
    if (result == 0 && ferror(index)) {
        result = -EIO;
    }
    fclose(index);
    return result;
}

/* ---- searching folders ---- */

/* The build-ids of the regular file `name` in an open folder (AT_FDCWD: of a path). Returns their number. Does not hang
 * on a pipe or a device. */
static size_t ids_of(int folder, const char *name, struct sbx_file_id ids_out[SBX_FILE_IDS_MAX])
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        sbx_shortage_note(errno);
        return 0;
    }
    struct stat status;
    size_t count = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        count = sbx_file_ids_read(fd, ids_out, NULL);
    }
    close(fd);
    return count;
}

/* Add the file `name` of an open folder, with the path `path`, if it has a build-id. */
static int add_file(struct sbx_elf_finder *finder, int folder, const char *name, const char *path, enum source source)
{
    struct sbx_file_id ids[SBX_FILE_IDS_MAX];
    size_t count = ids_of(folder, name, ids);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = add_known(finder, ids[i].bytes, ids[i].byte_count, path, source);
    }
    return result;
}

/* Did the current scan of the usual folders already search this one, at least as deep as it would now? */
static bool is_seen(const struct sbx_elf_finder *finder, int folder, int depth)
{
    struct stat status;
    if (finder->seen_count == 0 || fstat(folder, &status) != 0) {
        return false;
    }
    for (size_t i = 0; i < finder->seen_count; i++) {
        const struct seen *seen = &finder->seen[i];
        if (seen->device == status.st_dev && seen->number == status.st_ino && seen->depth >= depth) {
            return true;
        }
    }
    return false;
}

static bool is_folder(int folder, const struct dirent *entry)
{
    struct stat status;
    return entry->d_type == DT_UNKNOWN
               ? fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode)
               : entry->d_type == DT_DIR;
}

static int scan_folder(struct sbx_elf_finder *finder, const char *path, int depth, enum source source)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        sbx_shortage_note(errno);
        return 0; /* a folder that does not exist has no files */
    }
    int result = 0;
    const struct dirent *entry;
    bool is_new = source != SOURCE_USUAL || !is_seen(finder, dirfd(folder), depth);
    while (is_new && result == 0 && finder->files_left > 0 && (entry = readdir(folder)) != NULL) {
        char inner[PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (size_t)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= sizeof inner) {
            continue;
        }
        if (is_folder(dirfd(folder), entry)) { /* links to folders are not followed, because they could make a circle */
            result = depth > 0 ? scan_folder(finder, inner, depth - 1, source) : 0;
            continue;
        }
        finder->files_left--;
        result = add_file(finder, dirfd(folder), entry->d_name, inner, source);
    }
    closedir(folder);
    return result;
}

/* Whether the folders of `source` need a scan now. If so, the time of the scan is set. */
static bool is_scan_due(struct sbx_elf_finder *finder, enum source source)
{
    time_t now = finder->now_s();
    if (finder->scanned_s[source] != 0 && now - finder->scanned_s[source] < REMEMBER_S) {
        return false;
    }
    finder->scanned_s[source] = now;
    finder->files_left = FILES_MAX;
    forget(finder, source);
    return true;
}

static int scan_given(struct sbx_elf_finder *finder)
{
    int result = 0;
    if (finder->dir_count > 0 && is_scan_due(finder, SOURCE_GIVEN)) {
        for (size_t i = 0; i < finder->dir_count && result == 0; i++) {
            result = scan_folder(finder, finder->dirs[i], DEPTH_GIVEN, SOURCE_GIVEN);
        }
    }
    return result;
}

static int add_running(struct sbx_elf_finder *finder, const char *path)
{
    int result = finder->files_left > 0 ? add_file(finder, AT_FDCWD, path, path, SOURCE_RUNNING) : 0;
    finder->files_left -= finder->files_left > 0;
    return result;
}

/* Add code whose file has lost its name. The mapping still leads to the file, if the process has the right to follow
 * it. */
static int scan_lost_files(struct sbx_elf_finder *finder, const char *process)
{
    char path[PATH_MAX], line[PATH_MAX + 128];
    int result = 0;
    snprintf(path, sizeof path, "/proc/%.20s/maps", process);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && result == 0 && finder->files_left > 0 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long begin, end;
        char rights[8];
        bool is_lost_code = strstr(line, " (deleted)\n") != NULL && /* a fast check first: few files are deleted */
                            sscanf(line, "%llx-%llx %7s", &begin, &end, rights) == 3 && rights[2] == 'x';
        if (is_lost_code) {
            snprintf(path, sizeof path, "/proc/%.20s/map_files/%llx-%llx", process, begin, end);
            result = add_running(finder, path);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return result;
}

static int scan_running(struct sbx_elf_finder *finder)
{
    DIR *folder = is_scan_due(finder, SOURCE_RUNNING) ? opendir("/proc") : NULL;
    const struct dirent *entry;
    int result = 0;
    while (folder != NULL && result == 0 && finder->files_left > 0 && (entry = readdir(folder)) != NULL) {
        char path[64];
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%.20s/exe", entry->d_name);
        result = add_running(finder, path);
        result = result == 0 ? scan_lost_files(finder, entry->d_name) : result;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return result;
}

static int scan_one_usual(struct sbx_elf_finder *finder, const char *path, int depth)
{
    struct stat status;
    int result = scan_folder(finder, path, depth, SOURCE_USUAL);
    if (stat(path, &status) == 0) {
        finder->seen[finder->seen_count++] =
            (struct seen){.device = status.st_dev, .number = status.st_ino, .depth = depth};
    }
    return result;
}

static int scan_usual(struct sbx_elf_finder *finder)
{
    int result = 0;
    if (!is_scan_due(finder, SOURCE_USUAL)) {
        return 0;
    }
    finder->seen_count = 0;
    for (size_t i = 0; i < PROGRAM_FOLDERS && result == 0; i++) {
        result = scan_one_usual(finder, program_folders[i], 0);
    }
    for (size_t i = 0; i < LIBRARY_FOLDERS && result == 0; i++) {
        result = scan_one_usual(finder, library_folders[i], DEPTH_USUAL);
    }
    return result;
}

/* ---- finding ---- */

/* Add `path` if it has that build-id and is not in the list. */
static void offer(struct sbx_elf_paths *paths, const char *path, const uint8_t *build_id, size_t bytes)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (strcmp(paths->paths[i], path) == 0) {
            return;
        }
    }
    struct sbx_file_id found[SBX_FILE_IDS_MAX];
    size_t count = paths->count < SBX_ELF_PATHS_MAX && strlen(path) < PATH_MAX ? ids_of(AT_FDCWD, path, found) : 0;
    for (size_t i = 0; i < count; i++) {
        if (found[i].byte_count == bytes && memcmp(found[i].bytes, build_id, bytes) == 0) {
            strcpy(paths->paths[paths->count++], path);
            return;
        }
    }
}

static const char *base_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Which of two names of one file is better: the wanted one, else the shorter (redis-server rather than
 * redis-check-rdb), else the first in order, so that two runs agree. */
static bool is_better_name(const char *path, const char *than, const char *wanted)
{
    const char *a = base_name_of(path), *b = base_name_of(than);
    bool a_wanted = wanted != NULL && strcmp(a, wanted) == 0, b_wanted = wanted != NULL && strcmp(b, wanted) == 0;
    if (a_wanted != b_wanted) {
        return a_wanted;
    }
    size_t a_bytes = strlen(a), b_bytes = strlen(b);
    return a_bytes != b_bytes ? a_bytes < b_bytes : strcmp(path, than) < 0;
}

/* Add the known files of `source` to the result, best name first. */
static void offer_known(const struct sbx_elf_finder *finder, enum source source, const uint8_t *build_id, size_t bytes,
                        const char *wanted, struct sbx_elf_paths *paths)
{
    const struct known *sorted[2 * SBX_ELF_PATHS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < finder->known_count; i++) {
        const struct known *known = &finder->known[i];
        if (known->source != source || known->bytes != bytes || memcmp(known->build_id, build_id, bytes) != 0) {
            continue;
        }
        size_t at = count < sizeof sorted / sizeof sorted[0] ? count++ : count - 1;
        for (; at > 0 && is_better_name(known->path, sorted[at - 1]->path, wanted); at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = known;
    }
    for (size_t i = 0; i < count; i++) {
        offer(paths, sorted[i]->path, build_id, bytes);
    }
}

static void offer_debug_file(const char *folder, const uint8_t *build_id, size_t bytes, struct sbx_elf_paths *paths)
{
    char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1], path[PATH_MAX];
    sbx_build_id_format(build_id, bytes, hex);
    if ((size_t)snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, hex, hex + 2) < sizeof path) {
        offer(paths, path, build_id, bytes);
    }
}

static void offer_by_name(const char *name, const uint8_t *build_id, size_t bytes, struct sbx_elf_paths *paths)
{
    char path[PATH_MAX];
    if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL) {
        return;
    }
    for (size_t i = 0; i < LIBRARY_FOLDERS; i++) {
        if ((size_t)snprintf(path, sizeof path, "%s/%s", library_folders[i], name) < sizeof path) {
            offer(paths, path, build_id, bytes);
        }
    }
    for (size_t i = 0; i < PROGRAM_FOLDERS; i++) {
        if ((size_t)snprintf(path, sizeof path, "%s/%s", program_folders[i], name) < sizeof path) {
            offer(paths, path, build_id, bytes);
        }
    }
}

int sbx_elf_finder_find(struct sbx_elf_finder *finder, const uint8_t *build_id, size_t bytes, const char *name,
                        struct sbx_elf_paths *paths_out)
{
    paths_out->count = 0;
    if (bytes == 0 || bytes > SBX_BUILD_ID_BYTES_MAX) {
        return 0;
    }
    int result = scan_given(finder);
    if (result != 0) {
        return result;
    }
    offer_known(finder, SOURCE_INDEX, build_id, bytes, name, paths_out);
    offer_known(finder, SOURCE_GIVEN, build_id, bytes, name, paths_out);
    if (paths_out->count == 0 && !finder->skips_local) {
        offer_by_name(name, build_id, bytes, paths_out);
    }
    for (size_t i = 0; i < finder->dir_count; i++) {
        offer_debug_file(finder->dirs[i], build_id, bytes, paths_out);
    }
    if (finder->skips_local) {
        return 0;
    }
    offer_debug_file("/usr/lib/debug", build_id, bytes, paths_out);
    if (paths_out->count == 0) {
        result = scan_usual(finder);
        offer_known(finder, SOURCE_USUAL, build_id, bytes, name, paths_out);
    }
    if (paths_out->count == 0 && result == 0) { /* last, because /proc/PID/exe does not tell the name of the program */
        result = scan_running(finder);
        offer_known(finder, SOURCE_RUNNING, build_id, bytes, name, paths_out);
    }
    return result;
}

const char *sbx_elf_finder_index_path(const struct sbx_elf_finder *finder, const uint8_t *build_id, size_t bytes)
{
    for (size_t i = 0; i < finder->known_count; i++) {
        const struct known *known = &finder->known[i];
        if (known->source == SOURCE_INDEX && known->bytes == bytes && memcmp(known->build_id, build_id, bytes) == 0) {
            return known->path;
        }
    }
    return NULL;
}
