/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_intake.h - symbols that are sent: a body becomes a file, the file becomes symbols, and the stalls that lack
 * them are named anew.
 *
 *   begin, append   an HTTP thread writes to an unnamed file in the data folder; bytes and number of files are bounded
 *   submit          a thread of the intake takes one file after the other: it decompresses the file, detects its kind,
 *                   has another process parse it (symbol_helper.h), stores the result, and marks the stalls. A bundle
 *                   (symbol_bundle.h) is a program with the parts of its debug information that are in other files
 *
 * So no thread that others wait for reads an untrusted file. A refused upload leaves nothing behind. */
#ifndef SBX_SYMBOL_INTAKE_H
#define SBX_SYMBOL_INTAKE_H

#include "metrics.h"
#include "operator_log.h"
#include "store_symbols.h"
#include "triager.h"

struct sbx_provider_shelf;
struct sbx_symbol_helper;
struct sbx_symbol_store;
struct sbx_symbol_intake;
struct sbx_symbol_upload;

struct sbx_intake_settings { /* all borrowed until destroy; zero stands for the default */
    const char *data_dir;
    struct sbx_store *store;
    struct sbx_symbol_store *symbols; /* handles of the same store, used for nothing else: two, so that a page */
    struct sbx_symbol_store *listed;  /* need not wait for a write */
    struct sbx_provider_shelf *providers;
    struct sbx_symbol_helper *helper;
    struct sbx_triager *triager;
    struct sbx_metrics *metrics;
    const struct sbx_operator_log *log; /* NULL: silent */
    uint64_t bytes_max;                 /* maximum of a file, compressed or not; 2 GiB */
    uint64_t reserve_bytes;             /* disk space to leave free for payloads; 256 MiB */
};

/* Start its thread. Returns 0 or -errno. */
int sbx_symbol_intake_start(const struct sbx_intake_settings *settings, struct sbx_symbol_intake **intake_out);
/* Stop. Every upload that was submitted is answered, and so is every later one. */
void sbx_symbol_intake_end(struct sbx_symbol_intake *intake); /* NULL is fine */
/* Call it when no upload is left. NULL is fine. */
void sbx_symbol_intake_destroy(struct sbx_symbol_intake *intake);

enum sbx_intake_outcome {
    SBX_INTAKE_ADDED,
    SBX_INTAKE_REPLACED,  /* the stored symbols were worse, or damaged */
    SBX_INTAKE_SAME,      /* the same symbols were stored already */
    SBX_INTAKE_KEPT,      /* the stored symbols are better */
    SBX_INTAKE_DIFFERENT, /* refused: the stored symbols differ */
    SBX_INTAKE_REFUSED,   /* refused because of the file itself */
    SBX_INTAKE_LATER,     /* temporary trouble: try again in a while */
};

/* The result of an upload. */
struct sbx_intake_answer {
    enum sbx_intake_outcome outcome;
    unsigned status; /* HTTP status */
    bool is_runtime;
    char build_id[65]; /* hex; "" when it was not read */
    char name[64];     /* name of the module, or of the runtime */
    /* sources of the symbols that are stored now, and before: "dwarf", "symtab", "dynsym", "none"; literals, or NULL */
    const char *source, *before;
    uint64_t functions; /* for a runtime: the new ones */
    uint64_t different; /* for a runtime: names that differ from the stored ones, which stay */
    int64_t stalls;     /* stalls to triage again */
    char why[240];      /* why it was refused, or which part was not used; "": neither */
    unsigned retry_after_s;
};

/* The claims of a request about its body. */
struct sbx_intake_claims {
    const char *build_id; /* hex; NULL: none */
    const char *name;     /* the module's name for people; NULL: none */
    bool is_zstd;         /* the body is compressed */
    uint64_t sender;      /* application of the token, which gets the symbols; 0: all */
};

/* Begin an upload. `length`: of the body, 0: unknown. Returns an upload (given: sbx_symbol_upload_destroy), or NULL
 * with the reason in `answer`. Any thread. */
struct sbx_symbol_upload *sbx_symbol_upload_begin(struct sbx_symbol_intake *intake,
                                                  const struct sbx_intake_claims *claims, uint64_t length,
                                                  struct sbx_intake_answer *answer);
/* Add a piece of the body. Bytes over a limit are dropped, and the upload is refused at its end. One thread at a
 * time. */
void sbx_symbol_upload_append(struct sbx_symbol_upload *upload, const void *bytes, size_t count);
/* Use an open file instead of a body, and the part that dwz moved out of it, or -1. Both are taken. Submit is the next
 * call. */
void sbx_symbol_upload_adopt(struct sbx_symbol_upload *upload, int fd, int alternate);
/* The maximum size of a file now, by the limit and by the free disk space; 0: there is no room. Any thread. */
uint64_t sbx_symbol_intake_room(struct sbx_symbol_intake *intake);
/* The body is complete. `done` (with `context`) is called once, by the intake's thread, or by the caller's thread
 * before this returns. Then there is an answer. */
void sbx_symbol_upload_submit(struct sbx_symbol_upload *upload, void (*done)(void *context), void *context);
const struct sbx_intake_answer *sbx_symbol_upload_answer(const struct sbx_symbol_upload *upload);
/* Not between submit and `done`. NULL is fine. An upload that was not submitted is counted as incomplete. */
void sbx_symbol_upload_destroy(struct sbx_symbol_upload *upload);

/* The symbols stored for one application (0: for all), by build-id: *rows_out is given (free). Any thread. Returns 0 or
 * -errno. */
int sbx_symbol_intake_list(struct sbx_symbol_intake *intake, uint64_t app, struct sbx_stored_row **rows_out,
                           size_t *count_out);

#endif
