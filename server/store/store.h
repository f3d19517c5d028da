/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - what the server keeps: payloads as received, and the verdicts of triage.
 *
 * One SQLite file, DATA/store.db, or tables in PostgreSQL. The bytes of payloads are in it too, unless --blobs names
 * another place (store_blobs.h). So one commit makes a payload and its row durable, and no path contains anything that
 * a client sent. With up to 1 MiB (typically 20 KiB) a blob is read as fast as a file.
 *
 * Any thread may call. There are one writer and eight readers, which do not wait for it (WAL). Every function returns 0
 * or -errno: -ENOENT no such row, -ENOSPC, -ENOMEM, -EIO. */
#ifndef SBX_STORE_H
#define SBX_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "erasure_format.h"
#include "snapshot_id.h"
#include "stall.h"

struct sbx_store;

/* A reader. The functions below return only rows that the reader may see. Even the existence of another application's
 * data is hidden. A place, an issue and a build each belong to one application. */
struct sbx_store_view {
    struct sbx_store *store; /* borrowed */
    uint64_t app;            /* sbx_stall_tenant() of the application that may be seen; 0: all */
};

/* The application that a payload names, as a number (sbx_app_what() of proto/names.h). 0: it names none. */
uint64_t sbx_stall_tenant(const struct sbx_stall *stall);

enum sbx_triage_state {
    SBX_TRIAGE_PENDING = 0,
    SBX_TRIAGE_DONE = 1,
    SBX_TRIAGE_FAILED = 2
};

/* When triage of a payload has begun this often and never ended, it is not tried again, because it probably crashes the
 * server. The limit is not lower, because a kill from outside during an innocent payload counts too. */
enum {
    SBX_TRIAGE_ATTEMPTS_MAX = 5
};

struct sbx_snapshot_row {
    int64_t seq; /* order of arrival, from 1 */
    uint8_t id[SBX_ID_BYTES];
    char id_text[SBX_ID_TEXT_BYTES];
    int64_t received_ms; /* since 1970, by the server's clock */
    uint32_t created_day;
    int64_t bytes; /* of the envelope; 0: aged out */
    char trigger[24];
    int64_t duration_ns;
    uint32_t threshold_ms;
    /* how a stall ended that was reported while it went on: enum sbx_stall_end. 0: unknown, or it had ended */
    uint32_t end_how, end_signal;
    /* stalls of its family at that moment, including this one; how many of these waited for its process */
    uint32_t kin, kin_held;
    int64_t kin_first;       /* seq of the first of them; 0: there are none */
    uint32_t weight, one_in; /* number of stalls it stands for; it was reported with the chance 1 / one_in */
    char app_build_id[65];   /* hex; "" when hidden */
    char app_version[40];    /* "" when the application reported none */
    enum sbx_triage_state state;
    char failure[200]; /* why triage failed */
    /* The members below come from triage; they are empty until it is done. */
    char issue_text[SBX_ID_TEXT_BYTES];
    char was_in_text[SBX_ID_TEXT_BYTES]; /* the issue it was in before symbols came; "" when there was no other */
    char app[64], cause[24], class_[16], function[512], module[128], headline[240];
    double confidence;
};

/* Machine-days of an application with a stall, and all reported machine-days (docs/FLEET.md). */
struct sbx_penetration {
    int64_t hit, active; /* hit: only on days whose `active` is known; active 0: not known for any day */
};

struct sbx_issue_row {
    char id_text[SBX_ID_TEXT_BYTES];
    int64_t hits, sessions; /* snapshots, and the distinct processes that sent them */
    int64_t machines;       /* distinct machines; without a machine's id, a process counts as a machine */
    int64_t first_ms, last_ms;
    int64_t weight;   /* estimated number of stalls: the sum of the snapshots' weights */
    int64_t variance; /* variance of that estimate */
    int64_t longest_ns;
    int64_t builds; /* distinct builds of the application */
    /* in a list with a span: a machine counts once per day and build; otherwise 0 */
    int64_t machine_days;
    struct sbx_penetration penetration;   /* in a list with a span */
    int state;                            /* enum sbx_issue_state (store_issues.h) */
    char until[40], owner[80], note[600]; /* what a person entered */
    char path[600];                       /* path of its most frequent place, for people */
    /* seen in one build only, although other builds of the application were seen before */
    bool new_in_build;
    char first_version[40]; /* lowest version, by version order; "": not reported, or withheld */
    struct sbx_snapshot_row newest;
    int64_t num; /* in a list: the store's own number */
};

struct sbx_store_counts {
    int64_t snapshots, pending, failed, issues, bytes; /* bytes: the file and its journal on disk */
    int64_t erasing;                                   /* machines whose erasure is not finished */
    int64_t sealed, unsealing_failed;                  /* from sealed_store.h; the caller fills them in */
};

enum sbx_stored {
    SBX_STORED_NEW = 0,
    SBX_STORED_BEFORE = 1,
    SBX_STORED_CONFLICT = 2
};

