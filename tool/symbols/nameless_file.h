/* SPDX-License-Identifier: Apache-2.0 */
/* nameless_file.h - a file for what is too large for memory and is of no use afterwards. */
#ifndef SBX_NAMELESS_FILE_H
#define SBX_NAMELESS_FILE_H

/* An empty file in the folder for temporary files ($TMPDIR, else /tmp), which goes with its descriptor. Returns that (given), or
 * -errno. */
int sbx_nameless_file_open(void);

#endif
