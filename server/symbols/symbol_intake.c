/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_intake.c - a thread that makes symbols from unnamed files. */
#include "symbol_intake.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app_symbols.h"
#include "file_ids.h"
#include "provider_map.h"
#include "provider_shelf.h"
#include "store_symbols.h"
#include "stored_list.h"
#include "symbol_bundle.h"
#include "symbol_helper.h"
#include "symbol_intake_inside.h"
#include "symbol_store.h"
#include "zstd_file.h"

#define BYTES_MAX_DEFAULT     (UINT64_C(2) << 30)
#define RESERVE_BYTES_DEFAULT (UINT64_C(256) << 20)

/* ---- from a file to symbols ---- */

static uint64_t now_s(void)
{
    return (uint64_t)time(NULL);
}

/* Mark the stalls that lack these symbols. */
static void announce(struct sbx_symbol_intake *intake, const uint8_t *build_id, size_t bytes, uint64_t made_s,
                     struct sbx_symbol_upload *upload)
{
    struct sbx_intake_answer *answer = &upload->answer;
    const struct sbx_store_view view = {intake->settings.store, upload->sender};
    int64_t lacking = 0;
    /* a sender of one application gets the number of its own stalls only */
    bool is_of_one = upload->sender != 0 && !answer->is_runtime;
    if (is_of_one && sbx_store_count_lacking(&view, build_id, bytes, &lacking) < 0)
        lacking = 0; /* the stalls are named in any case */
    int result = sbx_store_symbols_came(intake->settings.store, build_id, bytes, made_s, &answer->stalls);
    if (is_of_one)
        answer->stalls = lacking;
    if (result < 0) /* the symbols are stored, so the next start finds them */
        sbx_operator_log(intake->settings.log, SBX_LOG_WARNING, "symbols",
                         "symbols came, stalls wait for the next start: %s", strerror(-result));
    sbx_triager_symbols_came(intake->settings.triager, answer->is_runtime ? NULL : build_id, bytes);
}

static void take_map(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd, uint64_t bytes)
{
    struct sbx_intake_answer *answer = &upload->answer;
    struct sbx_shelved shelved;
    uint8_t number[8];
    answer->is_runtime = true;
    if (bytes > SBX_PROVIDER_FILE_BYTES_MAX) {
        sbx_intake_refuse_size(answer, SBX_PROVIDER_FILE_BYTES_MAX);
        return;
    }
    char *text = malloc((size_t)bytes + 1);
    if (!text || pread(fd, text, (size_t)bytes, 0) != (ssize_t)bytes) {
        sbx_intake_put_off(answer, AGAIN_BUSY_S, text ? "the file could not be read" : "no memory");
        free(text);
        return;
    }
    int result = sbx_provider_shelf_add(intake->settings.providers, text, (size_t)bytes, &shelved, answer->why,
                                        sizeof(answer->why));
    free(text);
    snprintf(answer->name, sizeof(answer->name), "%s", shelved.name);
    answer->functions = shelved.added;
    answer->different = shelved.different;
    if (result == -EBADMSG || result == -E2BIG) {
        sbx_intake_refuse(answer, 422, answer->why);
    } else if (result < 0) {
        sbx_intake_answer_error(answer, result);
    } else {
        answer->outcome = shelved.added > 0 ? SBX_INTAKE_ADDED : SBX_INTAKE_SAME;
        answer->status = shelved.added > 0 ? 201 : 200;
        for (size_t i = 0; i < 8; i++)
            number[i] = (uint8_t)(shelved.number >> (56 - 8 * i));
        if (shelved.added > 0)
            announce(intake, number, sizeof(number), now_s(), upload);
    }
}

/* Was there trouble with the symbol store? It is logged once, and the sender is told to try later. Returns whether
 * there was. */