/* A module for which a stall has no names, or fewer than its debug information has. */
struct sbx_gap_row {
    const uint8_t *build_id; /* of a runtime: its number, 8 bytes in big endian */
    size_t build_id_bytes;
    const char *name; /* "" when unknown */
    bool is_runtime;
    uint32_t unnamed; /* frames without a name */
};

/* One label of a stall, which is summed over stalls. */
struct sbx_said_row {
    int kind;         /* enum sbx_fact_kind of stall_facts.h */
    const char *word; /* "": no label */
    int64_t us;       /* time of the stall that it stands for */
};

/* The result of triage. All pointers are borrowed and not NULL, except `gaps` and `said`. */
struct sbx_verdict_row {
    const char *app, *cause, *class_, *function, *module, *headline;
    double confidence;
    const struct sbx_gap_row *gaps;
    size_t gap_count;
    const uint8_t *key; /* SBX_ID_BYTES: the issue (grouping.h) */
    const char *path;   /* the key in words for people; NULL: "" */
    uint32_t rules;     /* SBX_GROUPING_RULES that made the key */
    uint64_t tenant;    /* sbx_stall_tenant(); used for rows that were stored before rows had it */
    const struct sbx_said_row *said;
    size_t said_count;
    const char *profile; /* stall_profile.h; NULL or "": none */
    bool lacks_store; /* names are missing because the symbol store was unreachable; they are looked up again later */
};

/* Is it the URL of a database, without a secret in it? Otherwise the reason is in `why`. */
bool sbx_store_is_database(const char *url, char *why, size_t why_bytes);

/* Open WHERE/store.db, or the tables in PostgreSQL at postgresql://HOST/DATABASE. A file of a newer server is
 * refused (-EPROTO). `version` (copied): of this server; payloads that another version failed to triage wait for
 * triage again. */
int sbx_store_open(const char *where, const char *version, struct sbx_store **store_out, char *why, size_t why_bytes);
void sbx_store_close(struct sbx_store *store);

/* Keep a payload; with 0 and NEW or BEFORE it is durable. CONFLICT: other bytes have that id. A report of how a stall
 * ended is not a snapshot: it is joined once to its stall, whichever of the two comes first, and the stall is triaged
 * again. */
int sbx_store_put(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                  int64_t received_ms, enum sbx_stored *stored_out);

/* Erase the machines with these ids. From now on a payload with such an id is not kept; sbx_store_put() then says
 * BEFORE. Stored data waits to be erased, and is visible until then. Returns 0 when that is durable, or -errno. */
int sbx_store_want_erased(struct sbx_store *store, const uint8_t (*rotating_ids)[SBX_ROTATING_ID_BYTES], size_t count,
                          int64_t now_ms);

/* Get an id whose data is not all erased yet. Returns 0, -ENOENT or -errno. */
int sbx_store_next_erasing(struct sbx_store *store, uint8_t rotating_id_out[SBX_ROTATING_ID_BYTES]);

/* Erase some of the data with this id: at most `max` payloads, and no more than takes some 20 ms. An upload waits for
 * one such call at most. `gone` (may be NULL) gets each payload's id, without a lock. Returns the number of payloads, 0
 * when there are no more, or -errno when none was erased. */
int sbx_store_erase_some(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], size_t max,
                         void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

/* End the erasure of an id, after the last of them. When `removed` payloads were erased, overwrite their data in the
 * journal, and delete as many blobs. Returns 0 or -errno. */
int sbx_store_end_erasure(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                          size_t removed);

/* Do all of that for one id. Uploads go on meanwhile. `gone` (may be NULL) gets each payload's id, without a lock.
 * Returns the number of payloads, or -errno; then the reported ones are erased, and the caller must ask again for the
 * rest. */
int sbx_store_erase(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                    void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

/* ---- age ---- */

enum sbx_store_aged {
    SBX_AGED_PAYLOAD = 0,  /* the bytes as received; the verdict stays. A payload without a verdict is removed whole */
    SBX_AGED_SNAPSHOT = 1, /* the whole row */
};

/* Remove some of the oldest that were received before `before_ms`: at most `max`, and no more than takes some 20 ms. An
 * upload waits for one such call at most. `gone` as above. Returns their number, 0 when there are no more, or -errno
 * when none was removed. */
int sbx_store_age(struct sbx_store *store, enum sbx_store_aged what, int64_t before_ms, size_t max,
                  void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

/* When sums have a table for each day (PostgreSQL), create the tables for days `first` to `last`, so that stalls of
 * these days need not wait for a table. Returns 0 or -errno. */
int sbx_store_open_days(struct sbx_store *store, int64_t first, int64_t last);

/* Call this before stalls age. When sums have a table for each day, drop the table of the first day before
 * `before_day`. Stalls of that day that are still stored, because they came late, or that come later, are then only in
 * the sums of all days. Returns 1, 0 when there is no such day, or -errno: -EBUSY when a reader uses these sums for so
 * long that others would wait. */
int sbx_store_close_day(struct sbx_store *store, int64_t before_day);

/* Call this after the last of them. Remove the ids of machines that asked for erasure before `erased_before_ms`. Set a
 * receive time in the future to now, because such rows would never be old. Returns 0 or -errno. */
int sbx_store_end_ageing(struct sbx_store *store, int64_t now_ms, int64_t erased_before_ms, bool has_removed);

/* Append the envelope as received to `envelope_out`. -ENOENT also when it was aged out. */
int sbx_store_envelope(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES],
                       struct sbx_byte_buffer *envelope_out);

/* Are the bytes of this payload still stored, in the database or outside? 1, 0 or -errno. */
int sbx_store_has_payload(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES]);

