/* SPDX-License-Identifier: Apache-2.0 */
/* upload_conditions.h - which upload conditions of a policy are true now, as far as this machine can tell.
 *
 * A condition that is not set is false. The environment sets conditions: STALLBOX_CONDITIONS="unmetered idle", or
 * STALLBOX_CONDITIONS=@FILE, whose words are read again each time, for a script that follows the desktop. In addition,
 * a machine on mains power, or without a battery, counts as charging. An application that knows better sets its
 * conditions itself (stallbox_set_conditions). While it is alive, its conditions replace the environment's. */
#ifndef SBX_UPLOAD_CONDITIONS_H
#define SBX_UPLOAD_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>

#define SBX_ENV_CONDITIONS "STALLBOX_CONDITIONS"

/* Returns the conditions that are true (enum sbx_upload_condition). Reads files. Any thread that does not change the
 * environment. */
uint32_t sbx_upload_conditions(void);

/* The same for a spool, in which a living application may have set its conditions (agent/shared/conditions.h); NULL:
 * none. */
uint32_t sbx_upload_conditions_of(const char *spool_path);

/* Parses the words of a text as conditions. Unknown words are skipped. Pure. */
uint32_t sbx_upload_conditions_read(const char *text);

/* Is the machine not running on battery? This reads the folder of power supplies (/sys/class/power_supply). */
bool sbx_is_on_mains(const char *power_supplies);

#endif
