/* SPDX-License-Identifier: Apache-2.0 */
/* preload.h - how `stallbox run` tells a preloaded agent what to do: environment variables and one file of numbers.
 *
 * Agent and companion share this layout and nothing else of each other. */
#ifndef SBX_PRELOAD_H
#define SBX_PRELOAD_H

#include <stdint.h>

#include "capture_settings.h"

#define SBX_ENV_AUTOSTART  "STALLBOX_AUTOSTART"  /* set: start before main() */
#define SBX_ENV_SPOOL      "STALLBOX_SPOOL"      /* spool folder, absolute */
#define SBX_ENV_RECORDINGS "STALLBOX_RECORDINGS" /* recordings folder, absolute */
#define SBX_ENV_ORDERS     "STALLBOX_ORDERS"     /* file that holds a struct sbx_preload_orders */

#define SBX_ORDERS_MAGIC "SBXORDER" /* 8 bytes, no terminator */

struct sbx_preload_orders {
    char magic[8];
    uint32_t layout_hash; /* sbx_layout_hash(): both sides of one version */
    uint32_t reserved;
    struct sbx_capture_settings settings;
};

#endif
