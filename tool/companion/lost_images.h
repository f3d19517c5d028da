/* SPDX-License-Identifier: Apache-2.0 */
/* lost_images.h - the files of recorded programs, held open so that names can be read from them when they are deleted or replaced.
 *
 * A deploy replaces an executable under the process that runs it, and a test runner deletes what it has built. While the process lives
 * /proc/PID/exe leads to the file; of one that crashed nothing does. So the companion holds one descriptor for each file that its
 * programs run, and when a snapshot has been packed, it copies those that nobody finds any more by their path to SPOOL/images, where
 * `stallbox report` looks for them by build-id. The copies stay on this machine.
 *
 * Executables only: what leads to a deleted library, /proc/PID/map_files, may be opened by root alone. */
#ifndef SBX_LOST_IMAGES_H
#define SBX_LOST_IMAGES_H

#include <stdint.h>

enum {
    SBX_IMAGES_HELD_MAX = 32,  /* different files at a time; of more nothing is kept */
    SBX_IMAGE_MIB_MAX = 256,   /* a larger file is not copied */
    SBX_IMAGES_MIB_MAX = 512,  /* all copies in a spool; the oldest go */
    SBX_IMAGES_FREE_SHARE = 8, /* nor is one that takes more than this part of what is free there */
};

struct sbx_lost_images;

/* `spool_path` is absolute and borrowed. NULL without memory: then nothing is kept. */
struct sbx_lost_images *sbx_lost_images_create(const char *spool_path);
void sbx_lost_images_destroy(struct sbx_lost_images *images);

/* A process of ours runs: hold its executable. One whose file is held costs an open and a comparison. Any thread. NULL is fine. */
void sbx_lost_images_see(struct sbx_lost_images *images, uint32_t pid);

/* A snapshot has been packed: copy what can be found by its path no more, each file once. Any thread. NULL is fine. Returns how many were
 * copied, or -errno of the first that could not be; nothing half is left. */
int sbx_lost_images_keep(struct sbx_lost_images *images);

#endif
