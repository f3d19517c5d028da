/* SPDX-License-Identifier: Apache-2.0 */
/* payload_list.c - finds payloads and raw snapshots, and makes stalls of them.
 *
 * A spool is alive while it is read: snapshots move from raw/ to the spool itself and then to sent/. The folders are read
 * in the direction of that movement, so that nothing is missed. What is found twice is listed twice: a damaged copy must
 * not hide a whole one, and which one is whole is not known before they are decoded. */
#include "payload_list.h"
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "encode.h"
#include "envelope_format.h"
#include "file_bytes.h"
#include "options.h"
#include "policy.h"
#include "recording_format.h"
#include "snapshot.h"
#include "stall.h"
#include "symbolizer.h"

/* ---- lists ---- */

/* Returns `array` with room for one more element (it may have moved), or NULL without memory; then `array` is
 * unchanged. */
static void *with_room(void *array, size_t *capacity, size_t count, size_t element_bytes)
{
    if (count < *capacity) {
        return array;
    }
    size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
    void *grown = reallocarray(array, wanted, element_bytes);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}

size_t sbx_payload_list_distinct(const struct sbx_payload_list *list)
{
    size_t distinct = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t earlier = 0; /* a spool has some hundred payloads, so comparing all pairs is cheap */
        while (earlier < i &&
               (list->entries[i].id[0] == '\0' || strcmp(list->entries[earlier].id, list->entries[i].id) != 0)) {
            earlier++;
        }
        distinct += earlier == i;
    }
    return distinct;
}

/* Remember FOLDER/modules, and also that of the spool when FOLDER is one of the spool's own folders. */
static int note_index(struct sbx_payload_list *list, const char *folder)
{
    char *resolved = realpath(folder, NULL);
    if (resolved == NULL) {
        /* without a folder there is no index; reading the payload itself reports more */
        return errno == ENOMEM ? -ENOMEM : 0;
    }
    int result = 0;
    for (int level = 0; level < 2 && result == 0; level++) {
        char *slash = strrchr(resolved, '/');
        char *path = NULL;
        if (asprintf(&path, "%s/modules", resolved) < 0) {
            result = -ENOMEM;
            break;
        }
        bool known = access(path, R_OK) != 0;
        for (size_t i = 0; i < list->index_count && !known; i++) {
            known = strcmp(list->indexes[i], path) == 0;
        }
        char **indexes =
            known ? NULL : with_room(list->indexes, &list->index_capacity, list->index_count, sizeof *indexes);
        if (indexes != NULL) {
            list->indexes = indexes;
            list->indexes[list->index_count++] = path;
        } else {
            free(path);
            result = known ? 0 : -ENOMEM;
        }
        if (slash == NULL ||
            (strcmp(slash, "/raw") != 0 && strcmp(slash, "/sent") != 0 && strcmp(slash, "/bad") != 0)) {
            break;
        }
        *slash = '\0';
    }
    free(resolved);
    return result;
}

static int note_index_of_file(struct sbx_payload_list *list, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (folder == NULL) {
        return -ENOMEM;
    }
    int result = note_index(list, folder);
    free(folder);
    return result;
}

/* ---- files ---- */

static void print_id(const uint8_t id[SBX_PAYLOAD_ID_BYTES], char text_out[33])
{
    static const uint8_t none[SBX_PAYLOAD_ID_BYTES];
    if (memcmp(id, none, sizeof none) == 0) { /* a live recording has no id yet */
        text_out[0] = '\0';
        return;
    }
    for (size_t i = 0; i < SBX_PAYLOAD_ID_BYTES; i++) {
        snprintf(text_out + 2 * i, 3, "%02x", id[i]);
    }
}

