/* SPDX-License-Identifier: Apache-2.0 */
/* known_fds.c - the table. */
#include "known_fds.h"

uint8_t sbx_known_fds[SBX_KNOWN_FDS_MOST];
