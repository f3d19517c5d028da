/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - the command `stallbox run`: a program with the recorder in it (../command.h says what a command is). */
#ifndef SBX_RUN_H
#define SBX_RUN_H

#include <stdio.h>

int sbx_command_run(int argc, char **argv);
void sbx_usage_run(FILE *out);

#endif
