/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_verdict.h - the stall's own track of a trace: the judged interval with its verdict, and the trigger. */
#ifndef SBX_PERFETTO_VERDICT_H
#define SBX_PERFETTO_VERDICT_H

#include "perfetto_packets.h"
#include "report.h"

/* `left_out` names what the trace does not contain for lack of room; NULL: nothing. */
void sbx_perfetto_verdict(struct sbx_perfetto *trace, const struct sbx_report *report, const char *left_out);

#endif