/* Detect from the first bytes what the file is. Returns 0, or a negative errno with the reason in `why`. */
static int look(const char *path, struct sbx_payload_entry *entry, char *why, size_t why_bytes)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
        int result = -errno;
        snprintf(why, why_bytes, "%s", strerror(-result));
        return result;
    }
    /* Enough of either format to hold its id: an envelope's header, a recording's up to the kind of its trigger, which lies behind. */
    uint8_t head[offsetof(struct sbx_recording_header, trigger) + sizeof(uint32_t)];
    struct stat status;
    int result = 0;
    ssize_t got = fstat(descriptor, &status) != 0 ? -errno
                  : !S_ISREG(status.st_mode)      ? 0
                                                  : sbx_file_bytes(descriptor, 0, head, sizeof head);
    if (got < 0) {
        result = (int)got;
        snprintf(why, why_bytes, "%s", strerror(-result));
    } else if (!S_ISREG(status.st_mode)) {
        result = -EINVAL;
        snprintf(why, why_bytes, "no regular file");
    } else if (got >= SBX_ENVELOPE_HEADER_BYTES && memcmp(head, SBX_ENVELOPE_MAGIC, 4) == 0) {
        print_id(head + 16, entry->id);
        entry->may_be_end = status.st_size <= SBX_SEALED_BYTES_MIN;
    } else if ((size_t)got == sizeof head && memcmp(head, SBX_RECORDING_MAGIC, 8) == 0) {
        entry->raw = true;
        uint32_t kind;
        memcpy(&kind, head + offsetof(struct sbx_recording_header, trigger.kind), sizeof kind);
        print_id(head + offsetof(struct sbx_recording_header, snapshot_id), entry->id);
        entry->may_be_end = kind == SBX_TRIGGER_END;
    } else {
        result = -EPROTO;
        snprintf(why, why_bytes, "neither a payload nor a raw snapshot (%lld bytes)", (long long)status.st_size);
    }
    entry->time_ns = result == 0 ? (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec : 0;
    close(descriptor);
    return result;
}

static int add_file(struct sbx_payload_list *list, const char *command, const char *path, const char *root)
{
    char why[200];
    struct sbx_payload_entry entry = {0};
    int result = look(path, &entry, why, sizeof why);
    if (result == -ENOENT && root != NULL) {
        return 0; /* it has just moved to a folder that is read later */
    }
    if (result != 0) {
        sbx_failure(command, "%s: %s", path, why);
        list->failures++;
        return 0;
    }
    struct sbx_payload_entry *entries = with_room(list->entries, &list->capacity, list->count, sizeof *entries);
    if (entries == NULL) {
        return -ENOMEM;
    }
    list->entries = entries;
    entry.path = strdup(path);
    entry.root = root == NULL ? NULL : strdup(root);
    if (entry.path == NULL || (root != NULL && entry.root == NULL)) {
        free(entry.path);
        free(entry.root);
        return -ENOMEM;
    }
    list->entries[list->count++] = entry;
    return 0;
}

/* ---- folders ---- */

static bool ends_in(const char *name, const char *suffix)
{
    size_t name_length = strlen(name), suffix_length = strlen(suffix);
    return name_length > suffix_length && strcmp(name + name_length - suffix_length, suffix) == 0;
}

/* Add the payloads and snapshots directly in `folder`. A missing folder is empty. */
static int add_folder(struct sbx_payload_list *list, const char *command, const char *folder, const char *root)
{
    DIR *stream = opendir(folder);
    if (stream == NULL) {
        if (errno != ENOENT) {
            sbx_failure(command, "%s: %s", folder, strerror(errno));
            list->failures++;
        }
        return 0;
    }
    int result = 0;
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(stream);
        if (item == NULL) {
            if (errno != 0) {
                sbx_failure(command, "%s: %s", folder, strerror(errno));
                list->failures++;
            }
            break;
        }
        const char *name = item->d_name; /* dot files are not complete yet */
        if (name[0] == '.' || (!ends_in(name, SBX_ENVELOPE_SUFFIX) && !ends_in(name, SBX_RAW_SUFFIX))) {
            continue;
        }
        char *path = NULL;
        if (asprintf(&path, "%s/%s", folder, name) < 0) {
            result = -ENOMEM;
            break;
        }
        result = add_file(list, command, path, root);
        free(path);
        if (result != 0) {
            break;
        }
    }
    closedir(stream);
    return result;
}

static int compare_times(const void *left, const void *right)
{
    const struct sbx_payload_entry *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return strcmp(a->id, b->id); /* equal times: any order, but always the same */
}

