/* SPDX-License-Identifier: Apache-2.0 */
/* helper_thread.h - a second thread for the only slow part of a short command: decompressing debug information. */
#ifndef SBX_HELPER_THREAD_H
#define SBX_HELPER_THREAD_H

/* From now on the thread helps (triage/symbols/files/unpacked_elf.h). For a command that has one thread. */
void sbx_helper_thread_offer(void);

#endif
