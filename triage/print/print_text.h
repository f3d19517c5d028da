/* SPDX-License-Identifier: Apache-2.0 */
/* print_text.h - the report as a person on call reads it. Both write to `out` and return 0 or -errno of the stream. */
#ifndef SBX_PRINT_TEXT_H
#define SBX_PRINT_TEXT_H

#include <stdio.h>

#include "report.h"

/* The whole report. */
int sbx_print_text(const struct sbx_report *report, FILE *out, bool colour);

/* The part that fits into 24 lines of 100 columns: verdict, evidence, where the time went, the blamed stack's innermost
 * frames. */
int sbx_print_first_screen(const struct sbx_report *report, FILE *out, bool colour);

#endif
