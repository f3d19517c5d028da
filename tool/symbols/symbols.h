/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h - the command `stallbox symbols`: names for code (../command.h says what a command is). */
#ifndef SBX_SYMBOLS_H
#define SBX_SYMBOLS_H

#include <stdio.h>

int sbx_command_symbols(int argc, char **argv);
void sbx_usage_symbols(FILE *out);

#endif
