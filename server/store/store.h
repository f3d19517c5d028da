/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - what the server keeps: payloads as they came, and what triage said of them.
 *
 * One SQLite file, DATA/store.db, or tables in PostgreSQL. The payload's bytes lie in it too, unless --blobs names another place
 * (store_blobs.h): so a payload and its row become durable by one commit, no path is ever made of anything a client said, and at up to
 * 1 MiB (typically 20 KiB) a blob is read as fast as a file.
 *
 * Any thread may call. There are one writer and eight readers, which do not wait for it (WAL). Every function returns 0 or
 * -errno: -ENOENT no such row, -ENOSPC, -ENOMEM, -EIO. */
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

/* A reader. The functions below return only what the reader may see; even the existence of another application's data is hidden.
 * A place, an issue and a build are of one application each. */
struct sbx_store_view {
    struct sbx_store *store; /* borrowed */
    uint64_t app;            /* sbx_stall_tenant() of the one that may be seen; 0: all */
};

/* The application that a payload says it is of, as a number (sbx_app_what() of proto/names.h); 0: it says none. */
uint64_t sbx_stall_tenant(const struct sbx_stall *stall);

enum sbx_triage_state {
    SBX_TRIAGE_PENDING = 0,
    SBX_TRIAGE_DONE = 1,
    SBX_TRIAGE_FAILED = 2
};

/* A payload whose triage has begun this often and never ended is not tried again: it takes the server down. Not fewer,
 * because a kill from outside in the middle of an innocent one counts too. */
enum {
    SBX_TRIAGE_ATTEMPTS_MAX = 5
};

struct sbx_snapshot_row {
    int64_t seq; /* order of arrival, from 1 */
    uint8_t id[SBX_ID_BYTES];
    char id_text[SBX_ID_TEXT_BYTES];
    int64_t received_ms; /* since 1970, server's clock */
    uint32_t created_day;
    int64_t bytes; /* of the envelope; 0: it was aged out */
    char trigger[24];
    int64_t duration_ns;
    uint32_t threshold_ms;
    uint32_t end_how,
        end_signal; /* how it ended, if it was told while it went on: enum sbx_stall_end. 0: not told, or it had ended */
    uint32_t kin,
        kin_held; /* stalls of its family at that moment, it among them; how many of these waited for its process */
    int64_t kin_first;       /* seq of the first of them; 0: it has none */
    uint32_t weight, one_in; /* how many stalls it stands for; it was told with the chance 1 / one_in */
    char app_build_id[65];   /* hex; "" when hidden */
    char app_version[40];    /* "" when the application told none */
    enum sbx_triage_state state;
    char failure[200]; /* why triage failed */
    /* Below: of triage, empty until it is done. */
    char issue_text[SBX_ID_TEXT_BYTES];
    char was_in_text[SBX_ID_TEXT_BYTES]; /* the issue it was in until symbols came; "" when it was in no other */
    char app[64], cause[24], class_[16], function[512], module[128], headline[240];
    double confidence;
};

/* How many machine-days of an application had a stall, of how many that were told (docs/FLEET.md). */
struct sbx_penetration {
    int64_t hit, active; /* hit: on days of which active ones are known; active 0: none is */
};

struct sbx_issue_row {
    char id_text[SBX_ID_TEXT_BYTES];
    int64_t hits, sessions; /* snapshots, and distinct processes they came from */
    int64_t machines;       /* distinct ones; a process of one without an id counts as a machine */
    int64_t first_ms, last_ms;
    int64_t weight;   /* how many stalls there were, as estimated: the sum of the snapshots' weights */
    int64_t variance; /* of that estimate */
    int64_t longest_ns;
    int64_t builds;                       /* distinct builds of the application it was seen in */
    int64_t machine_days;                 /* of a list with a span: a machine counts once a day and build; 0 else */
    struct sbx_penetration penetration;   /* likewise */
    int state;                            /* enum sbx_issue_state (store_issues.h) */
    char until[40], owner[80], note[600]; /* what a person said */
    char path[600];                       /* of its most frequent place, for people */
    bool new_in_build;                    /* one build only, and the application had been seen in another before */
    char first_version[40]; /* the lowest one that it was seen in, by version order; "" not told, or withheld */
    struct sbx_snapshot_row newest;
    int64_t num; /* of a list: the store's own */
};

struct sbx_store_counts {
    int64_t snapshots, pending, failed, issues, bytes; /* bytes: the file and its journal on disk */
    int64_t erasing;                                   /* machines whose stalls are not all gone yet */
    int64_t sealed, unsealing_failed;                  /* of sealed_store.h: whoever prints fills them in */
};

enum sbx_stored {
    SBX_STORED_NEW = 0,
    SBX_STORED_BEFORE = 1,
    SBX_STORED_CONFLICT = 2
};

