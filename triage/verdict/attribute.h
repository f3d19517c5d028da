/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.h - from what was recorded to a verdict. Pure. */
#ifndef SBX_ATTRIBUTE_H
#define SBX_ATTRIBUTE_H

#include "report.h"

/* Fill report->verdict from the symbolized stall. Strings are the report's. Returns 0 or -ENOMEM. */
int sbx_attribute(struct sbx_report *report);

#endif
