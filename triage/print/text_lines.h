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

/* Write an empty line, and a section's heading. */
void sbx_text_heading(FILE *text, const char *heading);

/* Write "key", and after it a sentence wrapped to the page. Returns the number of lines. If `text` is NULL, the lines
 * are only counted. */
int sbx_text_wrapped(FILE *text, const char *key, const char *sentence);

/* Write the headline, wrapped to the page, and an empty line. Returns the number of lines. */
int sbx_text_headline(FILE *text, const char *headline);

/* Write `text` to the reader. Marks become escape sequences, or nothing without colour. Other control characters become
 * '?'. */
void sbx_text_write(FILE *out, const char *text, size_t bytes, bool colour);

/* ---- stacks (text_stacks.c) ---- */

enum {
    SBX_TEXT_STACK_MAX = 1024 /* maximum number of locations of a callstack; `locations` below has room for so many */
};

/* Write one line of a stack. `is_narrow`: for the first screen, where the source file replaces the module. */
void sbx_text_frame(FILE *text, size_t index, const struct sbx_location *location, bool is_narrow);

/* Write once how to get names for a program without symbols. Writes nothing if fewer than a third of the stack's frames
 * lack names. Returns the number of lines. If `text` is NULL, the lines are only counted. */
int sbx_text_names_wanted(FILE *text, const struct sbx_report *report, uint32_t stack);

/* Write the stack in which the time was spent, and the threads' stacks at the trigger. `done`: false for each thread;
 * true afterwards where the thread was written. */
void sbx_text_stacks(FILE *text, const struct sbx_report *report, const struct sbx_location **locations, bool *done);

/* ---- history (text_history.c) ---- */

/* Write the section "Before the trigger". Returns 0, or -1 if memory runs out. */
int sbx_text_history(FILE *text, const struct sbx_report *report);

#endif