static bool is_store_troubled(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload)
{
    char words[sizeof(intake->said)];
    if (sbx_symbol_store_trouble(upload->symbols, words, sizeof(words)) == SBX_STORE_IS_WELL)
        return false;
    if (strcmp(words, intake->said) != 0)
        sbx_operator_log(intake->settings.log, SBX_LOG_WARNING, "symbols", "symbols that were sent are not taken: %s",
                         words);
    memcpy(intake->said, words, sizeof(words));
    sbx_intake_put_off(&upload->answer, AGAIN_FULL_S, "the store of symbols does not answer, or has no room");
    return true;
}

/* Have the file parsed, and store its image. Returns 0, or -errno with the answer made. */
static int make_image(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload,
                      struct sbx_helper_making *making, enum sbx_store_outcome *outcome_out)
{
    struct sbx_intake_answer *answer = &upload->answer;
    struct sbx_store_draft draft;
    enum sbx_symbol_source before = SBX_SYMBOLS_NONE;
    int result = sbx_symbol_store_begin(upload->symbols, &draft, &making->out);
    if (result < 0) {
        if (!is_store_troubled(intake, upload))
            sbx_intake_answer_error(answer, result);
        return result;
    }
    result = sbx_symbol_helper_make(intake->settings.helper, making, answer->why, sizeof(answer->why));
    close(making->out);
    if (result < 0)
        sbx_symbol_store_abandon(upload->symbols, &draft);
    else
        result = sbx_symbol_store_commit(upload->symbols, &draft, making->build_id, making->build_id_bytes, outcome_out,
                                         &before);
    if (result == 0)
        intake->said[0] = '\0';
    else if (is_store_troubled(intake, upload))
        return result;
    answer->before = before == SBX_SYMBOLS_NONE ? NULL : sbx_symbol_source_name(before);
    return result;
}

/* Read how many functions the store has of it, and from which source. */
static uint64_t read_facts(struct sbx_symbol_upload *upload, const struct sbx_helper_making *making)
{
    struct sbx_intake_answer *answer = &upload->answer;
    struct sbx_symbol_image *image;
    uint64_t made_s = making->now_s;
    if (sbx_symbol_store_find(upload->symbols, making->build_id, making->build_id_bytes, making->now_s, 0, &image) ==
        0) {
        const struct sbx_image_facts *facts = sbx_symbol_image_facts(image);
        answer->source = sbx_symbol_source_name(facts->best);
        answer->functions = facts->function_count;
        made_s = facts->made_s;
        sbx_symbol_image_close(image);
    }
    return made_s;
}

static void refuse_different(struct sbx_symbol_upload *upload)
{
    char tenant[SBX_APP_TENANT_BYTES] = "";
    if (upload->sender != 0)
        sbx_app_symbols_tenant(upload->sender, tenant);
    snprintf(upload->answer.why, sizeof(upload->answer.why),
             "other symbols of this build-id are here; they stay until the operator of the server removes them"
             " (stallbox symbols remove --store DATA/symbols%s%s)",
             *tenant ? " --tenant " : "", tenant);
}

static void take_code(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload,
                      struct sbx_helper_making *making)
{
    static const struct {
        enum sbx_intake_outcome outcome;
        unsigned status;
    } outcomes[] = {[SBX_STORE_ADDED] = {SBX_INTAKE_ADDED, 201},
                    [SBX_STORE_REPLACED] = {SBX_INTAKE_REPLACED, 200},
                    [SBX_STORE_SAME] = {SBX_INTAKE_SAME, 200},
                    [SBX_STORE_KEPT] = {SBX_INTAKE_KEPT, 200},
                    [SBX_STORE_DIFFERENT] = {SBX_INTAKE_DIFFERENT, 409}};
    struct sbx_intake_answer *answer = &upload->answer;
    enum sbx_store_outcome outcome = SBX_STORE_ADDED;
    int result = make_image(intake, upload, making, &outcome);
    if (answer->status)
        return;
    if (result == -ENODATA || result == -EFBIG || result == -EBADMSG || result == -ETIME || result == -E2BIG) {
        sbx_intake_refuse(answer, 422, *answer->why ? answer->why : "reading it gave no valid table of symbols");
    } else if (result == -ECHILD || result == -ENOMEM) { /* its worker crashed, or had no memory */
        sbx_intake_refuse(answer, 422, *answer->why ? answer->why : "it takes more memory than there is for it");
    } else if (result == -ENOSPC || result == -EDQUOT) {
        sbx_intake_answer_error(answer, result);
    } else if (result < 0) { /* -EPIPE: the helper is gone, or the server stops */
        sbx_intake_put_off(answer, AGAIN_FULL_S, *answer->why ? answer->why : strerror(-result));
    } else {
        answer->outcome = outcomes[outcome].outcome;
        answer->status = outcomes[outcome].status;
        sbx_stored_list_forget(intake->list, upload->sender);
        uint64_t made_s = read_facts(upload, making);
        if (outcome == SBX_STORE_ADDED || outcome == SBX_STORE_REPLACED)
            announce(intake, making->build_id, making->build_id_bytes, made_s, upload);
        if (outcome == SBX_STORE_DIFFERENT)
            refuse_different(upload);
    }
}

