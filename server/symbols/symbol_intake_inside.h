/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_intake_inside.h - what symbol_upload.c (bodies) and symbol_intake.c (symbols from them) share. */
#ifndef SBX_SYMBOL_INTAKE_INSIDE_H
#define SBX_SYMBOL_INTAKE_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "build_id.h"
#include "symbol_image.h"
#include "symbol_intake.h"

enum {
    AGAIN_BUSY_S = 5,
    AGAIN_FULL_S = 60,
    BUILD_ID_BYTES_MIN = 4,
};

struct sbx_symbol_upload {
    TAILQ_ENTRY(sbx_symbol_upload) link; /* in the queue, from submit until it is taken */
    struct sbx_symbol_intake *intake;
    int fd, alternate;         /* -1: none */
    uint64_t bytes, looked_at; /* bytes written; bytes at the last check of the disk */
    int failure;               /* -errno of a write; later bytes are dropped */
    bool is_zstd, was_submitted;
    uint64_t sender; /* application of the token; 0: all */
    /* the store for its symbols, while they are taken: that of the application, or the one for all */
    struct sbx_symbol_store *symbols;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX]; /* as claimed */
    size_t build_id_bytes;                    /* 0: no claim */
    char name[SBX_IMAGE_NAME_BYTES];
    struct sbx_intake_answer answer;
    void (*done)(void *context);
    void *context;
};

struct sbx_symbol_intake {
    struct sbx_intake_settings settings;
    int folder; /* the data folder */
    pthread_t thread;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t changed;
    TAILQ_HEAD(, sbx_symbol_upload) queue;
    unsigned uploads;
    char said[800]; /* last log line about the symbol store; used by the intake's thread only */
    bool is_ending;
    struct sbx_stored_list *list;
};

/* Make an answer: refused, try later, too large, or an errno of the disk. `why` may be the member `why` of the
 * answer. */
void sbx_intake_refuse(struct sbx_intake_answer *answer, unsigned status, const char *why);
void sbx_intake_put_off(struct sbx_intake_answer *answer, unsigned retry_after_s, const char *why);
void sbx_intake_refuse_size(struct sbx_intake_answer *answer, uint64_t bytes_max);
void sbx_intake_answer_error(struct sbx_intake_answer *answer, int result);
/* Count an answer in the metrics, and log it when an operator must know. */
void sbx_intake_count(struct sbx_symbol_intake *intake, const struct sbx_intake_answer *answer);

/* An unnamed file, of which nothing stays whatever happens. Returns a descriptor or -errno. */
int sbx_intake_open_nameless(const struct sbx_symbol_intake *intake);
/* Is there room for more, apart from the reserve for payloads? Returns 0 or -ENOSPC. */
int sbx_intake_look_at_disk(const struct sbx_symbol_intake *intake, int fd);

#endif
