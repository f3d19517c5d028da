/* SPDX-License-Identifier: Apache-2.0 */
/* known_fds.c - the table. */
#include "known_fds.h"

struct sbx_known_fds sbx_known_fds[SBX_KNOWN_FDS_MOST / 64];
