/* SPDX-License-Identifier: Apache-2.0 */
/* unit_search.h - the files of a systemd service: the unit file and its drop-ins, in the order in which they apply.
 *
 * When systemd runs, `systemctl cat` gives them, including generated ones. Otherwise, and below another root, the usual
 * folders are searched as in systemd.unit(5). Our own drop-in is left out, because the settings are wanted as they
 * would be without it. */
#ifndef SBX_UNIT_SEARCH_H
#define SBX_UNIT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "unit_file.h"

#define SBX_UNIT_DROP_IN "50-stallbox.conf"

/* Make a unit's name of what a person typed, in name_out of 256 bytes: "nginx" and "nginx.service" become "nginx".
 * False: it is not a possible name of a service. */
bool sbx_unit_name(const char *typed, char name_out[256]);

/* Read the service `name` (sbx_unit_name()) below `root` ("": this machine). Returns 0, or -errno with a sentence in `why`: -ENOENT:
 * there is no such unit. */
int sbx_unit_read(const char *root, const char *name, struct sbx_unit_file *unit_out, char *why, size_t why_bytes);

/* Does NAME.socket exist too? */
bool sbx_unit_has_socket(const char *root, const char *name);

#endif
