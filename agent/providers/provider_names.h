/* SPDX-License-Identifier: Apache-2.0 */
/* provider_names.h - names of logical functions, written beside the spool's list of modules: SPOOL/provider-NAME.map.
 *
 * `stallbox report` reads them there (docs/PROVIDERS.md has the format). They stay on this machine. Processes of one
 * program append whole lines to one file: each process writes a function once at most, and writes none that the file
 * had when it was opened. A file that has grown to SBX_NAMES_FILE_MAX is not changed any more. */
#ifndef SBX_PROVIDER_NAMES_H
#define SBX_PROVIDER_NAMES_H

enum {
    SBX_NAMES_FILE_MAX = 16 << 20
};

/* Write down the names that were given since the last call. Watch thread. If there is nothing to do, this is one
 * load. */
void sbx_provider_names_write(void);

#endif
