/* SPDX-License-Identifier: Apache-2.0 */
/* recording_name.h - what a recording's name says: "PID-SESSION-SPOOL.rec".
 *
 * The folder of recordings is its user's alone, so only a process that had his rights can have given the name. What is in the
 * file may have been written since by one that gave them up and was taken over: whoever makes something of a dead
 * process's recording goes by the name where the two could differ. */
#ifndef SBX_RECORDING_NAME_H
#define SBX_RECORDING_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
    SBX_RECORDING_NAME_BYTES = 72
};

struct sbx_recording_name {
    uint32_t pid; /* in the process's own pid namespace */
    uint8_t session_id[16];
    uint64_t spool; /* sbx_spool_mark() of its spool; 0: it had none that could be looked at */
};

void sbx_recording_name_print(const struct sbx_recording_name *name, char text_out[SBX_RECORDING_NAME_BYTES]);

/* False: some other name, which says nothing. */
bool sbx_recording_name_parse(const char *text, struct sbx_recording_name *name_out);

/* Which spool it is, by device and inode: the same by whatever path it is reached. Never 0. */
uint64_t sbx_spool_mark(const struct stat *spool);

#endif
