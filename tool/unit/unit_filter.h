/* SPDX-License-Identifier: Apache-2.0 */
/* unit_filter.h - does a unit's SystemCallFilter= allow the recorder's calls? (docs/SANDBOXES.md has the calls that it
 * makes.)
 *
 * systemd ends a service with SIGSYS at a call that is not allowed, unless SystemCallErrorNumber= makes it an error.
 * What is in a set such as @system-service depends on systemd's version, so the systemd-analyze of this machine is
 * asked. */
#ifndef SBX_UNIT_FILTER_H
#define SBX_UNIT_FILTER_H

#include <stddef.h>

#include "unit_file.h"

enum sbx_unit_filter {
    SBX_UNIT_FILTER_NONE,    /* there is no filter */
    SBX_UNIT_FILTER_ALLOWS,  /* it allows all of these calls */
    SBX_UNIT_FILTER_REFUSES, /* some fail with an error, which the recorder handles */
    SBX_UNIT_FILTER_KILLS,   /* some would kill the service */
    SBX_UNIT_FILTER_UNKNOWN  /* a set of calls cannot be looked up */
};

/* The process whose calls must be allowed. Each value includes the calls of the values before it. */
enum sbx_unit_caller {
    SBX_UNIT_RECORDER,
    SBX_UNIT_COMPANION, /* beside the service, under the same filter */
    SBX_UNIT_SENDER     /* a companion that sends to a server */
};

/* Print the members of `set` ("@timer"), one per word, into a text to be freed; NULL: the set is unknown. */
typedef char *sbx_unit_expand(const char *set);

/* By `systemd-analyze syscall-filter`. */
char *sbx_unit_expand_by_systemd(const char *set);

/* `calls_out` gets the calls that are not allowed (or the unknown set), as far as there is room. */
enum sbx_unit_filter sbx_unit_filter_judge(const struct sbx_unit_file *unit, enum sbx_unit_caller caller,
                                           sbx_unit_expand *expand, char *calls_out, size_t calls_bytes);

#endif
