/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_intake.c - files without a name, and a thread that makes symbols of them. */
#include "symbol_intake.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "build_id.h"
#include "file_ids.h"
#include "provider_map.h"
#include "provider_shelf.h"
#include "store_symbols.h"
#include "stored_list.h"
#include "symbol_helper.h"
#include "symbol_store.h"
#include "whole_write.h"
#include "zstd_file.h"

enum {
    UPLOADS_MAX = 4, /* at a time, of all senders */
    AGAIN_BUSY_S = 5,
    AGAIN_FULL_S = 60,
    LOOK_AT_DISK_BYTES = 1 << 20, /* so often */
    BUILD_ID_BYTES_MIN = 4,
};
#define BYTES_MAX_DEFAULT     (UINT64_C(2) << 30)
#define RESERVE_BYTES_DEFAULT (UINT64_C(256) << 20)

struct sbx_symbol_upload {
    TAILQ_ENTRY(sbx_symbol_upload) link; /* in the queue, between submit and its turn */
    struct sbx_symbol_intake *intake;
    int fd;
    uint64_t bytes, looked_at; /* written; when the disk was looked at last */
    int failure;               /* -errno of a write: the rest is dropped */
    bool is_zstd, was_submitted;
    uint64_t sender;                          /* the application that its token is for, 0 all */
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX]; /* as claimed */
    size_t build_id_bytes;                    /* 0: nothing was */
    char name[SBX_IMAGE_NAME_BYTES];
    struct sbx_intake_answer answer;
    void (*done)(void *context);
    void *context;
};

struct sbx_symbol_intake {
    struct sbx_intake_settings settings;
    int folder; /* the data folder */
    pthread_t thread;
    pthread_mutex_t lock; /* of those below */
    pthread_cond_t changed;
    TAILQ_HEAD(, sbx_symbol_upload) queue;
    unsigned uploads;
    bool is_ending;
    struct sbx_stored_list *list;
};

/* ---- answers ---- */

static void refuse(struct sbx_intake_answer *answer, unsigned status, const char *why)
{
    answer->outcome = SBX_INTAKE_REFUSED;
    answer->status = status;
    if (why != answer->why)
        snprintf(answer->why, sizeof(answer->why), "%s", why);
}

static void put_off(struct sbx_intake_answer *answer, unsigned retry_after_s, const char *why)
{
    answer->outcome = SBX_INTAKE_LATER;
    answer->status = 503;
    answer->retry_after_s = retry_after_s;
    if (why != answer->why)
        snprintf(answer->why, sizeof(answer->why), "%s", why);
}

static void refuse_size(struct sbx_intake_answer *answer, uint64_t bytes_max)
{
    refuse(answer, 413, "");
    snprintf(answer->why, sizeof(answer->why), "a file of symbols has at most %llu MiB here, also uncompressed",
             (unsigned long long)(bytes_max >> 20));
}

/* For an errno of the disk. */
static void answer_error(struct sbx_intake_answer *answer, int result)
{
    bool is_full = result == -ENOSPC || result == -EDQUOT || result == -EFBIG;
    put_off(answer, is_full ? AGAIN_FULL_S : AGAIN_BUSY_S,
            is_full ? "the data folder has no room for it now" : strerror(-result));
}

static void count(struct sbx_symbol_intake *intake, const struct sbx_intake_answer *answer)
{
    sbx_metrics_add(intake->settings.metrics, (enum sbx_metric)(SBX_METRIC_SYMBOLS_ADDED + (unsigned)answer->outcome),
                    1);
    if (answer->outcome == SBX_INTAKE_DIFFERENT && intake->settings.log) {
        fprintf(intake->settings.log,
                "stallbox serve: symbols of build-id %s were sent that differ from those that are here, which stay\n",
                answer->build_id);
        fflush(intake->settings.log);
    }
}

/* ---- claims ---- */

/* Lower hex of 4 to 32 bytes, and nothing else. */
static bool read_build_id(const char *text, struct sbx_symbol_upload *upload)
{
    size_t digits = strlen(text);
    if (strspn(text, "0123456789abcdef") != digits)
        return false;
    upload->build_id_bytes = sbx_build_id_parse(text, digits, upload->build_id);
    return upload->build_id_bytes >= BUILD_ID_BYTES_MIN;
}

/* A file's name, no path: it is shown, and never opened. */
static bool read_name(const char *text, struct sbx_symbol_upload *upload)
{
    size_t bytes = strlen(text);
    if (bytes == 0 || bytes >= sizeof(upload->name) || text[0] == '.')
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("/\\:<>\"'&", text[i]))
            return false;
    memcpy(upload->name, text, bytes + 1);
    return true;
}

