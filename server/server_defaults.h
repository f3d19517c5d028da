/* SPDX-License-Identifier: Apache-2.0 */
/* server_defaults.h - the values that a zero in the options stands for. The server uses them, and the settings page
 * shows them. */
#ifndef SBX_SERVER_DEFAULTS_H
#define SBX_SERVER_DEFAULTS_H

#include <stdint.h>

enum {
    SBX_PAYLOAD_DAYS_DEFAULT = 30, /* people read a report in the days after a release */
    /* a quarter, the time for which a machine keeps one rotating id; long enough to tell whether a stall is new */
    SBX_RETENTION_DAYS_DEFAULT = 90,
    SBX_TRIAGE_MS_DEFAULT = 5000,
    SBX_PENDING_MAX_DEFAULT = 100000,
    SBX_MACHINE_RATE_DEFAULT = 1000,
    SBX_TOKEN_RATE_DEFAULT = 3600000, /* one token may serve all machines of an application: 1,000 a second */
};
#define SBX_RENDERINGS_BYTES_DEFAULT (UINT64_C(256) << 20)

#endif
