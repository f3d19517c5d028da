/* SPDX-License-Identifier: Apache-2.0 */
/* tool_folder.h - the folder of a test program for commands: cmocka's set-up and tear-down, a new folder for each
 * test. */
#ifndef SBX_TEST_TOOL_FOLDER_H
#define SBX_TEST_TOOL_FOLDER_H

#include "run_tool.h"

extern char *folder; /* of the current test */

int begin_folder(void **state);
int end_folder(void **state);

/* FOLDER/NAME; the string is valid until seven more calls. */
const char *path_of(const char *name);

/* Expect that the command ended with `status`, and that its standard error contains `err`. */
void expect(struct tool_result result, int status, const char *err);

#endif
