/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - the pages for people. Pure: rows and renderings in, HTML out. */
#ifndef SBX_PAGES_H
#define SBX_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "change_log.h"
#include "merged_profile.h"
#include "store.h"
#include "store_issues.h"
#include "store_symbols.h"

/* `/`: the issues that hit most processes, then the newest stalls. `older_seq` above 0 is the link to the next older
 * page. `is_first`: this is the page with the newest stalls, which also has the issues. */
struct sbx_list_page {
    const struct sbx_issue_row *issues;
    const struct sbx_snapshot_row *snapshots;
    size_t issue_count, snapshot_count;
    struct sbx_store_counts counts;
    uint32_t min_machines; /* data of fewer machines is withheld, which the page says; 0 or 1: nothing is withheld */
    int64_t older_seq;
    int64_t now_ms;
    bool is_first;
    const struct sbx_app_sum *apps; /* on the first page only */
    size_t app_count;
    char version[40], since[16], until[16];   /* on an issue's page: which stalls are summed, as in the address */
    const struct sbx_merged_profile *profile; /* on an issue's page, settled: where its time went; NULL: not known */
    const struct sbx_issue_after *after;      /* on an issue's page: where some stalls went when symbols came */
    size_t after_count;
};
void sbx_page_list(const struct sbx_list_page *list, struct sbx_byte_buffer *page);

/* The table of snapshots of such a page. */
void sbx_page_snapshots(struct sbx_byte_buffer *page, const struct sbx_list_page *list);

/* `/issues/ID`: one issue, its sums, and its snapshots, newest first. `span`: which stalls are summed, in words; "":
 * all. */
void sbx_page_issue(const struct sbx_issue_row *issue, const struct sbx_issue_sums *sums, const char *span,
                    const struct sbx_list_page *list, struct sbx_byte_buffer *page);

/* The request, as it stands in an address; "": any. */
struct sbx_issues_ask {
    char text[200], app[80], version[40], cause[24], state[16], since[16], until[16], sort[16], scene[80];
};

/* `/issues`: issues that match the request; `sums` has the durations and days of each. */
struct sbx_issues_page {
    struct sbx_issues_ask ask;
    const struct sbx_issue_row *rows;
    const struct sbx_issue_sums *sums;
    size_t count;
    int64_t next; /* how many rows the next page skips; 0: there is no next page */
    int64_t now_ms;
};
void sbx_page_issues(const struct sbx_issues_page *list, struct sbx_byte_buffer *page);

/* The table of issues of such a page. */
void sbx_page_issue_rows(struct sbx_byte_buffer *page, const struct sbx_issues_page *list);
/* Is this the first version, in their order, that has the issue? `version` "": not asked. */
bool sbx_page_is_new_in(const struct sbx_issue_row *row, const char *version);

/* `/overview`: all applications, one, or one version of it. */
struct sbx_overview_page {
    struct sbx_issues_page issues;            /* the issues, and the request */
    const struct sbx_issue_sums *sums;        /* of all issues */
    const char *words;                        /* which stalls are summed; "": all */
    const struct sbx_merged_profile *profile; /* settled: where their time went; NULL: not known */
    const struct sbx_app_sum *apps;           /* when the request names no application */
    size_t app_count;
};
void sbx_page_overview(const struct sbx_overview_page *overview, struct sbx_byte_buffer *page);
/* The table of applications of such a page; nothing when there are none. Links keep the days of `ask`. */
void sbx_page_apps(struct sbx_byte_buffer *page, const struct sbx_app_sum *rows, size_t count,
                   const struct sbx_issues_ask *ask);

/* Which variants of its pictures a stall's page shows, as it stands in the address. */
struct sbx_stall_look {
    bool is_async;   /* the flame graph in which each stack continues the stack that queued the work */
    bool is_history; /* the timeline of the whole history, not only of the judged interval */
};

/* `/function`: one function across issues. */
struct sbx_function_cause {
    char word[24];
    int64_t weight;
};
struct sbx_function_page {
    struct sbx_issues_page issues; /* issues with stalls that blame the function, and the request */
    const char *name;              /* as in profiles and sums (stable_name.h) */
    const char *words;             /* which stalls are summed; "": all */
    int64_t hits, weight;          /* stalls that blame it */
    size_t looked_at;              /* only the issues with most stalls were searched, this many; 0: all were */
    const struct sbx_function_cause *causes; /* of all stalls of these issues, the most frequent first */
    size_t cause_count;
    const struct sbx_merged_profile *profile; /* settled, of all stalls of the span */
    bool is_withheld;
};
void sbx_page_function_across(const struct sbx_function_page *function, struct sbx_byte_buffer *page);

/* `/stalls/ID`. `issue` may be NULL. `kin`: the `kin_count` stalls of its family at that moment, including this one.
 * `report`: SBX_RENDERING_PAGE, or NULL until it is made. */
void sbx_page_stall(const struct sbx_snapshot_row *row, const struct sbx_issue_row *issue,
                    const struct sbx_snapshot_row *kin, size_t kin_count, const struct sbx_byte_buffer *report,
                    struct sbx_stall_look look, int64_t now_ms, struct sbx_byte_buffer *page);

/* `/symbols`: the symbols that stalls lack, and the stored ones. */
struct sbx_symbols_page {
    const struct sbx_missing_row *missing;
    const struct sbx_stored_row *stored;
    size_t missing_count, stored_count, stored_shown; /* the page shows the first `stored_shown` */
    const char *address;                              /* address of this server, for a command */
    int64_t now_ms;
};
void sbx_page_symbols(const struct sbx_symbols_page *symbols, struct sbx_byte_buffer *page);

/* `/issues/ID` of an issue that no longer exists: the issues that have its stalls now. */
void sbx_page_moved(const struct sbx_issue_after *rows, size_t count, struct sbx_byte_buffer *page);

/* `/login`. `next`: the path to go to after the login. `sentence` (may be NULL): why the form is shown. */
void sbx_page_login(const char *next, const char *sentence, struct sbx_byte_buffer *page);

/* `/feed.atom`: changes, newest first. */
void sbx_page_feed(const struct sbx_change_event *events, size_t count, struct sbx_byte_buffer *page);

/* An error page for people. */
void sbx_page_error(unsigned status, const char *sentence, struct sbx_byte_buffer *page);

#endif