/* Choose one of the file's build-ids: the one that the request names, or the only one. A universal file has several. */
static bool choose_id(struct sbx_symbol_upload *upload, int fd, const char begin[4], struct sbx_helper_making *making)
{
    struct sbx_file_id ids[SBX_FILE_IDS_MAX];
    struct sbx_intake_answer *answer = &upload->answer;
    const char *why = NULL;
    size_t count = sbx_file_ids_read(fd, ids, &why), chosen = 0;
    bool is_elf = memcmp(begin,
                         "\x7f"
                         "ELF",
                         4) == 0;
    if (count == 0 || ids[0].byte_count < BUILD_ID_BYTES_MIN) {
        sbx_intake_refuse(answer, 422,
                          why      ? why
                          : is_elf ? "no 64-bit ELF file with a build-id; link with -Wl,--build-id"
                                   : "neither a 64-bit ELF file nor a Mach-O file nor a map of names");
        return false;
    }
    if (upload->build_id_bytes) {
        while (chosen < count && (ids[chosen].byte_count != upload->build_id_bytes ||
                                  memcmp(ids[chosen].bytes, upload->build_id, upload->build_id_bytes) != 0))
            chosen++;
        if (chosen == count) {
            sbx_intake_refuse(answer, 422, "the file has another build-id than the request says");
            return false;
        }
    } else if (count > 1) {
        sbx_intake_refuse(answer, 422, "the file has several build-ids; name the one that is meant by ?build-id=");
        return false;
    }
    memcpy(making->build_id, ids[chosen].bytes, ids[chosen].byte_count);
    making->build_id_bytes = ids[chosen].byte_count;
    return true;
}

/* Make the symbols that `making` asks for. */
static void take_making(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload,
                        struct sbx_helper_making *making)
{
    struct sbx_intake_answer *answer = &upload->answer;
    sbx_build_id_format(making->build_id, making->build_id_bytes, answer->build_id);
    memcpy(making->name, upload->name, sizeof(making->name));
    snprintf(answer->name, sizeof(answer->name), "%s", upload->name);
    struct sbx_symbol_store *own = NULL;
    int result = upload->sender ? sbx_app_symbols_open(intake->settings.symbols, upload->sender, true, &own) : 0;
    if (result < 0) {
        sbx_intake_answer_error(answer, result);
        return;
    }
    upload->symbols = own ? own : intake->settings.symbols;
    take_code(intake, upload, making);
    sbx_symbol_store_close(own);
}

/* Copy a member of a bundle into its own unnamed file. Returns a descriptor or -errno. */
static int take_member(const struct sbx_symbol_intake *intake, int bundle, const struct sbx_bundle_member *member)
{
    int fd = sbx_intake_open_nameless(intake);
    int result = fd < 0 ? fd : sbx_intake_look_at_disk(intake, fd);
    result = result == 0 ? sbx_bundle_copy(bundle, member->offset, member->bytes, fd, 0) : result;
    if (result < 0 && fd >= 0)
        close(fd);
    return result < 0 ? result : fd;
}

/* Take the members to where the worker expects them; parts stay in the bundle. Returns 0, -errno, or 1 with the answer
 * made. */
