/* SPDX-License-Identifier: Apache-2.0 */
/* recording_name.h - the information in a recording's name: "PID-SESSION-SPOOL.rec".
 *
 * Only the user of the folder of recordings may write to it, so only a process with that user's rights can have given
 * the name. The content of the file may have been written later by a process that had dropped its privileges and was
 * compromised. So whoever processes a dead process's recording trusts the name if the name and the content differ. */
#ifndef SBX_RECORDING_NAME_H
#define SBX_RECORDING_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
    SBX_RECORDING_NAME_BYTES = 72
};

struct sbx_recording_name {
    uint32_t pid; /* in the recorded process's own pid namespace */
    uint8_t session_id[16];
    uint64_t spool; /* sbx_spool_mark() of its spool; 0: it had none that could be read */
};

void sbx_recording_name_print(const struct sbx_recording_name *name, char text_out[SBX_RECORDING_NAME_BYTES]);

/* Returns false for any other name, which contains no information. */
bool sbx_recording_name_parse(const char *text, struct sbx_recording_name *name_out);

/* Identifies a spool by device and inode: the result is the same for every path to it. Never 0. */
uint64_t sbx_spool_mark(const struct stat *spool);

#endif
