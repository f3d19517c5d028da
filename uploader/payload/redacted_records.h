/* SPDX-License-Identifier: Apache-2.0 */
/* redacted_records.h - the kept records of a snapshot as rows of relative numbers. */
#ifndef SBX_REDACTED_RECORDS_H
#define SBX_REDACTED_RECORDS_H

#include "redaction_work.h"

/* Lay the kept records down by thread; within a thread they come by end, as the snapshot has them.
 * The trigger's message becomes relative with them. 0 or -ENOMEM. */
int sbx_redacted_fill_records(struct sbx_redaction_work *work);

#endif