/* ---- the body ---- */

/* A file without a name: whatever happens, nothing of it stays. Returns a descriptor or -errno. */
static int open_nameless(const struct sbx_symbol_intake *intake)
{
    int fd = openat(intake->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd >= 0 ? fd : -errno;
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s/.upload-XXXXXX", intake->settings.data_dir) >= sizeof(path))
        return -ENAMETOOLONG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}

struct sbx_symbol_upload *sbx_symbol_upload_begin(struct sbx_symbol_intake *intake,
                                                  const struct sbx_intake_claims *claims, uint64_t length,
                                                  struct sbx_intake_answer *answer)
{
    *answer = (struct sbx_intake_answer){0};
    struct sbx_symbol_upload *upload = calloc(1, sizeof(*upload));
    if (!upload) {
        put_off(answer, AGAIN_BUSY_S, "no memory");
        return NULL;
    }
    *upload =
        (struct sbx_symbol_upload){.intake = intake, .is_zstd = claims->is_zstd, .sender = claims->sender, .fd = -1};
    pthread_mutex_lock(&intake->lock);
    bool is_free = !intake->is_ending && intake->uploads < UPLOADS_MAX;
    intake->uploads += is_free;
    pthread_mutex_unlock(&intake->lock);
    if (claims->build_id && !read_build_id(claims->build_id, upload))
        refuse(answer, 400, "a build-id is 8 to 64 lower hex digits");
    else if (claims->name && !read_name(claims->name, upload))
        refuse(answer, 400, "a module's name is a file's name: 1 to 63 printable letters, no path");
    else if (length > intake->settings.bytes_max)
        refuse_size(answer, intake->settings.bytes_max);
    else if (!is_free)
        put_off(answer, AGAIN_BUSY_S, "too many files of symbols are arriving");
    else if ((upload->fd = open_nameless(intake)) < 0)
        answer_error(answer, upload->fd);
    if (answer->status == 0)
        return upload;
    count(intake, answer);
    upload->was_submitted = true; /* it is counted */
    if (is_free)
        sbx_symbol_upload_destroy(upload);
    else
        free(upload);
    return NULL;
}

/* Is there room for what comes, beside what is for payloads? */
static int look_at_disk(const struct sbx_symbol_intake *intake, int fd)
{
    struct statvfs status;
    if (fstatvfs(fd, &status) < 0)
        return 0;
    return (uint64_t)status.f_bavail * status.f_frsize < intake->settings.reserve_bytes ? -ENOSPC : 0;
}

void sbx_symbol_upload_append(struct sbx_symbol_upload *upload, const void *bytes, size_t byte_count)
{
    struct sbx_symbol_intake *intake = upload->intake;
    if (upload->failure == 0 && byte_count > intake->settings.bytes_max - upload->bytes)
        upload->failure = -E2BIG;
    if (upload->failure == 0 && (upload->bytes == 0 || upload->bytes - upload->looked_at >= LOOK_AT_DISK_BYTES)) {
        upload->looked_at = upload->bytes;
        upload->failure = look_at_disk(intake, upload->fd);
    }
    if (upload->failure == 0)
        upload->failure = sbx_write_all(upload->fd, bytes, byte_count);
    upload->bytes += byte_count;
    if (upload->failure != 0 && upload->fd >= 0) { /* what was written is of no use any more */
        close(upload->fd);
        upload->fd = -1;
    }
}

/* ---- from a file to symbols ---- */

static uint64_t now_s(void)
{
    return (uint64_t)time(NULL);
}

/* Tell the stalls that lack it. */
static void announce(struct sbx_symbol_intake *intake, const uint8_t *build_id, size_t bytes, uint64_t made_s,
                     struct sbx_intake_answer *answer)
{
    int result = sbx_store_symbols_came(intake->settings.store, build_id, bytes, made_s, &answer->stalls);
    if (result < 0 && intake->settings.log) { /* the symbols are there: the next start finds them */
        fprintf(intake->settings.log, "stallbox serve: symbols came, stalls wait for the next start: %s\n",
                strerror(-result));
        fflush(intake->settings.log);
    }
    sbx_triager_symbols_came(intake->settings.triager, answer->is_runtime ? NULL : build_id, bytes);
}

static void take_map(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd, uint64_t bytes)
{
    struct sbx_intake_answer *answer = &upload->answer;
    struct sbx_shelved shelved;
    uint8_t number[8];
    answer->is_runtime = true;
    if (bytes > SBX_PROVIDER_FILE_BYTES_MAX) {
        refuse_size(answer, SBX_PROVIDER_FILE_BYTES_MAX);
        return;
    }
    char *text = malloc((size_t)bytes + 1);
    if (!text || pread(fd, text, (size_t)bytes, 0) != (ssize_t)bytes) {
        put_off(answer, AGAIN_BUSY_S, text ? "the file could not be read" : "no memory");
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
        refuse(answer, 422, answer->why);
    } else if (result < 0) {
        answer_error(answer, result);
    } else {
        answer->outcome = shelved.added > 0 ? SBX_INTAKE_ADDED : SBX_INTAKE_SAME;
        answer->status = shelved.added > 0 ? 201 : 200;
        for (size_t i = 0; i < 8; i++)
            number[i] = (uint8_t)(shelved.number >> (56 - 8 * i));
        if (shelved.added > 0)
            announce(intake, number, sizeof(number), now_s(), answer);
    }
}

/* Have the file parsed, and put the image in its place. Returns 0, or -errno with the answer made. */
static int make_image(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd,
                      struct sbx_helper_making *making, enum sbx_store_outcome *outcome_out)
{
    struct sbx_intake_answer *answer = &upload->answer;
    struct sbx_store_draft draft;
    enum sbx_symbol_source before = SBX_SYMBOLS_NONE;
    int result = sbx_symbol_store_begin(intake->settings.symbols, &draft, &making->out);
    if (result < 0) {
        answer_error(answer, result);
        return result;
    }
    making->in = fd;
    result = sbx_symbol_helper_make(intake->settings.helper, making, answer->why, sizeof(answer->why));
    close(making->out);
    if (result < 0)
        sbx_symbol_store_abandon(intake->settings.symbols, &draft);
    else
        result = sbx_symbol_store_commit(intake->settings.symbols, &draft, making->build_id, making->build_id_bytes,
                                         outcome_out, &before);
    answer->before = before == SBX_SYMBOLS_NONE ? NULL : sbx_symbol_source_name(before);
    return result;
}

/* How many functions the store has of it, and from what. */
static uint64_t read_facts(struct sbx_symbol_intake *intake, const struct sbx_helper_making *making,
                           struct sbx_intake_answer *answer)
{
    struct sbx_symbol_image *image;
    uint64_t made_s = making->now_s;
    if (sbx_symbol_store_find(intake->settings.symbols, making->build_id, making->build_id_bytes, making->now_s, 0,
                              &image) == 0) {
        const struct sbx_image_facts *facts = sbx_symbol_image_facts(image);
        answer->source = sbx_symbol_source_name(facts->best);
        answer->functions = facts->function_count;
        made_s = facts->made_s;
        sbx_symbol_image_close(image);
    }
    return made_s;
}

static void take_code(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd,
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
    int result = make_image(intake, upload, fd, making, &outcome);
    if (answer->status)
        return;
    if (result == -ENODATA || result == -EFBIG || result == -EBADMSG || result == -ETIME || result == -E2BIG) {
        refuse(answer, 422, *answer->why ? answer->why : "what was read of it is no table of symbols");
    } else if (result == -ECHILD || result == -ENOMEM) { /* its worker died, or had no memory */
        refuse(answer, 422, *answer->why ? answer->why : "it takes more memory than there is for it");
    } else if (result == -ENOSPC || result == -EDQUOT) {
        answer_error(answer, result);
    } else if (result < 0) { /* -EPIPE: there is no helper any more, or the server stops */
        put_off(answer, AGAIN_FULL_S, *answer->why ? answer->why : strerror(-result));
    } else {
        answer->outcome = outcomes[outcome].outcome;
        answer->status = outcomes[outcome].status;
        sbx_stored_list_forget(intake->list);
        uint64_t made_s = read_facts(intake, making, answer);
        if (outcome == SBX_STORE_ADDED || outcome == SBX_STORE_REPLACED)
            announce(intake, making->build_id, making->build_id_bytes, made_s, answer);
        if (outcome == SBX_STORE_DIFFERENT)
            snprintf(answer->why, sizeof(answer->why),
                     "other symbols of this build-id are here, and they stay until who runs the server removes them"
                     " (stallbox symbols remove --store DATA/symbols)");
    }
}

/* Which of the file's build-ids is meant: the one that the request names, or the only one there is. A universal file has several. */
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
        refuse(answer, 422,
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
            refuse(answer, 422, "the file has another build-id than the request says");
            return false;
        }
    } else if (count > 1) {
        refuse(answer, 422, "the file has several build-ids; name the one that is meant by ?build-id=");
        return false;
    }
    memcpy(making->build_id, ids[chosen].bytes, ids[chosen].byte_count);
    making->build_id_bytes = ids[chosen].byte_count;
    return true;
}

