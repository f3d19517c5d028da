/* SPDX-License-Identifier: Apache-2.0 */
/* store_issues.h - issues by what is asked for, the sums of one, and what people say of them. Any thread; 0 or -errno. */
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
    SBX_ISSUES_BY_STALLS, /* estimated */
    SBX_ISSUES_BY_MACHINES,
    SBX_ISSUES_BY_LAST,
    SBX_ISSUES_BY_FIRST, /* the newest issue first */
};

/* Which stalls are summed. Borrowed, "" is any; days since 1970, both included. */
struct sbx_issue_span {
    const char *version;
    int64_t from_day, to_day;
    const char *app; /* of sums over all issues; NULL or "" any */
};

enum {
    SBX_LAST_DAY = 1000000 /* no stall is of a later one */
};
static inline bool sbx_issue_span_has_all_days(const struct sbx_issue_span *span)
{
    return span->from_day <= 0 && span->to_day >= SBX_LAST_DAY;
}

struct sbx_issue_query {
    struct sbx_issue_span span;
    const char *scene;              /* NULL or "" any */
    const char *app, *cause, *text; /* text: in the path, the function, the headline or the application */
    int state;                      /* enum sbx_issue_state; OPEN has REOPENED too; -1 any */
    enum sbx_issue_order order;
    int64_t skip;
};

/* Issues that have stalls in the span; hits, weight, variance, machine_days and penetration of the rows are of the
 * span. */
int sbx_store_find_issues(const struct sbx_store_view *view, const struct sbx_issue_query *query,
                          struct sbx_issue_row *rows, size_t max, size_t *count_out);

/* ---- the sums of one issue ---- */

enum {
    SBX_SUM_DAYS = 90,
    SBX_SUM_VERSIONS = 20,
    SBX_SUM_LABELS = 10,
    SBX_SUM_PLACES = 20,
};

/* hit / active; NAN where it is not known: no machine-day was told, or fewer than had a stall. */
double sbx_penetration_share(const struct sbx_penetration *penetration);

struct sbx_day_sum {
    int64_t day, hits, weight, machines;
};
struct sbx_version_sum {
    char version[40]; /* "" not told */
    int64_t hits, weight, machine_days, builds, first_day, last_day;
    int64_t p50_ns, p90_ns;
    struct sbx_penetration penetration;
};
struct sbx_label_sum {
    char word[2 * SBX_STABLE_NAME_BYTES + 8];
    int64_t hits, weight, us; /* us: estimated time of all stalls */
    int64_t all_weight;       /* of the whole application, where that was asked for (sbx_store_sum_beside) */
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
    struct sbx_day_sum days[SBX_SUM_DAYS];                          /* ascending; days without a stall are missing */
    struct sbx_version_sum versions[SBX_SUM_VERSIONS];              /* the latest first */
    struct sbx_label_sum labels[SBX_FACT_KINDS][SBX_SUM_LABELS];    /* by time where it has one, else by weight */
    int64_t label_weight[SBX_FACT_KINDS], label_us[SBX_FACT_KINDS]; /* of all of a kind, shown or not */
    int64_t label_all[SBX_FACT_KINDS]; /* of the whole application, of all words of a kind; 0: not asked for */
    size_t day_count, version_count, label_count[SBX_FACT_KINDS];
    struct sbx_place_sum places[SBX_SUM_PLACES]; /* most hits first; more than one: people put them together */
    size_t place_count;
    bool
        is_withheld; /* all of it: it could be of fewer machines than may be shown, and two spans could be subtracted */
};

/* Durations alone: p50, p90, p99 and days; and of the issues of a list together, `sums_out` by row. */
int sbx_store_sum_durations_of(const struct sbx_store_view *view, const struct sbx_issue_row *rows, size_t count,
                               const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out);
int sbx_store_sum_durations(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                            const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out);
int sbx_store_sum_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                        const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out);

/* Beside the words of an issue's sums that say where its stalls happened (system, kernel, processors, memory, scene): of how many stalls of
 * the whole application, in the same span, each is. Nothing where sums are withheld. 0 or -errno. */
int sbx_store_sum_beside(const struct sbx_store_view *view, const char *app, const struct sbx_issue_span *span,
                         struct sbx_issue_sums *sums);

/* The same of all issues of an application, or of all: causes, functions, holders and so on of everything. No places. */
int sbx_store_sum_all(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                      struct sbx_issue_sums *sums_out);

/* ---- where their time went ---- */

enum {
    SBX_PROFILES_MAX = 2000, /* that are read for one answer: the newest */
};

/* Tell `each` of the profiles (stall_profile.h; they are what a worker said, so not believed) of the newest stalls of an issue, or of all of the
 * span, with the number of stalls that each stands for; SBX_PROFILES_MAX at most. `each` returns 0 to go on and calls nothing of the
 * store. Returns what it returned, or -errno. None where sums are withheld. */
int sbx_store_each_profile(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                           int (*each)(void *context, const char *text, size_t bytes, uint32_t weight), void *context);

/* One application, in a span. */
struct sbx_app_sum {
    char app[64], newest[40]; /* newest: its latest version that has stalls in the span; "" not told */
    int64_t hits, weight, variance, machine_days, issues, versions;
    struct sbx_penetration penetration;
};

/* Applications of the span, those of the most stalls first. The span's version and app are not looked at. None where sums are withheld. */
int sbx_store_apps(const struct sbx_store_view *view, const struct sbx_issue_span *span, struct sbx_app_sum *rows,
                   size_t max, size_t *count_out);

/* ---- what people say ---- */

struct sbx_issue_words {
    enum sbx_issue_state state;       /* not REOPENED */
    const char *until, *owner, *note; /* until: the version that it is muted until, or resolved in; "" none. Borrowed */
};

/* -ENOENT: no such issue. It survives triage anew, ageing and an issue without stalls. */
int sbx_store_say_of_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                           const struct sbx_issue_words *words, int64_t now_ms);
/* The stalls of `from` are those of `into` from now on, and its address leads there. Nothing is counted anew. -EINVAL: itself.
 * -EXDEV: they are of two applications. */
int sbx_store_merge_issues(const struct sbx_store_view *view, const uint8_t from[SBX_ID_BYTES],
                           const uint8_t into[SBX_ID_BYTES]);
/* A place of an issue of several is an issue of its own again, at its own address. -ENOENT; -EINVAL: it is one already. */
int sbx_store_split_issue(const struct sbx_store_view *view, const uint8_t place[SBX_ID_BYTES]);

#endif
