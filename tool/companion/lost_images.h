/* SPDX-License-Identifier: Apache-2.0 */
/* lost_images.h - the files of recorded programs, held open so that names can be read from them when they are deleted
 * or replaced.
 *
 * A deployment replaces an executable while a process runs it, and a test runner deletes what it has built. While the
 * process lives, /proc/PID/exe leads to the file; after a crash nothing does. So the companion holds one descriptor for
 * each file that its programs run. When a snapshot has been packed, it copies the files that their path no longer leads
 * to into SPOOL/images. `stallbox report` looks there by build-id. The copies stay on this machine. This is for
 * executables only, because only root may open the link to a deleted library, /proc/PID/map_files. */
#ifndef SBX_LOST_IMAGES_H
#define SBX_LOST_IMAGES_H

#include <stdint.h>

enum {
    SBX_IMAGES_HELD_MAX = 32,  /* different files at one time; further ones are not kept */
    SBX_IMAGE_MIB_MAX = 256,   /* a larger file is not copied */
    SBX_IMAGES_MIB_MAX = 512,  /* of all copies in a spool; the oldest are removed */
    SBX_IMAGES_FREE_SHARE = 8, /* a file larger than this part of the free disk space is not copied */
};

struct sbx_lost_images;

/* `spool_path` is absolute and borrowed. Returns NULL without memory; then nothing is kept. */
struct sbx_lost_images *sbx_lost_images_create(const char *spool_path);
void sbx_lost_images_destroy(struct sbx_lost_images *images);

/* A process of ours runs: hold its executable. A file that is held already costs an open and a comparison. Any thread.
 * NULL is fine. */
void sbx_lost_images_see(struct sbx_lost_images *images, uint32_t pid);

/* A snapshot has been packed: copy each file that its path no longer leads to, once. Any thread. NULL is fine. Returns
 * the number of copies, or -errno of the first that failed; no partial copy is left. */
int sbx_lost_images_keep(struct sbx_lost_images *images);

#endif