/* A module that a stall has no names for, or not all that its debug information would tell. */
struct sbx_gap_row {
    const uint8_t *build_id; /* of a runtime: its number, 8 bytes in big endian */
    size_t build_id_bytes;
    const char *name; /* "" when nothing tells */
    bool is_runtime;
    uint32_t unnamed; /* frames without a name */
};

/* One thing that is said of a stall, and summed over stalls. */
struct sbx_said_row {
    int kind;         /* enum sbx_fact_kind of stall_facts.h */
    const char *word; /* "" is not said */
    int64_t us;       /* how much time of the stall it stands for */
};

/* What triage found. Borrowed, never NULL but `gaps` and `said`. */
struct sbx_verdict_row {
    const char *app, *cause, *class_, *function, *module, *headline;
    double confidence;
    const struct sbx_gap_row *gaps;
    size_t gap_count;
    const uint8_t *key; /* SBX_ID_BYTES: which issue it belongs to (grouping.h) */
    const char *path;   /* the same for people; NULL: "" */
    uint32_t rules;     /* SBX_GROUPING_RULES that made it */
    uint64_t tenant;    /* as sbx_stall_tenant(): counts for what came before stores kept it */
    const struct sbx_said_row *said;
    size_t said_count;
    const char *profile; /* stall_profile.h; NULL or "": none */
    bool lacks_store; /* names are missing because the store of symbols was away: it is looked there again for them */
};

/* Is that the URL of a database, without a secret in it? Else the reason is in `why`. */
bool sbx_store_is_database(const char *url, char *why, size_t why_bytes);

/* Opens WHERE/store.db, or the tables in PostgreSQL at postgresql://HOST/DATABASE. A file of a newer server is refused (-EPROTO). `version` (copied) is this server's: what another
 * version failed to triage waits for triage again. */
int sbx_store_open(const char *where, const char *version, struct sbx_store **store_out, char *why, size_t why_bytes);
void sbx_store_close(struct sbx_store *store);

/* Keep a payload. How a stall ended is no snapshot: it is joined to its stall, whichever comes first, once, and the stall is
 * triaged anew. When this returns 0 with NEW or BEFORE it is durable. CONFLICT: the id is taken by other bytes. */
int sbx_store_put(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                  int64_t received_ms, enum sbx_stored *stored_out);

/* The machines that these ids belong to are to be forgotten: from now on what carries one is not kept when it comes; sbx_store_put() then says BEFORE.
 * What is there waits to be erased, and is as it was until then. 0: that is durable; or -errno. */
int sbx_store_want_erased(struct sbx_store *store, const uint8_t (*rotating_ids)[SBX_ROTATING_ID_BYTES], size_t count,
                          int64_t now_ms);

/* An id of which not all has gone that was there. 0, -ENOENT or -errno. */
int sbx_store_next_erasing(struct sbx_store *store, uint8_t rotating_id_out[SBX_ROTATING_ID_BYTES]);

/* Some of what carries an id goes with all that was made of it: `max` at most, and no more than take some 20 ms; an upload waits for one such call at most.
 * `gone` (may be NULL) is told each payload's id, without a lock. Returns how many, 0 when there are no more, or -errno and none went. */
int sbx_store_erase_some(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], size_t max,
                         void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

/* Behind the last of them: nothing of an id waits any more. Where `removed` went, nothing of it is in a journal, and as many blobs are deleted. 0
 * or -errno. */
int sbx_store_end_erasure(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                          size_t removed);

/* All of that, for one id. Uploads go on
 * meanwhile. `gone` (may be NULL) is told each payload's id, without a lock. Returns how many went, or -errno; then those told are gone and the rest is to be asked for
 * again. */
int sbx_store_erase(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                    void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

/* ---- age ---- */

enum sbx_store_aged {
    SBX_AGED_PAYLOAD = 0,  /* the bytes as they came: what was said of them stays. All of it, when nothing was */
    SBX_AGED_SNAPSHOT = 1, /* all of it */
};

/* Take some of the oldest away that were received before `before_ms`: `max` at most, and no more than take some 20 ms; an upload waits
 * for one such call at most. `gone` as above. Returns how many, 0 when there are no more, or -errno and none went. */
int sbx_store_age(struct sbx_store *store, enum sbx_store_aged what, int64_t before_ms, size_t max,
                  void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context);

/* Where sums have a table for each day (PostgreSQL), those of `first` to `last` are there: stalls of these days wait for no table. 0 or -errno. */
int sbx_store_open_days(struct sbx_store *store, int64_t first, int64_t last);

/* Before stalls age: sums of the first day that is before `before_day` go whole, where they have a table for each day. Stalls of that day that are there
 * yet, because they came late, are in the sums of all days alone from then on, and so are those that come. Returns 1, 0 when there is none, or -errno: -EBUSY
 * where somebody reads these sums for so long that others would wait for it. */
int sbx_store_close_day(struct sbx_store *store, int64_t before_day);

/* Behind the last of them: forget ids that machines wanted erased before `erased_before_ms`, and take what seems to have
 * come in the future for received now, else it would never be old. Returns 0 or -errno. */
int sbx_store_end_ageing(struct sbx_store *store, int64_t now_ms, int64_t erased_before_ms, bool has_removed);

/* The envelope as it came, appended to `envelope_out`. -ENOENT also when it was aged out. */
int sbx_store_envelope(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES],
                       struct sbx_byte_buffer *envelope_out);