/* Whoever may see one application alone hears of symbols as if those that others sent were not there, and of its own stalls. That
 * other symbols of a build-id are there already cannot be kept from it. */
static void answer_for_one(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload,
                           const struct sbx_helper_making *making)
{
    struct sbx_intake_answer *answer = &upload->answer;
    const struct sbx_store_view view = {intake->settings.store, upload->sender};
    bool is_first = false;
    int64_t stalls = 0;
    if (upload->sender == 0 || answer->status == 0 || answer->status >= 400)
        return;
    if (sbx_store_note_sender(&view, making->build_id, making->build_id_bytes, &is_first, &stalls) < 0) {
        put_off(answer, AGAIN_FULL_S, "the store does not answer");
        return;
    }
    answer->stalls = answer->outcome == SBX_INTAKE_SAME || answer->outcome == SBX_INTAKE_KEPT ? 0 : stalls;
    if (is_first) {
        answer->outcome = SBX_INTAKE_ADDED;
        answer->status = 201;
        answer->before = NULL;
    }
}

/* Find out what the file is, and take it. */
static void take_file(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload, int fd, uint64_t bytes)
{
    char begin[32] = "";
    struct sbx_intake_answer *answer = &upload->answer;
    struct sbx_helper_making making = {.now_s = now_s()};
    ssize_t got = pread(fd, begin, sizeof(begin), 0);
    if (got <= 0) {
        refuse(answer, 400, "there is no file in the request");
        return;
    }
    if (sbx_provider_shelf_is_map(begin, (size_t)got)) {
        take_map(intake, upload, fd, bytes);
        return;
    }
    if (!choose_id(upload, fd, begin, &making)) {
        return;
    }
    sbx_build_id_format(making.build_id, making.build_id_bytes, answer->build_id);
    memcpy(making.name, upload->name, sizeof(making.name));
    snprintf(answer->name, sizeof(answer->name), "%s", upload->name);
    take_code(intake, upload, fd, &making);
    answer_for_one(intake, upload, &making);
}

