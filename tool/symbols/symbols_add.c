/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_add.c - `stallbox symbols add`: programs and debug files, read into the store. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debug_link.h"
#include "options.h"
#include "symbol_groups.h"
#include "symbol_store_option.h"
#include "symbol_worker.h"
#include "symbols_verbs.h"
#include "terminal.h"

struct adding {
    struct sbx_symbol_store *store;
    struct sbx_symbol_groups groups;
    struct sbx_split_files parts; /* working space */
    const char *path;             /* of the first file, for messages */
};

static void show_progress(void *context, size_t done, size_t total)
{
    sbx_progress_show(context, done, total);
}

static int open_paths(const struct sbx_symbol_group *group, int *descriptors, int *alternate_out)
{
    int count = 0;
    *alternate_out = -1;
    for (size_t i = 0; i < group->path_count; i++) {
        int fd = open(group->paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0) {
            descriptors[count++] = fd;
            *alternate_out = *alternate_out < 0 ? sbx_debug_alternate_open(group->paths[i], fd) : *alternate_out;
        }
    }
    return count;
}

/* Report the result for a group. Returns the exit status. */
static int tell(const struct adding *adding, const char *hex, enum sbx_store_outcome outcome,
                enum sbx_symbol_source before, const char *why)
{
    int status = SBX_EXIT_DONE;
    switch (outcome) {
    case SBX_STORE_ADDED:
        printf("added %s %s\n", hex, adding->path);
        break;
    case SBX_STORE_REPLACED:
        printf("replaced %s %s (what was there: %s)\n", hex, adding->path,
               before == SBX_SYMBOLS_NONE ? "damaged" : sbx_symbol_source_name(before));
        break;
    case SBX_STORE_SAME:
        printf("there already %s %s\n", hex, adding->path);
        break;
    case SBX_STORE_KEPT:
        printf("not needed %s %s (what is there is better: %s)\n", hex, adding->path, sbx_symbol_source_name(before));
        break;
    case SBX_STORE_DIFFERENT:
        status = sbx_failure("symbols",
                             "%s: the store has other symbols of build-id %s, which stay; `stallbox symbols remove` "
                             "takes them away, if these are the right ones",
                             adding->path, hex);
        break;
    }
    if (why[0] != '\0' && outcome != SBX_STORE_KEPT) {
        fprintf(stderr, "stallbox symbols: %s: %s\n", adding->path, why);
    }
    return status;
}

static int add_group(struct adding *adding, const struct sbx_symbol_group *group)
{
    int descriptors[SBX_ELF_PATHS_MAX], out = -1;
    char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1], name[SBX_IMAGE_NAME_BYTES], why[240] = "";
    struct sbx_store_draft draft;
    sbx_build_id_format(group->build_id, group->build_id_bytes, hex);
    sbx_symbol_group_name(group, name, sizeof name);
    adding->path = group->paths[0];
    int result = sbx_symbol_store_begin(adding->store, &draft, &out);
    if (result != 0) {
        return sbx_symbol_store_option_failed("symbols", adding->store, "the store cannot be written", result);
    }
    int alternate;
    size_t count = (size_t)open_paths(group, descriptors, &alternate);
    result = sbx_symbol_groups_open_parts(&adding->groups, group, &adding->parts);
    if (result != 0) { /* the other parts are still useful */
        sbx_failure("symbols", "%s: its .dwo files cannot be put together: %s", adding->path, strerror(-result));
    }
    struct sbx_making making = {.descriptors = descriptors,
                                .descriptor_count = count,
                                .alternate = alternate,
                                .parts = adding->parts.descriptors,
                                .part_count = adding->parts.count,
                                .build_id = group->build_id,
                                .build_id_bytes = group->build_id_bytes,
                                .name = name,
                                .now_s = (uint64_t)time(NULL),
                                .out = out,
                                .progress = show_progress,
                                .context = (void *)(name[0] == '\0' ? hex : name)};
    result = sbx_symbol_worker_make(&making, 0, why, sizeof why);
    close(out);
    sbx_progress_clear();
    if (result != 0) {
        sbx_symbol_store_abandon(adding->store, &draft);
        return sbx_failure("symbols", "%s: %s", adding->path, why);
    }
    enum sbx_store_outcome outcome;
    enum sbx_symbol_source before;
    result = sbx_symbol_store_commit(adding->store, &draft, group->build_id, group->build_id_bytes, &outcome, &before);
    if (result != 0) {
        return result == -EBADMSG
                   ? sbx_failure("symbols", "%s: reading it gave no valid table of symbols", adding->path)
                   : sbx_symbol_store_option_failed("symbols", adding->store, adding->path, result);
    }
    return tell(adding, hex, outcome, before, why);
}

int sbx_symbols_add(const struct sbx_symbols_request *request)
{
    if (request->server_url != NULL) {
        return sbx_symbols_send(request);
    }
    struct adding adding = {.store = NULL};
    struct sbx_symbol_groups *groups = &adding.groups;
    int status = sbx_symbol_store_option_open("symbols", request->store, request->tenant, true, &adding.store);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    (void)sbx_symbol_store_sweep(adding.store, (uint64_t)time(NULL)); /* a failure must not prevent adding */
    for (size_t i = 0; i < request->operand_count; i++) {
        size_t before = groups->count, parts_before = groups->part_count;
        const char *path = request->operands[i];
        const char *why;
        int result = sbx_symbol_groups_add(groups, path, &why);
        if (result != 0) {
            status = sbx_failure("symbols", "%s: %s", path,
                                 result != -ENOEXEC ? strerror(-result)
                                 : why != NULL      ? why
                                                    : "no 64-bit ELF file with a build-id (link with -Wl,--build-id), "
                                                      "nor a Mach-O file with a UUID");
        } else if (groups->count == before && groups->count == 0 && groups->part_count == parts_before) {
            status = sbx_failure("symbols", "%s: no file with a build-id is in it", path);
        }
    }
    if (groups->count == 0 && groups->part_count > 0 && status == SBX_EXIT_DONE) {
        status =
            sbx_failure("symbols", "%s: the program that it was split off has to be given too", groups->part_paths[0]);
    }
    for (size_t i = 0; i < groups->count; i++) {
        if (add_group(&adding, &groups->groups[i]) != SBX_EXIT_DONE) {
            status = SBX_EXIT_FAILED; /* the message names it; the other files are still added */
        }
    }
    sbx_symbol_groups_finish(groups);
    sbx_symbol_store_close(adding.store);
    return status;
}
