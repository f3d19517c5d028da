/* SPDX-License-Identifier: Apache-2.0 */
/* text_lines.h - what the parts of the text report share: the marks for colour, and lines of the page.
 *
 * Each part writes into a stream in memory (print_text.c); only sbx_text_write() writes to the reader. */
#ifndef SBX_TEXT_LINES_H
#define SBX_TEXT_LINES_H

#include <stdio.h>

#include "report.h"

/* The marks. A name that holds one can at worst be bold. sbx_text_write() turns them into escapes. */
#define STRONG "\1"
#define ALARM  "\2"
#define FAINT  "\3"
#define PLAIN  "\4"

/* ---- lines (text_lines.c) ---- */

/* An empty line, and a section's heading. */
void sbx_text_heading(FILE *text, const char *heading);

/* "key", and a sentence wrapped to the page behind it. Returns how many lines that takes; `text` NULL: only that. */
int sbx_text_wrapped(FILE *text, const char *key, const char *sentence);

/* The headline, wrapped to the page, and an empty line. Returns how many lines that takes. */
int sbx_text_headline(FILE *text, const char *headline);

/* Marks to escapes or nothing, other control characters to '?'. */
void sbx_text_write(FILE *out, const char *text, size_t bytes, bool colour);

/* ---- stacks (text_stacks.c) ---- */

enum {
    SBX_TEXT_STACK_MAX = 1024 /* locations of a callstack that are looked at; `locations` below has room for so many */
};

/* One line of a stack. `is_narrow`: for the first screen, where the source file stands in the module's place. */
void sbx_text_frame(FILE *text, size_t index, const struct sbx_location *location, bool is_narrow);

/* How to get names for a program without symbols, said once: nothing when the stack has names. Returns how many lines
 * that takes; `text` NULL: only that. */
int sbx_text_names_wanted(FILE *text, const struct sbx_report *report, uint32_t stack);

/* The stack that the time was spent in, and the threads' stacks at the trigger. `done`: false for each thread; true
 * afterwards where the thread was written. */
void sbx_text_stacks(FILE *text, const struct sbx_report *report, const struct sbx_location **locations, bool *done);

/* ---- history (text_history.c) ---- */

/* "Before the trigger": returns 0, or -1 without memory. */
int sbx_text_history(FILE *text, const struct sbx_report *report);

#endif
