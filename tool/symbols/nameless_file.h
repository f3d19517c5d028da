/* SPDX-License-Identifier: Apache-2.0 */
/* nameless_file.h - a temporary file for data that is too large for memory. */
#ifndef SBX_NAMELESS_FILE_H
#define SBX_NAMELESS_FILE_H

/* Make an empty file in the folder for temporary files ($TMPDIR, else /tmp); it is removed when its descriptor is
 * closed. Returns the descriptor (given), or -errno. */
int sbx_nameless_file_open(void);

#endif
