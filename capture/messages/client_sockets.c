/* SPDX-License-Identifier: Apache-2.0 */
/* client_sockets.c - the tables. */
#include "client_sockets.h"

uint64_t sbx_client_sockets[SBX_CLIENT_SOCKETS_MOST / 64];
uint64_t sbx_prompt_sockets[SBX_CLIENT_SOCKETS_MOST / 64];