/* Are the bytes of this payload still there, in the database or outside? 1, 0 or -errno. */
int sbx_store_has_payload(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES]);

/* ---- triage's side ---- */

/* How a stall ended, told apart from it. */
struct sbx_end_row {
    uint32_t how, signal; /* enum sbx_stall_end; NONE: nothing was told */
    int64_t duration_ns;
};

/* What triage begins with. */
struct sbx_triage_input {
    struct sbx_byte_buffer envelope; /* given: finish */
    enum sbx_triage_state state;
    int attempts;
    struct sbx_end_row end;
};
/* -ENOENT when it is not there, or its bytes were aged out; -ENODATA when they lay outside and are gone. */
int sbx_store_triage_input(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_triage_input *input_out);
/* The end alone. */
int sbx_store_read_end(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_end_row *end_out);

/* Tell `each` of the oldest payloads that wait for triage, `max` at most; those first that took no worker down yet. `machine`
 * (8 bytes) tells those of different machines apart, or of different processes where they have no id. Returns how many, or
 * -errno. `each` calls nothing of the store. */
int sbx_store_each_pending(struct sbx_store *store, size_t max,
                           void (*each)(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8]),
                           void *context);
/* The same of those that this server is to triage now. Where several share a database each is told to one of them (FOR UPDATE SKIP LOCKED),
 * for half a minute: what a server that was killed had, another takes then. So has the server that stored a payload. A few hundred at a
 * time; *more_out: there may be more. */
int sbx_store_take_pending(struct sbx_store *store, size_t max,
                           void (*each)(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8]),
                           void *context, bool *more_out);
/* Do others write to it too? Then there may be something pending without a word. */
bool sbx_store_is_shared(const struct sbx_store *store);
/* Say that triage of it begins (durable, so that a crash counts). -EDEADLK when it has begun too often already. */
int sbx_store_begin_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES]);
int sbx_store_put_verdict(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES],
                          const struct sbx_verdict_row *verdict);
/* It ended without a result for a reason that passes (disk full): its beginning does not count. */
int sbx_store_put_off_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES]);
int sbx_store_put_failure(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason);

/* ---- the pages' side ---- */

/* From here on a row is given only when at least so many machines are behind its issue and behind its build of the
 * application (docs/PRIVACY.md); others are as if they were not there. 1, which is what a store begins with: all are given.
 * Before anybody reads. */
void sbx_store_set_min_machines(struct sbx_store *store, uint32_t machines);
uint32_t sbx_store_min_machines(const struct sbx_store *store);

/* So many rows are read at most for a count of distinct machines that nobody keeps (machine_sample.h). Before anybody reads. */
void sbx_store_set_sample_rows(struct sbx_store *store, uint32_t rows);

/* Newest first; `issue` NULL: of all; `before_seq` 0: from the newest on. */
int sbx_store_snapshots(const struct sbx_store_view *view, const uint8_t *issue, int64_t before_seq,
                        struct sbx_snapshot_row *rows, size_t max, size_t *count_out);
int sbx_store_snapshot(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES],
                       struct sbx_snapshot_row *row_out);
/* The stalls of the same family at the same moment as stall `id`, this one among them; whose process most others waited for first. */
int sbx_store_kin(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES], struct sbx_snapshot_row *rows,
                  size_t max, size_t *count_out);
/* Those of the most stalls first, as estimated. */
int sbx_store_issues(const struct sbx_store_view *view, struct sbx_issue_row *rows, size_t max, size_t *count_out);
int sbx_store_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                    struct sbx_issue_row *row_out);
/* Of what issue is this address, which no issue has any more? 0, -ENOENT or -errno. */
int sbx_store_find_address(const struct sbx_store_view *view, const uint8_t address[SBX_ID_BYTES],
                           uint8_t issue_out[SBX_ID_BYTES]);
/* Does the database answer? It takes as long however much there is, so that anybody may ask. */
int sbx_store_look(struct sbx_store *store);
/* `bytes` is 0 in a view of one application. */
int sbx_store_count(const struct sbx_store_view *view, struct sbx_store_counts *counts_out);
/* The same of what is shown: where few machines are withheld, of issues that many sent, and nothing of what waits. */
int sbx_store_count_shown(const struct sbx_store_view *view, struct sbx_store_counts *counts_out);

#endif
