/* SPDX-License-Identifier: Apache-2.0 */
/* store_issues.h - finds issues, reads the sums of one, and stores the changes that people make to one. Any thread;
 * returns 0 or -errno. */
#ifndef SBX_STORE_ISSUES_H
#define SBX_STORE_ISSUES_H

#include "stall_facts.h"
#include "store.h"

enum sbx_issue_state {
    SBX_ISSUE_OPEN = 0,
    SBX_ISSUE_MUTED = 1,    /* until a version, or for good */
    SBX_ISSUE_RESOLVED = 2, /* in a version, or now; a later stall opens it again */
    SBX_ISSUE_REOPENED = 3,
    SBX_ISSUE_STATES,
};

enum sbx_issue_order {
    SBX_ISSUES_BY_STALLS, /* by estimated number */
    SBX_ISSUES_BY_MACHINES,
    SBX_ISSUES_BY_LAST,
    SBX_ISSUES_BY_FIRST, /* the newest issue first */
};

/* Which stalls are summed. Texts are borrowed; "" means any. Days are since 1970, both included. */
struct sbx_issue_span {
    const char *version;
    int64_t from_day, to_day;
    const char *app; /* only for sums over all issues; NULL or "": any */
};

enum {
    SBX_LAST_DAY = 1000000 /* later than the day of any stall */
};
static inline bool sbx_issue_span_has_all_days(const struct sbx_issue_span *span)
{
    return span->from_day <= 0 && span->to_day >= SBX_LAST_DAY;
}

struct sbx_issue_query {
    struct sbx_issue_span span;
    const char *scene;              /* NULL or "": any */
    const char *app, *cause, *text; /* text: searched in the path, the function, the headline and the application */
    int state;                      /* enum sbx_issue_state; OPEN includes REOPENED; -1: any */
    enum sbx_issue_order order;
    int64_t skip;
};

/* Issues that have stalls in the span. The members hits, weight, variance, machine_days and penetration are those of
 * the span. */
int sbx_store_find_issues(const struct sbx_store_view *view, const struct sbx_issue_query *query,
                          struct sbx_issue_row *rows, size_t max, size_t *count_out);

/* ---- the sums of one issue ---- */

enum {
    SBX_SUM_DAYS = 90,
    SBX_SUM_VERSIONS = 20,
    SBX_SUM_LABELS = 10,
    SBX_SUM_PLACES = 20,
};

/* hit / active. NAN when it is not known: no machine-day was reported, or fewer than had a stall. */
double sbx_penetration_share(const struct sbx_penetration *penetration);

struct sbx_day_sum {
    int64_t day, hits, weight, machines;
};
struct sbx_version_sum {
    char version[40]; /* "": not reported */
    int64_t hits, weight, machine_days, builds, first_day, last_day;
    int64_t p50_ns, p90_ns;
    struct sbx_penetration penetration;
};
struct sbx_label_sum {
    char word[2 * SBX_STABLE_NAME_BYTES + 8];
    int64_t hits, weight, us; /* us: estimated time of all stalls */
    int64_t all_weight;       /* weight in the whole application, if read (sbx_store_sum_beside) */
};
struct sbx_place_sum {
    char id_text[SBX_ID_TEXT_BYTES];
    char path[600];
    int64_t hits;
};

struct sbx_issue_sums {
    int64_t hits, weight, variance, machines, machine_days;
    int64_t p50_ns, p90_ns, p99_ns; /* within 1 % (duration_sketch.h), by weight */
    struct sbx_penetration penetration;
    struct sbx_day_sum days[SBX_SUM_DAYS];             /* ascending; days without a stall are missing */
    struct sbx_version_sum versions[SBX_SUM_VERSIONS]; /* latest version first */
    /* sorted by time, or by weight when there is no time */
    struct sbx_label_sum labels[SBX_FACT_KINDS][SBX_SUM_LABELS];
    int64_t label_weight[SBX_FACT_KINDS], label_us[SBX_FACT_KINDS]; /* of all labels of a kind, shown or not */
    int64_t label_all[SBX_FACT_KINDS]; /* of the whole application, all labels of a kind; 0: not read */
    size_t day_count, version_count, label_count[SBX_FACT_KINDS];
    struct sbx_place_sum places[SBX_SUM_PLACES]; /* most hits first; more than one when a person merged issues */
    size_t place_count;
    /* no sums: they could be of fewer machines than may be shown, also as the difference of two spans */
    bool is_withheld;
};

/* Durations only: p50, p90, p99 and days. The second function does it for a list of issues; `sums_out` has one element
 * per row. */
int sbx_store_sum_durations_of(const struct sbx_store_view *view, const struct sbx_issue_row *rows, size_t count,
                               const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out);
int sbx_store_sum_durations(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                            const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out);
int sbx_store_sum_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                        const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out);

/* For labels about where stalls happen (system, kernel, processors, memory, scene), add the weight of the same label in
 * the whole application and the same span. Nothing when sums are withheld. Returns 0 or -errno. */
int sbx_store_sum_beside(const struct sbx_store_view *view, const char *app, const struct sbx_issue_span *span,
                         struct sbx_issue_sums *sums);

/* The same for all issues of an application, or of all: all causes, functions, lock holders and so on. There are no
 * places. */
int sbx_store_sum_all(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                      struct sbx_issue_sums *sums_out);

/* ---- where their time went ---- */

enum {
    SBX_PROFILES_MAX = 2000, /* profiles read for one answer: the newest */
};

/* Call `each` with the profiles (stall_profile.h; made by a worker, so untrusted) of the newest stalls of an issue, or
 * of all of the span, and with the number of stalls that each stands for; SBX_PROFILES_MAX at most. `each` returns 0 to
 * go on, and must not call the store. Returns the last result of `each`, or -errno. There are none when sums are
 * withheld. */
int sbx_store_each_profile(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                           int (*each)(void *context, const char *text, size_t bytes, uint32_t weight), void *context);

/* One application, in a span. */
struct sbx_app_sum {
    char app[64], newest[40]; /* newest: latest version with stalls in the span; "": not reported */
    int64_t hits, weight, variance, machine_days, issues, versions;
    struct sbx_penetration penetration;
};

/* Applications of the span, those with the most stalls first. The span's version and app are ignored. There are none
 * when sums are withheld. */
int sbx_store_apps(const struct sbx_store_view *view, const struct sbx_issue_span *span, struct sbx_app_sum *rows,
                   size_t max, size_t *count_out);

/* ---- what people say ---- */

struct sbx_issue_words {
    enum sbx_issue_state state; /* not REOPENED */
    /* until: the version up to which it is muted, or in which it is resolved; "": none. Borrowed */
    const char *until, *owner, *note;
};

/* -ENOENT: no such issue. The change survives a new triage, ageing, and a time without stalls. */
int sbx_store_say_of_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                           const struct sbx_issue_words *words, int64_t now_ms);
/* Move all stalls of `from` to `into`; the address of `from` then leads there. No stall is summed again. -EINVAL: both
 * are the same. -EXDEV: they belong to two applications. */
int sbx_store_merge_issues(const struct sbx_store_view *view, const uint8_t from[SBX_ID_BYTES],
                           const uint8_t into[SBX_ID_BYTES]);
/* Make one place of a merged issue an issue of its own again, at its own address. -ENOENT; -EINVAL: it is one
 * already. */
int sbx_store_split_issue(const struct sbx_store_view *view, const uint8_t place[SBX_ID_BYTES]);

#endif