static int take_members(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd,
                        const struct sbx_bundle *bundle, struct sbx_helper_making *making)
{
    char begin[32] = "";
    for (size_t i = 0; i < bundle->count; i++) {
        const struct sbx_bundle_member *member = &bundle->members[i];
        bool is_program = member->kind == SBX_BUNDLE_PROGRAM;
        if (member->kind == SBX_BUNDLE_PART) {
            making->parts = fd;
            continue;
        }
        if (is_program ? making->in_count == SBX_HELPER_IN_MAX : making->alternate >= 0) {
            sbx_intake_refuse(&upload->answer, 422, "a bundle has files of one program and one that dwz made");
            return 1;
        }
        int copy = take_member(intake, fd, member);
        if (copy < 0)
            return copy;
        if (!is_program) {
            making->alternate = copy;
            continue;
        }
        making->in[making->in_count++] = copy;
        if (pread(copy, begin, sizeof(begin), 0) < 0 || !choose_id(upload, copy, begin, making))
            return 1;
    }
    if (making->in_count == 0)
        sbx_intake_refuse(&upload->answer, 422, "there is no program in the bundle, and no debug file");
    return making->in_count == 0;
}

/* Take a program with the parts of its debug information; the sender names the program. */
static void take_bundle(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd)
{
    struct sbx_intake_answer *answer = &upload->answer;
    struct sbx_helper_making making = {.alternate = -1, .parts = -1, .now_s = now_s()};
    struct sbx_bundle bundle;
    if (!upload->build_id_bytes) {
        sbx_intake_refuse(answer, 400, "a bundle needs ?build-id=");
        return;
    }
    int result = sbx_bundle_read(fd, &bundle);
    if (result == -EBADMSG)
        sbx_intake_refuse(answer, 422, "the bundle is damaged");
    else if (result == 0)
        result = take_members(intake, upload, fd, &bundle, &making);
    if (answer->status == 0 && result < 0)
        sbx_intake_answer_error(answer, result);
    if (answer->status == 0)
        take_making(intake, upload, &making);
    for (size_t i = 0; i < making.in_count; i++)
        close(making.in[i]);
    if (making.alternate >= 0)
        close(making.alternate);
    free(bundle.members);
}

/* Detect what the file is, and take it. */
static void take_file(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd, uint64_t bytes)
{
    char begin[32] = "";
    struct sbx_helper_making making = {
        .in = {fd}, .in_count = 1, .alternate = upload->alternate, .parts = -1, .now_s = now_s()};
    ssize_t got = pread(fd, begin, sizeof(begin), 0);
    if (got <= 0)
        sbx_intake_refuse(&upload->answer, 400, "there is no file in the request");
    else if (sbx_provider_shelf_is_map(begin, (size_t)got))
        take_map(intake, upload, fd, bytes);
    else if (sbx_bundle_is(begin, (size_t)got))
        take_bundle(intake, upload, fd);
    else if (choose_id(upload, fd, begin, &making))
        take_making(intake, upload, &making);
}

static void take_upload(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload)
{
    struct sbx_intake_answer *answer = &upload->answer;
    if (upload->failure == -E2BIG) {
        sbx_intake_refuse_size(answer, intake->settings.bytes_max);
        return;
    }
    if (upload->failure != 0) {
        sbx_intake_answer_error(answer, upload->failure);
        return;
    }
    if (!upload->is_zstd) {
        take_file(intake, upload, upload->fd, upload->bytes);
        return;
    }
    uint64_t bytes = 0;
    int fd = sbx_intake_open_nameless(intake);
    int result = fd < 0 ? fd : sbx_intake_look_at_disk(intake, fd);
    if (result == 0)
        result = sbx_zstd_file_expand(upload->fd, fd, intake->settings.bytes_max, &bytes);
    if (result == -EBADMSG)
        sbx_intake_refuse(answer, 400, "its zstd compression is damaged");
    else if (result == -E2BIG)
        sbx_intake_refuse_size(answer, intake->settings.bytes_max);
    else if (result < 0)
        sbx_intake_answer_error(answer, result);
    else
        take_file(intake, upload, fd, bytes);
    if (fd >= 0)
        close(fd);
}

