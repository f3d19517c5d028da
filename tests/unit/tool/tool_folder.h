/* SPDX-License-Identifier: Apache-2.0 */
/* tool_folder.h - the folder of a test program for commands: cmocka's set-up and tear-down, a new folder for each test. */
#ifndef SBX_TEST_TOOL_FOLDER_H
#define SBX_TEST_TOOL_FOLDER_H

#include "run_tool.h"

extern char *folder; /* of the test that runs */

int begin_folder(void **state);
int end_folder(void **state);

/* FOLDER/NAME; it holds until seven more were asked for. */
const char *path_of(const char *name);

/* The command ended with `status` and said `err`, among other things, on standard error. */
void expect(struct tool_result result, int status, const char *err);

#endif