static void take_upload(struct sbx_symbol_intake *intake, struct sbx_symbol_upload *upload)
{
    struct sbx_intake_answer *answer = &upload->answer;
    if (upload->failure == -E2BIG) {
        refuse_size(answer, intake->settings.bytes_max);
        return;
    }
    if (upload->failure != 0) {
        answer_error(answer, upload->failure);
        return;
    }
    if (!upload->is_zstd) {
        take_file(intake, upload, upload->fd, upload->bytes);
        return;
    }
    uint64_t bytes = 0;
    int fd = open_nameless(intake);
    int result = fd < 0 ? fd : look_at_disk(intake, fd);
    if (result == 0)
        result = sbx_zstd_file_expand(upload->fd, fd, intake->settings.bytes_max, &bytes);
    if (result == -EBADMSG)
        refuse(answer, 400, "its zstd compression is damaged");
    else if (result == -E2BIG)
        refuse_size(answer, intake->settings.bytes_max);
    else if (result < 0)
        answer_error(answer, result);
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
            put_off(&upload->answer, AGAIN_BUSY_S, "the server stops");
        else
            take_upload(intake, upload);
        count(intake, &upload->answer);
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
    if (is_ending) { /* its thread may be gone */
        put_off(&upload->answer, AGAIN_BUSY_S, "the server stops");
        count(intake, &upload->answer);
        done(context);
    }
}

const struct sbx_intake_answer *sbx_symbol_upload_answer(const struct sbx_symbol_upload *upload)
{
    return &upload->answer;
}

void sbx_symbol_upload_destroy(struct sbx_symbol_upload *upload)
{
    if (!upload)
        return;
    struct sbx_symbol_intake *intake = upload->intake;
    if (!upload->was_submitted)
        sbx_metrics_add(intake->settings.metrics, SBX_METRIC_SYMBOLS_INCOMPLETE, 1);
    if (upload->fd >= 0)
        close(upload->fd);
    pthread_mutex_lock(&intake->lock);
    intake->uploads--;
    pthread_mutex_unlock(&intake->lock);
    free(upload);
}

int sbx_symbol_intake_list(struct sbx_symbol_intake *intake, struct sbx_stored_row **rows_out, size_t *count_out)
{
    return sbx_stored_list_get(intake->list, rows_out, count_out);
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
    sbx_symbol_helper_cancel(intake->settings.helper); /* what is being read is not waited for */
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
