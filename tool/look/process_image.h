/* SPDX-License-Identifier: Apache-2.0 */
/* process_image.h - identifies a process and the program that runs in it. After exec it is the same process with
 * another image. */
#ifndef SBX_PROCESS_IMAGE_H
#define SBX_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sbx_process_image {
    uint64_t start_ticks;             /* start of the process, which identifies it together with its number */
    uint64_t code_begin, stack_begin; /* addresses in this image; 0: unknown */
    uint64_t device, inode;           /* of the executable; 0: unknown */
};

/* Pure: read everything except the executable from the text of /proc/PID/stat. False: the text is invalid. */
bool sbx_process_image_parse(const char *text, struct sbx_process_image *image_out);

/* Returns 0 or -ESRCH. */
int sbx_process_image_read(pid_t pid, struct sbx_process_image *image_out);

/* Does the process live in another pid namespace than we do? */
bool sbx_process_is_in_other_namespace(pid_t pid);

#endif
