/* SPDX-License-Identifier: Apache-2.0 */
/* provider_names.h - names of logical functions, written beside the spool's list of modules: SPOOL/provider-NAME.map.
 *
 * `stallbox report` reads them there (docs/PROVIDERS.md has the format). They stay on this machine. Processes of one program
 * append to one file: whole lines, each function once a process, and none that the file had when it was opened. A file
 * that has grown to SBX_NAMES_FILE_MAX is left as it is. */
#ifndef SBX_PROVIDER_NAMES_H
#define SBX_PROVIDER_NAMES_H

enum {
    SBX_NAMES_FILE_MAX = 16 << 20
};

/* Write down what was told since the last time. Watch thread. Nothing to do: a load. */
void sbx_provider_names_write(void);

#endif