static int add_spool(struct sbx_payload_list *list, const char *command, const char *path)
{
    size_t before = list->count, failed_before = list->failures;
    int result = note_index(list, path);
    static const char *const folders[] = {"raw", "", "sent"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && result == 0; i++) {
        char *folder = NULL;
        if (asprintf(&folder, "%s%s%s", path, folders[i][0] == '\0' ? "" : "/", folders[i]) < 0) {
            return -ENOMEM;
        }
        result = add_folder(list, command, folder, path);
        free(folder);
    }
    if (result == 0 && list->count == before && list->failures == failed_before) {
        sbx_failure(command, "%s: holds no payload and no snapshot", path);
        list->failures++;
    }
    if (list->count > before) {
        qsort(list->entries + before, list->count - before, sizeof *list->entries, compare_times);
    }
    return result;
}

int sbx_payload_list_add(struct sbx_payload_list *list, const char *command, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        return add_spool(list, command, path);
    }
    int result = note_index_of_file(list, path);
    return result != 0 ? result : add_file(list, command, path, NULL);
}

void sbx_payload_list_finish(struct sbx_payload_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].path);
        free(list->entries[i].root);
    }
    for (size_t i = 0; i < list->index_count; i++) {
        free(list->indexes[i]);
    }
    free(list->entries);
    free(list->indexes);
    *list = (struct sbx_payload_list){0};
}

/* ---- from bytes to a stall ---- */

/* Tell the symbolizer where the snapshot's modules lie: what `stallbox run` writes into SPOOL/modules, for a snapshot
 * that lies in no spool. The symbolizer reads index files, so this one exists in memory only. */
static void learn_modules(const struct sbx_snapshot *snapshot, struct sbx_symbolizer *symbolizer)
{
    int descriptor = memfd_create("stallbox-modules", MFD_CLOEXEC);
    if (descriptor < 0) {
        return; /* then names are missing, which the report says */
    }
    FILE *index = fdopen(descriptor, "w");
    if (index == NULL) {
        close(descriptor);
        return;
    }
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        const struct sbx_module_entry *module = &snapshot->modules[i];
        if (module->build_id_bytes == 0 || module->build_id_bytes > SBX_BUILD_ID_MAX || module->path[0] != '/' ||
            strchr(module->path, '\n') != NULL) {
            continue;
        }
        for (uint32_t byte = 0; byte < module->build_id_bytes; byte++) {
            fprintf(index, "%02x", module->build_id[byte]);
        }
        fprintf(index, " %s\n", module->path);
    }
    for (uint32_t i = 0; i < snapshot->watch_count; i++) {
        if (snapshot->watches[i].name[0] != '\0' && strchr(snapshot->watches[i].name, '\n') == NULL) {
            fprintf(index, "=%010llx %s\n", (unsigned long long)snapshot->watches[i].what & 0xffffffffff,
                    snapshot->watches[i].name);
        }
    }
    char app_name[SBX_APP_NAME_MAX + 1] = "";
    memcpy(app_name, snapshot->header.app_name, SBX_APP_NAME_MAX);
    if (app_name[0] != '\0' && strchr(app_name, '\n') == NULL) {
        fprintf(index, "=%010llx %s\n", (unsigned long long)sbx_app_what(app_name), app_name);
    }
    for (uint32_t m = 0; m < snapshot->module_count; m++) {
        const struct sbx_module_entry *app = &snapshot->modules[m];
        for (uint32_t i = 1; i < snapshot->kind_count && (app->flags & SBX_MODULE_MAIN) != 0; i++) {
            uint64_t what = sbx_message_kind_what(app->build_id, app->build_id_bytes, i);
            if (what != 0 && snapshot->kinds[i].name[0] != '\0' && strchr(snapshot->kinds[i].name, '\n') == NULL) {
                fprintf(index, "=%010llx %s\n", (unsigned long long)what, snapshot->kinds[i].name);
            }
        }
        for (uint32_t i = 1; i < snapshot->scene_count && (app->flags & SBX_MODULE_MAIN) != 0; i++) {
            uint64_t what = sbx_scene_what(app->build_id, app->build_id_bytes, i);
            if (what != 0 && snapshot->scenes[i].name[0] != '\0' && strchr(snapshot->scenes[i].name, '\n') == NULL) {
                fprintf(index, "=%010llx %s\n", (unsigned long long)what, snapshot->scenes[i].name);
            }
        }
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (fflush(index) == 0) {
        (void)sbx_symbolizer_add_index(symbolizer, path); /* again: only names would be missing */
    }
    fclose(index);
}

