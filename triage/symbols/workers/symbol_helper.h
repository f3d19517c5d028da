/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_helper.h - sbx_symbol_worker_make() for a program with several threads.
 *
 * The worker is made by fork(). A process with several threads, and with secrets in its memory, should not do that to
 * read a stranger's file. So a helper process is forked when the program begins: then the program has one thread and
 * has read no token and no key yet. The helper keeps no file of its parent except one socket, over which it receives
 * files. It makes the workers. */
#ifndef SBX_SYMBOL_HELPER_H
#define SBX_SYMBOL_HELPER_H

#include <stddef.h>
#include <stdint.h>

#include "symbol_image.h"

struct sbx_symbol_helper;

/* Fork it. Returns 0 and a helper (given: sbx_symbol_helper_stop), or -errno. It ends by itself when its parent
 * ends. */
int sbx_symbol_helper_start(struct sbx_symbol_helper **helper_out);
/* End it, and its worker if there is one. No thread may be waiting in sbx_symbol_helper_make(). NULL is fine. */
void sbx_symbol_helper_stop(struct sbx_symbol_helper *helper);
/* Kill it: threads that wait in sbx_symbol_helper_make() get -EPIPE. Any thread, until stop; NULL is fine. */
void sbx_symbol_helper_cancel(struct sbx_symbol_helper *helper);

enum {
    SBX_HELPER_IN_MAX = 8
};
struct sbx_helper_making {     /* all files remain the caller's */
    int in[SBX_HELPER_IN_MAX]; /* symbol files of one build-id */
    size_t in_count;
    int alternate; /* the file to which dwz moved parts of them; -1: none */
    int parts;     /* split debug information: one file of it, or a bundle; -1: none */
    int out;       /* the empty file for the image */
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    size_t build_id_bytes;
    char name[SBX_IMAGE_NAME_BYTES];
    uint64_t now_s;
};
/* As sbx_symbol_worker_make(), and -EPIPE if the helper is gone. Any thread; calls take turns. */
int sbx_symbol_helper_make(struct sbx_symbol_helper *helper, const struct sbx_helper_making *making, char *why,
                           size_t why_bytes);

#endif
