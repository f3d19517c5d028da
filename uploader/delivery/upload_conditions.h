/* SPDX-License-Identifier: Apache-2.0 */
/* upload_conditions.h - which conditions of a policy hold now, as far as this machine can tell.
 *
 * A condition that is not set does not hold. The environment sets it: STALLBOX_CONDITIONS="unmetered idle", or
 * STALLBOX_CONDITIONS=@FILE, whose words are read anew each time, for a script that follows the desktop. Besides, a machine
 * on mains power, or without a battery, counts as charging. An application that knows better says so itself
 * (stallbox_set_conditions); while it lives, its word replaces the environment's. */
#ifndef SBX_UPLOAD_CONDITIONS_H
#define SBX_UPLOAD_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>

#define SBX_ENV_CONDITIONS "STALLBOX_CONDITIONS"

/* The conditions that hold (enum sbx_upload_condition). Reads files; any thread that does not change the environment. */
uint32_t sbx_upload_conditions(void);

/* The same for a spool, in which a living application may have said what holds (agent/shared/conditions.h); NULL: none. */
uint32_t sbx_upload_conditions_of(const char *spool_path);

/* The words of a text as conditions; words that are none are passed over. Pure. */
uint32_t sbx_upload_conditions_read(const char *text);

/* Is the machine not running down a battery, as the folder of power supplies (/sys/class/power_supply) tells? */
bool sbx_is_on_mains(const char *power_supplies);

#endif
