/* SPDX-License-Identifier: Apache-2.0 */
/* preload.h - how `stallbox run` tells a preloaded agent what to do: by environment variables only.
 *
 * Numbers are passed as the bytes of a struct in lower-case hex, and not in a file. If the companion was killed, nobody
 * would remove that file, and the program that it started could still start others that need to read it. Agent and
 * companion share this layout and nothing else of each other. */
#ifndef SBX_PRELOAD_H
#define SBX_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

#define SBX_ENV_AUTOSTART \
    "STALLBOX_AUTOSTART"                    /* set: start; start before main() if it is 1 or the pid of this process */
#define SBX_ENV_SPOOL      "STALLBOX_SPOOL" /* spool folder, absolute */
#define SBX_ENV_RECORDINGS "STALLBOX_RECORDINGS" /* recordings folder, absolute */
#define SBX_ENV_ORDERS     "STALLBOX_ORDERS"     /* a struct sbx_preload_orders in lower-case hex */

enum {
    SBX_AUTOSTART_ALL = 1 /* no program is started with pid 1 */
};

struct sbx_preload_orders {
    uint32_t layout_hash; /* sbx_layout_hash(): both sides must have the same version */
    uint32_t reserved;
    uint64_t companion_key; /* random: it marks the recordings of the companion's programs; 0: no companion */
    uint64_t roster;        /* number of the companion's roster (snapshot/roster.h) among the recordings; 0: none */
    struct sbx_capture_settings settings;
    char app_name[SBX_APP_NAME_MAX]; /* "": not given */
    uint32_t app_version[3], reserved_app;
};

enum {
    SBX_ORDERS_TEXT_BYTES = 2 * sizeof(struct sbx_preload_orders) + 1
};

/* Write the orders as text[SBX_ORDERS_TEXT_BYTES]. */
void sbx_orders_print(const struct sbx_preload_orders *orders, char *text);

/* Read the orders back. Returns false when the text is incomplete or from another version: then nothing of it is
 * used. */
bool sbx_orders_parse(const char *text, struct sbx_preload_orders *orders_out);

#endif
