/* SPDX-License-Identifier: Apache-2.0 */
/* helper_thread.h - a second thread for the one thing that a short command takes long for: decompressing debug information. */
#ifndef SBX_HELPER_THREAD_H
#define SBX_HELPER_THREAD_H

/* From here on it helps (triage/symbols/files/unpacked_elf.h). A command of one thread alone. */
void sbx_helper_thread_offer(void);

#endif
