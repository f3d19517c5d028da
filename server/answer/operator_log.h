/* SPDX-License-Identifier: Apache-2.0 */
/* operator_log.h - what an operator must know, one line per message: plain text for people, or JSON for log collectors.
 *
 *   stallbox serve: symbols: the store answers again: stalls that lack names because of it are triaged anew
 *   {"time":"2026-11-26T20:14:05.123Z","level":"info","part":"symbols","message":"symbols: the store answers again: ..."}
 *
 * A line is about the server and its stores. It never has the address of a sender or reader, the name of a machine or a
 * token. Of a payload it has only the id. Any thread; each line is written whole. */
#ifndef SBX_OPERATOR_LOG_H
#define SBX_OPERATOR_LOG_H

#include <stdbool.h>
#include <stdio.h>

enum sbx_log_level {
    SBX_LOG_INFO,    /* normal operation */
    SBX_LOG_WARNING, /* something is missing, late or refused */
};

struct sbx_operator_log {
    FILE *out; /* borrowed; NULL: nothing is written */
    bool is_json;
};

/* The subject of a line, as a member of its JSON: "snapshot", "build_id", "path". `name` NULL: no subject. */
struct sbx_log_subject {
    const char *name, *value;
};

/* `part` is the part of the server that logs; docs/OPERATIONS.md lists the parts. `log` NULL: nothing is written. */
void sbx_operator_log(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same, with a subject. */
void sbx_operator_log_of(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                         struct sbx_log_subject subject, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
