/* SPDX-License-Identifier: Apache-2.0 */
/* settings_list.h - the options of a server as `/settings` shows them: no secrets, no paths, no addresses of other
 * machines. Pure. */
#ifndef SBX_SETTINGS_LIST_H
#define SBX_SETTINGS_LIST_H

#include "server.h"
#include "setting.h"

enum {
    SBX_SETTINGS_MAX = 24
};

/* Returns the number of settings. */
size_t sbx_settings_list(const struct sbx_server_options *options, unsigned workers,
                         struct sbx_setting out[SBX_SETTINGS_MAX]);

#endif
