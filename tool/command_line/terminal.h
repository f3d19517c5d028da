/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - what is done only when a person is looking: colour, and one line of progress. */
#ifndef SBX_TERMINAL_H
#define SBX_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Colour is for terminals that can, unless the user says no (NO_COLOR, see no-color.org). */
bool sbx_terminal_has_colour(FILE *out);

/* Show "what: done of total" on one line of standard error, over the last such line. Nothing when standard error is no
 * terminal, so that logs hold no half lines. */
void sbx_progress_show(const char *what, unsigned long done, unsigned long total);

/* Take the line away again; before anything else is printed. */
void sbx_progress_clear(void);

#endif
