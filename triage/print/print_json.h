/* SPDX-License-Identifier: Apache-2.0 */
/* print_json.h - the report as one line of JSON, a contract with other programs. */
#ifndef SBX_PRINT_JSON_H
#define SBX_PRINT_JSON_H

#include <stdio.h>

#include "report.h"

/* Returns 0 or -errno of the stream. */
int sbx_print_json(const struct sbx_report *report, FILE *out);

#endif
