/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.h - the recordings that dead processes left in our folder. */
#ifndef SBX_ORPHANS_H
#define SBX_ORPHANS_H

/* Make the snapshots of processes that died, out of the recordings they left in our folder. Module thread. */
void sbx_agent_recover_orphans(void);

#endif
