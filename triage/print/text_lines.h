/* SPDX-License-Identifier: Apache-2.0 */
/* text_lines.h - what the parts of the text report share: the marks for colour, and lines of the page. */
#ifndef SBX_TEXT_LINES_H
#define SBX_TEXT_LINES_H

#include "report.h"

/* The marks. A name that holds one can at worst be bold. print_text.c turns them into escapes. */
#define STRONG "\1"
#define ALARM  "\2"
#define FAINT  "\3"
#define PLAIN  "\4"

/* "Before the trigger": returns 0, or -1 without memory. */
int sbx_text_history(FILE *text, const struct sbx_report *report);

#endif