/* ---- triage's side ---- */

/* How a stall ended, when that was reported separately. */
struct sbx_end_row {
    uint32_t how, signal; /* enum sbx_stall_end; NONE: not reported */
    int64_t duration_ns;
};

/* The input of triage. */
struct sbx_triage_input {
    struct sbx_byte_buffer envelope; /* given: finish */
    enum sbx_triage_state state;
    int attempts;
    struct sbx_end_row end;
};
/* -ENOENT when there is no such stall, or its bytes were aged out; -ENODATA when they were stored outside and are
 * lost. */
int sbx_store_triage_input(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_triage_input *input_out);
/* Only the end of the stall. */
int sbx_store_read_end(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_end_row *end_out);

/* Call `each` for the oldest payloads that wait for triage, at most `max`. Payloads that have not crashed a worker come
 * first. `machine` (8 bytes) is different for each machine, or for each process when machines have no id. Returns their
 * number, or -errno. `each` must not call the store. */
int sbx_store_each_pending(struct sbx_store *store, size_t max,
                           void (*each)(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8]),
                           void *context);
/* The same for payloads that this server is to triage now. When several servers share a database, each payload is given
 * to one of them for half a minute (FOR UPDATE SKIP LOCKED); after that another server may take it, for instance when
 * the first was killed. A new payload belongs for the same time to the server that stored it. A few hundred at a time;
 * *more_out: there may be more. */
int sbx_store_take_pending(struct sbx_store *store, size_t max,
                           void (*each)(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8]),
                           void *context, bool *more_out);
/* Do other servers write to the database too? Then payloads may be pending without a notice. */
bool sbx_store_is_shared(const struct sbx_store *store);
/* Note that its triage begins (durable, so that a crash counts). -EDEADLK when it has begun too often. */
int sbx_store_begin_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES]);
int sbx_store_put_verdict(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES],
                          const struct sbx_verdict_row *verdict);
/* Its triage ended without a result for a temporary reason (disk full), so this attempt does not count. */
int sbx_store_put_off_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES]);
int sbx_store_put_failure(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason);

/* ---- the pages' side ---- */

/* From now on show only rows whose issue, and whose build of the application, have at least so many machines
 * (docs/PRIVACY.md). Other rows are hidden. The initial value 1 shows all rows. Call this before any reader starts. */
void sbx_store_set_min_machines(struct sbx_store *store, uint32_t machines);
uint32_t sbx_store_min_machines(const struct sbx_store *store);

/* The maximum of rows that are read to count distinct machines when no count is stored (machine_sample.h). Call this
 * before any reader starts. */
void sbx_store_set_sample_rows(struct sbx_store *store, uint32_t rows);

/* Newest first. `issue` NULL: of all issues. `before_seq` 0: start with the newest. */
int sbx_store_snapshots(const struct sbx_store_view *view, const uint8_t *issue, int64_t before_seq,
                        struct sbx_snapshot_row *rows, size_t max, size_t *count_out);
int sbx_store_snapshot(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES],
                       struct sbx_snapshot_row *row_out);
/* The stalls of the same family at the same moment as stall `id`, including it. The stall of the process that most
 * others waited for comes first. */
int sbx_store_kin(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES], struct sbx_snapshot_row *rows,
                  size_t max, size_t *count_out);
/* The issues with the most stalls first, as estimated. */
int sbx_store_issues(const struct sbx_store_view *view, struct sbx_issue_row *rows, size_t max, size_t *count_out);
int sbx_store_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                    struct sbx_issue_row *row_out);
/* Which issue has the stalls of this old address, which no issue has any more? Returns 0, -ENOENT or -errno. */
int sbx_store_find_address(const struct sbx_store_view *view, const uint8_t address[SBX_ID_BYTES],
                           uint8_t issue_out[SBX_ID_BYTES]);
/* Does the database answer? The time does not depend on the amount of data, so any client may ask. */
int sbx_store_look(struct sbx_store *store);
/* `bytes` is 0 in a view of one application. */
int sbx_store_count(const struct sbx_store_view *view, struct sbx_store_counts *counts_out);
/* The same for what is shown: when data of few machines is withheld, only issues with enough machines count, and
 * nothing of what waits. */
int sbx_store_count_shown(const struct sbx_store_view *view, struct sbx_store_counts *counts_out);

#endif
