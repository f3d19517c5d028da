/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_send.c - `stallbox symbols add --server`: symbol files, and maps of names, to a server that reads them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compressed_file.h"
#include "delivery_options.h"
#include "http_exchange.h"
#include "options.h"
#include "symbol_groups.h"
#include "symbols_verbs.h"
#include "terminal.h"

enum {
    TRIES_MAX = 20,       /* per file, while the server says "later": a quarter of an hour */
    TRIES_IN_VAIN = 4,    /* without any answer; the server may be restarting */
    WAIT_MAX_S = 300,     /* even if the server asks for more */
    OWN_WAIT_MAX_S = 60,  /* when the server names no time */
    TIMEOUT_MS = 7200000, /* for a gigabyte on a slow line */
    PATIENCE_S = 1800,    /* while the server reads a file, it says nothing */
    ANSWER_BYTES = 2048,
    ASK_FIRST_BYTES = 65536, /* less is sent at once; then the answer can be read in any case */
};

struct sending {
    struct sbx_delivery_options told;
    bool is_over; /* the server refuses us, so it would refuse the other files too */
};

/* ---- one request ---- */

static void show_progress(void *context, uint64_t sent, uint64_t total)
{
    const char *path = context;
    char what[200];
    snprintf(what, sizeof what, "sending %.150s, KiB", path);
    sbx_progress_show(what, (unsigned long)(sent >> 10), (unsigned long)(total >> 10));
}

/* Clean the server's line of all bytes that control a terminal. */
static void clean(char *text)
{
    text[strcspn(text, "\r\n")] = '\0';
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        *text = c < 0x20 || c >= 0x7f ? '?' : *text;
    }
}

static bool is_for_later(long status)
{
    return status == 0 || status == 408 || status == 429 || status == 502 || status == 503 || status == 504 ||
           status == 507;
}

/* Wait, as long as the server asked for or longer with each try. */
static void wait_for(const struct sbx_http_reply *reply, int tries, const char *path, const char *why)
{
    uint64_t seconds = tries < 6 ? UINT64_C(1) << tries : OWN_WAIT_MAX_S, asked = reply->retry_after_ms / 1000;
    seconds = asked > seconds ? asked : seconds;
    seconds = seconds > WAIT_MAX_S ? WAIT_MAX_S : seconds;
    fprintf(stderr, "stallbox symbols: %s: %s; again in %llu s\n", path, why, (unsigned long long)seconds);
    struct timespec left = {.tv_sec = (time_t)seconds};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* Send a file's bytes to `query`. Returns the exit status, after a line about it. */
static int send_bytes(struct sending *sending, const char *path, const char *query,
                      const struct sbx_compressed_file *file)
{
    static const char *const headers[] = {"Accept: text/plain", "Content-Encoding: zstd",
                                          "Content-Type: application/octet-stream", NULL};
    char answer[ANSWER_BYTES + 1];
    struct sbx_http_reply reply;
    const struct sbx_http_question question = {.server_url = sending->told.server_url,
                                               .path = query,
                                               .token = sending->told.token,
                                               .headers = headers,
                                               .method = "PUT",
                                               .asks_first = file->count > ASK_FIRST_BYTES,
                                               .body = file->bytes,
                                               .body_bytes = file->count,
                                               .answer_bytes_max = ANSWER_BYTES,
                                               .timeout_ms = TIMEOUT_MS,
                                               .patience_s = PATIENCE_S,
                                               .progress = show_progress,
                                               .context = (void *)(uintptr_t)path};
    for (int tries = 0;; tries++) {
        memset(answer, 0, sizeof answer);
        sbx_http_exchange(&question, (uint8_t *)answer, ANSWER_BYTES, &reply);
        sbx_progress_clear();
        clean(answer);
        if (reply.status == 200 || reply.status == 201) {
            printf("%s (%s)\n", answer, path);
            fflush(stdout);
            return SBX_EXIT_DONE;
        }
        const char *why = reply.status == 0 ? reply.why : answer[0] != '\0' ? answer : "it says nothing";
        if (is_for_later(reply.status) && tries + 1 < (reply.status == 0 ? TRIES_IN_VAIN : TRIES_MAX)) {
            wait_for(&reply, tries, path, why);
            continue;
        }
        sending->is_over = is_for_later(reply.status) || reply.status == 401 || reply.status == 403 ||
                           reply.status == 404 || reply.status == 405;
        if (reply.status == 404 || reply.status == 405) {
            why = "this server takes no symbols";
        }
        return sbx_failure("symbols", "%s: %s", path, why);
    }
}

/* Send the file at `path`, which messages call `name`. */
static int send_file(struct sending *sending, const char *path, const char *name, const char *query)
{
    struct sbx_compressed_file file;
    int result = sbx_compressed_file_make(path, &file);
    if (result != 0) {
        return sbx_failure("symbols", "%s: %s", name,
                           result == -ENOEXEC ? "not a file with anything in it" : strerror(-result));
    }
    int status = send_bytes(sending, name, query, &file);
    sbx_compressed_file_finish(&file);
    return status;
}

/* ---- what there is to send ---- */

static bool is_map_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return fnmatch("provider-*.map", slash == NULL ? path : slash + 1, 0) == 0;
}

