/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - output only for a person who is looking: colour, and one line of progress. */
#ifndef SBX_TERMINAL_H
#define SBX_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Does the terminal have colour? The user can turn it off (NO_COLOR, see no-color.org). */
bool sbx_terminal_has_colour(FILE *out);

/* Show "what: done of total" on one line of standard error, in place of the previous one. Does nothing when standard
 * error is not a terminal, so that logs have no partial lines. */
void sbx_progress_show(const char *what, unsigned long done, unsigned long total);

/* Remove the line. Call this before anything else is printed. */
void sbx_progress_clear(void);

#endif