static int load_raw(const char *path, struct sbx_symbolizer *symbolizer, struct sbx_stall **stall_out, char *why,
                    size_t why_bytes)
{
    struct sbx_snapshot *snapshot = NULL;
    int result = sbx_snapshot_read_file(path, &snapshot, why, why_bytes);
    if (result != 0) {
        return result;
    }
    if (symbolizer != NULL) {
        learn_modules(snapshot, symbolizer);
    }
    struct sbx_redaction redaction;
    sbx_policy_redaction(sbx_policy_default(), &redaction);
    uint8_t *envelope = NULL;
    size_t bytes = 0;
    result = sbx_encode(snapshot, &redaction, &envelope, &bytes, why, why_bytes);
    sbx_snapshot_destroy(snapshot);
    if (result != 0) {
        return result;
    }
    result = sbx_stall_decode(envelope, bytes, stall_out, why, why_bytes);
    free(envelope);
    return result;
}

/* Decode an envelope, sealed or not. */
static int decode(const struct sbx_unseal_keys *keys, const uint8_t *envelope, size_t bytes,
                  struct sbx_stall **stall_out, char *why, size_t why_bytes)
{
    static const struct sbx_unseal_keys none;
    uint8_t *plain;
    size_t plain_bytes;
    if (!sbx_sealed_is(envelope, bytes)) {
        return sbx_stall_decode(envelope, bytes, stall_out, why, why_bytes);
    }
    int result = sbx_sealed_open(keys != NULL ? keys : &none, envelope, bytes, &plain, &plain_bytes, why, why_bytes);
    if (result == 0) {
        result = sbx_stall_decode(plain, plain_bytes, stall_out, why, why_bytes);
        free(plain);
    } else if (result == -ENOKEY) {
        size_t used = strlen(why);
        snprintf(why + used, why_bytes - used, "; give its --unseal-key");
    }
    return result;
}

static int load_payload(const char *path, const struct sbx_unseal_keys *keys, struct sbx_stall **stall_out, char *why,
                        size_t why_bytes)
{
    /* The file may have been replaced since the last look; opening a pipe with that name must not block. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
        int result = -errno;
        snprintf(why, why_bytes, "%s", strerror(-result));
        return result;
    }
    uint8_t *envelope = malloc(SBX_ENVELOPE_BYTES_MAX + 1); /* one byte more, so that a larger file shows */
    ssize_t bytes = envelope == NULL ? -ENOMEM : sbx_file_bytes(descriptor, 0, envelope, SBX_ENVELOPE_BYTES_MAX + 1);
    close(descriptor);
    int result = 0;
    if (bytes < 0) {
        result = (int)bytes;
        snprintf(why, why_bytes, "%s", strerror(-result));
    } else if (bytes > SBX_ENVELOPE_BYTES_MAX) {
        result = -EPROTO;
        snprintf(why, why_bytes, "larger than a payload may be (%d bytes)", SBX_ENVELOPE_BYTES_MAX);
    } else {
        result = decode(keys, envelope, (size_t)bytes, stall_out, why, why_bytes);
    }
    free(envelope);
    return result;
}

int sbx_payload_load(const struct sbx_payload_entry *entry, const struct sbx_unseal_keys *keys,
                     struct sbx_symbolizer *symbolizer, struct sbx_stall **stall_out, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s", "unreadable");
    int result = entry->raw ? load_raw(entry->path, symbolizer, stall_out, why, why_bytes)
                            : load_payload(entry->path, keys, stall_out, why, why_bytes);
    static const char *const later_folders[] = {"", "sent/"};
    for (size_t i = 0; i < 2 && result == -ENOENT && entry->root != NULL && entry->id[0] != '\0'; i++) {
        char *moved = NULL; /* encoded or sent since the folder was read */
        if (asprintf(&moved, "%s/%s%s" SBX_ENVELOPE_SUFFIX, entry->root, later_folders[i], entry->id) < 0) {
            return -ENOMEM;
        }
        result = load_payload(moved, keys, stall_out, why, why_bytes);
        free(moved);
    }
    return result;
}
