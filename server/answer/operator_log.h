/* SPDX-License-Identifier: Apache-2.0 */
/* operator_log.h - what an operator must know, a line each: for people, or JSON for what collects logs.
 *
 *   stallbox serve: symbols: the store answers again: stalls that lack names because of it are triaged anew
 *   {"time":"2026-11-26T20:14:05.123Z","level":"info","part":"symbols","message":"symbols: the store answers again: ..."}
 *
 * A line is about the server and its stores. No address of a sender or a reader, no name of a machine, no token and nothing from a payload
 * but its id stands in one. Any thread; each line is written whole. */
#ifndef SBX_OPERATOR_LOG_H
#define SBX_OPERATOR_LOG_H

#include <stdbool.h>
#include <stdio.h>

enum sbx_log_level {
    SBX_LOG_INFO,    /* it is as it should be */
    SBX_LOG_WARNING, /* something is missing, late or refused */
};

struct sbx_operator_log {
    FILE *out; /* borrowed. NULL: silent */
    bool is_json;
};

/* What a line is about, as a member of its JSON: "snapshot", "build_id", "path". `name` NULL: nothing. */
struct sbx_log_subject {
    const char *name, *value;
};

/* `part` is the part of the server that speaks: docs/OPERATIONS.md lists them. `log` NULL: silent. */
void sbx_operator_log(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same, about something. */
void sbx_operator_log_of(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                         struct sbx_log_subject subject, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
