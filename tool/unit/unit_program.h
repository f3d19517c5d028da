/* SPDX-License-Identifier: Apache-2.0 */
/* unit_program.h - the programs that a unit starts: may they be executed, and can they be recorded? */
#ifndef SBX_UNIT_PROGRAM_H
#define SBX_UNIT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "unit_file.h"

/* Do NoExecPaths= and ExecPaths= allow that the file is executed or mapped? The longest of their paths that leads to it decides. */
bool sbx_unit_may_execute(const struct sbx_unit_file *unit, const char *path);

/* Can the program of an ExecStart= be recorded? False, and a sentence in `why`: it is static, or runs with rights of its file (LD_PRELOAD
 * is left out then), or it does nothing (/bin/true). A file that is not there, or whose name is a specifier's, is let pass. */
bool sbx_unit_program_can_be_recorded(const char *root, const char *command, char *why, size_t why_bytes);

#endif
