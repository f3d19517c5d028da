/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_intake.h - symbols that are sent: a body becomes a file, the file becomes symbols, and stalls wait for them.
 *
 *   begin, append   by an HTTP thread: into a file without a name in the data folder, bounded in bytes and in number
 *   submit          one thread of its own takes one after the other: decompresses, finds out what it is, has it parsed by
 *                   a process of its own (symbol_helper.h), puts the result into the store, marks the stalls. A bundle
 *                   (symbol_bundle.h) is a program with the parts of its debug information that lie in other files
 *
 * So nothing of a stranger's file is looked at by a thread that others wait for. What is refused leaves nothing behind. */
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

struct sbx_intake_settings { /* all borrowed until destroy; a zero is the default */
    const char *data_dir;
    struct sbx_store *store;
    struct sbx_symbol_store *symbols; /* two handles of one store, nobody else's: what is written must not keep */
    struct sbx_symbol_store *listed;  /* a page waiting */
    struct sbx_provider_shelf *providers;
    struct sbx_symbol_helper *helper;
    struct sbx_triager *triager;
    struct sbx_metrics *metrics;
    const struct sbx_operator_log *log; /* NULL: silent */
    uint64_t bytes_max;                 /* of a file, compressed or not; 2 GiB */
    uint64_t reserve_bytes;             /* that stay free on the disk, for payloads; 256 MiB */
};

/* Start its thread. Returns 0 or -errno. */
int sbx_symbol_intake_start(const struct sbx_intake_settings *settings, struct sbx_symbol_intake **intake_out);
/* Break off what is going on: every upload that was submitted is answered, and those that still come are too. */
void sbx_symbol_intake_end(struct sbx_symbol_intake *intake); /* NULL is fine */
/* When no upload is left. NULL is fine. */
void sbx_symbol_intake_destroy(struct sbx_symbol_intake *intake);

enum sbx_intake_outcome {
    SBX_INTAKE_ADDED,
    SBX_INTAKE_REPLACED,  /* what was there was worse, or damaged */
    SBX_INTAKE_SAME,      /* it was there already */
    SBX_INTAKE_KEPT,      /* what is there is better */
    SBX_INTAKE_DIFFERENT, /* refused: what is there says something else */
    SBX_INTAKE_REFUSED,   /* for what it is */
    SBX_INTAKE_LATER,     /* not its fault: again in a while */
};

/* What became of an upload. */
struct sbx_intake_answer {
    enum sbx_intake_outcome outcome;
    unsigned status; /* HTTP's */
    bool is_runtime;
    char build_id[65]; /* hex; "" when it did not come so far */
    char name[64];     /* of the module, or the runtime */
    const char *source,
        *before;        /* "dwarf", "symtab", "dynsym", "none": of what is there now, and was; literals, or NULL */
    uint64_t functions; /* of a runtime: those that are new */
    uint64_t different; /* of a runtime: those that are there with other words, which stay */
    int64_t stalls;     /* to be triaged anew */
    char why[240];      /* when it was refused; else what of it was not used, "" */
    unsigned retry_after_s;
};

/* The claims of a request: what its sender says it is. */
struct sbx_intake_claims {
    const char *build_id; /* hex; NULL: none */
    const char *name;     /* what people call the module; NULL: none */
    bool is_zstd;         /* the body is compressed */
    uint64_t sender;      /* the application that its token is for, and its symbols; 0: all */
};

/* An upload begins. `length`: of the body, 0 unknown. Returns one (given: sbx_symbol_upload_destroy), or NULL with the reason in
 * `answer`. Any thread. */
struct sbx_symbol_upload *sbx_symbol_upload_begin(struct sbx_symbol_intake *intake,
                                                  const struct sbx_intake_claims *claims, uint64_t length,
                                                  struct sbx_intake_answer *answer);
/* More of the body. What is over a bound is dropped, and refused at the end. One thread at a time. */
void sbx_symbol_upload_append(struct sbx_symbol_upload *upload, const void *bytes, size_t count);
/* Instead of a body: a file that is open, and what dwz moved out of it or -1 (both taken); submitted next. */
void sbx_symbol_upload_adopt(struct sbx_symbol_upload *upload, int fd, int alternate);
/* How large a file may be now, by the bound of files and by what is free on the disk; 0: there is no room. Any thread. */
uint64_t sbx_symbol_intake_room(struct sbx_symbol_intake *intake);
/* The body is complete. `done` (given `context`) is called once, by the intake's thread or by the caller's before this
 * returns; then there is an answer. */
void sbx_symbol_upload_submit(struct sbx_symbol_upload *upload, void (*done)(void *context), void *context);
const struct sbx_intake_answer *sbx_symbol_upload_answer(const struct sbx_symbol_upload *upload);
/* Not between submit and done. NULL is fine. One that was not submitted is counted as incomplete. */
void sbx_symbol_upload_destroy(struct sbx_symbol_upload *upload);

/* What is stored for an application alone (0: for all), by build-id: *rows_out is given (free). Any thread. Returns 0 or -errno. */
int sbx_symbol_intake_list(struct sbx_symbol_intake *intake, uint64_t app, struct sbx_stored_row **rows_out,
                           size_t *count_out);

#endif