/* ---- the thread ---- */

static void *run(void *argument)
{
    struct sbx_symbol_intake *intake = argument;
    pthread_mutex_lock(&intake->lock);
    for (;;) {
        while (!intake->is_ending && TAILQ_EMPTY(&intake->queue))
            pthread_cond_wait(&intake->changed, &intake->lock);
        struct sbx_symbol_upload *upload = TAILQ_FIRST(&intake->queue);
        bool is_ending = intake->is_ending;
        if (!upload)
            break;
        TAILQ_REMOVE(&intake->queue, upload, link);
        pthread_mutex_unlock(&intake->lock);
        if (is_ending)
            sbx_intake_put_off(&upload->answer, AGAIN_BUSY_S, "the server stops");
        else
            take_upload(intake, upload);
        sbx_intake_count(intake, &upload->answer);
        upload->done(upload->context);
        pthread_mutex_lock(&intake->lock);
    }
    pthread_mutex_unlock(&intake->lock);
    return NULL;
}

void sbx_symbol_upload_submit(struct sbx_symbol_upload *upload, void (*done)(void *context), void *context)
{
    struct sbx_symbol_intake *intake = upload->intake;
    upload->done = done;
    upload->context = context;
    upload->was_submitted = true;
    pthread_mutex_lock(&intake->lock);
    bool is_ending = intake->is_ending;
    if (!is_ending)
        TAILQ_INSERT_TAIL(&intake->queue, upload, link);
    pthread_cond_signal(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    if (is_ending) { /* the thread may have ended */
        sbx_intake_put_off(&upload->answer, AGAIN_BUSY_S, "the server stops");
        sbx_intake_count(intake, &upload->answer);
        done(context);
    }
}

int sbx_symbol_intake_list(struct sbx_symbol_intake *intake, uint64_t app, struct sbx_stored_row **rows_out,
                           size_t *count_out)
{
    return sbx_stored_list_get(intake->list, app, rows_out, count_out);
}

/* ---- life ---- */

int sbx_symbol_intake_start(const struct sbx_intake_settings *settings, struct sbx_symbol_intake **intake_out)
{
    struct sbx_symbol_intake *intake = calloc(1, sizeof(*intake));
    if (!intake)
        return -ENOMEM;
    intake->settings = *settings;
    if (intake->settings.bytes_max == 0)
        intake->settings.bytes_max = BYTES_MAX_DEFAULT;
    if (intake->settings.reserve_bytes == 0)
        intake->settings.reserve_bytes = RESERVE_BYTES_DEFAULT;
    intake->folder = open(settings->data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (intake->folder < 0) {
        int result = -errno;
        free(intake);
        return result;
    }
    TAILQ_INIT(&intake->queue);
    pthread_mutex_init(&intake->lock, NULL);
    pthread_cond_init(&intake->changed, NULL);
    intake->list = sbx_stored_list_create(settings->listed);
    int result = intake->list ? -pthread_create(&intake->thread, NULL, run, intake) : -ENOMEM;
    if (result < 0) {
        intake->is_ending = true;
        intake->thread = pthread_self();
        sbx_symbol_intake_destroy(intake);
        return result;
    }
    *intake_out = intake;
    return 0;
}

void sbx_symbol_intake_end(struct sbx_symbol_intake *intake)
{
    if (!intake)
        return;
    pthread_mutex_lock(&intake->lock);
    bool was_ending = intake->is_ending;
    intake->is_ending = true;
    pthread_cond_signal(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    if (was_ending)
        return;
    sbx_symbol_helper_cancel(intake->settings.helper); /* do not wait for the file that is being read */
    pthread_join(intake->thread, NULL);
}

void sbx_symbol_intake_destroy(struct sbx_symbol_intake *intake)
{
    if (!intake)
        return;
    sbx_symbol_intake_end(intake);
    close(intake->folder);
    sbx_stored_list_destroy(intake->list);
    pthread_cond_destroy(&intake->changed);
    pthread_mutex_destroy(&intake->lock);
    free(intake);
}
