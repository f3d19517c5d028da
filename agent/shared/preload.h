/* SPDX-License-Identifier: Apache-2.0 */
/* preload.h - how `stallbox run` tells a preloaded agent what to do: environment variables, nothing else.
 *
 * Numbers travel as the bytes of a struct in lower hex, not in a file: a file would have to be cleaned up after a
 * companion that was killed, while the program it left behind still starts others that want to read it. Agent and
 * companion share this layout and nothing else of each other. */
#ifndef SBX_PRELOAD_H
#define SBX_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

#define SBX_ENV_AUTOSTART \
    "STALLBOX_AUTOSTART"                    /* set: start; before main() where it is 1, or the number of this process */
#define SBX_ENV_SPOOL      "STALLBOX_SPOOL" /* spool folder, absolute */
#define SBX_ENV_RECORDINGS "STALLBOX_RECORDINGS" /* recordings folder, absolute */
#define SBX_ENV_ORDERS     "STALLBOX_ORDERS"     /* a struct sbx_preload_orders in lower hex */

enum {
    SBX_AUTOSTART_ALL = 1 /* nobody starts a program with the number 1 */
};

struct sbx_preload_orders {
    uint32_t layout_hash; /* sbx_layout_hash(): both sides of one version */
    uint32_t reserved;
    uint64_t companion_key; /* random: by it the companion knows the recordings of what it started; 0: there is none */
    uint64_t roster;        /* of the companion's (snapshot/roster.h), in the folder of recordings; 0: there is none */
    struct sbx_capture_settings settings;
    char app_name[SBX_APP_NAME_MAX]; /* "": not told */
    uint32_t app_version[3], reserved_app;
};

enum {
    SBX_ORDERS_TEXT_BYTES = 2 * sizeof(struct sbx_preload_orders) + 1
};

/* Write the orders as text[SBX_ORDERS_TEXT_BYTES]. */
void sbx_orders_print(const struct sbx_preload_orders *orders, char *text);

/* Read them back. Returns false when the text is not whole, or from another version: nothing of it is used then. */
bool sbx_orders_parse(const char *text, struct sbx_preload_orders *orders_out);

#endif
