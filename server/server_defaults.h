/* SPDX-License-Identifier: Apache-2.0 */
/* server_defaults.h - what a zero among the options stands for: for the server, and for the page that says so. */
#ifndef SBX_SERVER_DEFAULTS_H
#define SBX_SERVER_DEFAULTS_H

#include <stdint.h>

enum {
    SBX_PAYLOAD_DAYS_DEFAULT = 30, /* a report is looked at in the days after a release, if ever */
    SBX_RETENTION_DAYS_DEFAULT =
        90, /* a quarter: whether a stall is new, and as long as a machine keeps one rotating id */
    SBX_TRIAGE_MS_DEFAULT = 5000,
    SBX_PENDING_MAX_DEFAULT = 100000,
    SBX_MACHINE_RATE_DEFAULT = 1000,
    SBX_TOKEN_RATE_DEFAULT = 3600000, /* all machines of an application may have one token: a thousand a second */
};
#define SBX_RENDERINGS_BYTES_DEFAULT (UINT64_C(256) << 20)

#endif
