/* SPDX-License-Identifier: Apache-2.0 */
/* redacted_records.h - the kept records of a snapshot as rows of relative numbers. */
#ifndef SBX_REDACTED_RECORDS_H
#define SBX_REDACTED_RECORDS_H

#include "redaction_work.h"

/* Store the kept records by thread; within a thread, in the snapshot's order, which is by end. The trigger's message
 * becomes relative in the same way. Returns 0 or -ENOMEM. */
int sbx_redacted_fill_records(struct sbx_redaction_work *work);

#endif