/* "&name=NAME", where a server takes it as a name, else "". */
static void print_name(const char *name, char *out, size_t bytes)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t used = (size_t)snprintf(out, bytes, "&name=");
    bool is_taken = name[0] != '\0' && name[0] != '.';
    for (; *name != '\0' && is_taken && used + 4 < bytes; name++) {
        is_taken = *name > ' ' && *name <= '~' && strchr("/\\:<>\"'&", *name) == NULL;
        used += (size_t)snprintf(out + used, bytes - used, strchr(plain, *name) != NULL ? "%c" : "%%%02X",
                                 (unsigned char)*name);
    }
    if (!is_taken) {
        out[0] = '\0';
    }
}

static off_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : 0;
}

/* Send the files of one build-id, the largest first, because that is usually the one with the debug information. The
 * others may have further names. */
static int send_group(struct sending *sending, const struct sbx_symbol_groups *groups, struct sbx_symbol_group *group)
{
    char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1], name[64], name_part[200], query[400];
    int status = SBX_EXIT_DONE;
    for (size_t i = 1; i < group->path_count; i++) {
        for (size_t k = i; k > 0 && size_of(group->paths[k]) > size_of(group->paths[k - 1]); k--) {
            char *larger = group->paths[k];
            group->paths[k] = group->paths[k - 1];
            group->paths[k - 1] = larger;
        }
    }
    sbx_build_id_format(group->build_id, group->build_id_bytes, hex);
    sbx_symbol_group_name(group, name, sizeof name);
    print_name(name, name_part, sizeof name_part);
    snprintf(query, sizeof query, "/v1/symbols?build-id=%s%s", hex, name_part);
    int bundle, result = sbx_symbol_groups_bundle(groups, group, &bundle);
    if (result != 0) { /* the rest of it is worth having */
        status = sbx_failure("symbols", "%s: the parts of its debug information cannot be put together: %s",
                             group->paths[0], strerror(-result));
    }
    if (bundle >= 0) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", bundle);
        status = send_file(sending, path, group->paths[0], query);
        close(bundle);
        return status;
    }
    for (size_t i = 0; i < group->path_count && !sending->is_over; i++) {
        if (send_file(sending, group->paths[i], group->paths[i], query) != SBX_EXIT_DONE) {
            status = SBX_EXIT_FAILED;
        }
    }
    return status;
}

/* Send the maps of names in a folder. Returns their number, and the worst status. */
static size_t send_maps(struct sending *sending, const char *folder, int *status)
{
    struct dirent **entries = NULL;
    size_t sent = 0;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (is_map_name(entries[i]->d_name) && length > 0 && (size_t)length < sizeof path && !sending->is_over) {
            sent++;
            if (send_file(sending, path, path, "/v1/symbols") != SBX_EXIT_DONE) {
                *status = SBX_EXIT_FAILED;
            }
        }
        free(entries[i]);
    }
    free(entries);
    return sent;
}

/* Look at one operand: maps are sent at once, code is added to the groups. */
static int take_operand(struct sending *sending, const char *path, struct sbx_symbol_groups *groups)
{
    struct stat entry;
    int status = SBX_EXIT_DONE;
    size_t before = groups->count, maps = 0;
    if (stat(path, &entry) == 0 && S_ISREG(entry.st_mode) && is_map_name(path)) {
        return send_file(sending, path, path, "/v1/symbols");
    }
    const char *why = NULL;
    int result = sbx_symbol_groups_add(groups, path, &why);
    if (result != 0) {
        return sbx_failure("symbols", "%s: %s", path,
                           why != NULL          ? why
                           : result == -ENOEXEC ? "neither a 64-bit ELF file with a build-id nor a map of names "
                                                  "(provider-NAME.map)"
                                                : strerror(-result));
    }
    if (S_ISDIR(entry.st_mode)) {
        maps = send_maps(sending, path, &status);
        if (groups->count == before && before == 0 && maps == 0) {
            status = sbx_failure("symbols", "%s: no file with a build-id is in it, and no map of names", path);
        }
    }
    return status;
}

int sbx_symbols_send(const struct sbx_symbols_request *request)
{
    struct sending sending = {
        .told = {.server_url = request->server_url, .token_path = request->token_path, .ca_path = request->ca_path}};
    struct sbx_symbol_groups groups = {0};
    struct sbx_sealer *sealer = NULL;
    if (!sbx_delivery_options_check_server(&sending.told, "symbols")) {
        return SBX_EXIT_USAGE;
    }
    int status = sbx_delivery_options_prepare(&sending.told, "symbols", &sealer); /* nothing asks for a sealer */
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    for (size_t i = 0; i < request->operand_count && !sending.is_over; i++) {
        if (take_operand(&sending, request->operands[i], &groups) != SBX_EXIT_DONE) {
            status = SBX_EXIT_FAILED;
        }
    }
    if (groups.count == 0 && groups.part_count > 0 && status == SBX_EXIT_DONE) {
        status =
            sbx_failure("symbols", "%s: the program that it was split off has to be given too", groups.part_paths[0]);
    }
    for (size_t i = 0; i < groups.count && !sending.is_over; i++) {
        if (send_group(&sending, &groups, &groups.groups[i]) != SBX_EXIT_DONE) {
            status = SBX_EXIT_FAILED;
        }
    }
    sbx_symbol_groups_finish(&groups);
    explicit_bzero(sending.told.token_text, sizeof sending.told.token_text);
    return status;
}
