/* SPDX-License-Identifier: Apache-2.0 */
/* unit_program.h - the programs that a unit starts: may they be executed, and can they be recorded? */
#ifndef SBX_UNIT_PROGRAM_H
#define SBX_UNIT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "unit_file.h"

/* Do NoExecPaths= and ExecPaths= allow executing or mapping this file? The longest of their paths that contains it
 * decides. */
bool sbx_unit_may_execute(const struct sbx_unit_file *unit, const char *path);

/* Can the program of an ExecStart= be recorded? False with a sentence in `why`: it is static, or its file gives it
 * rights (LD_PRELOAD is then ignored), or it does nothing (/bin/true). A missing file, or a name with a specifier,
 * counts as true. */
bool sbx_unit_program_can_be_recorded(const char *root, const char *command, char *why, size_t why_bytes);

#endif
