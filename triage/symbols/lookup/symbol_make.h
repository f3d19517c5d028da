/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_make.h - symbol files of one build-id, parsed completely into an image. */
#ifndef SBX_SYMBOL_MAKE_H
#define SBX_SYMBOL_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "symbol_image.h"

struct sbx_making {
    const int *descriptors; /* of the program, its debug file, ...: taken */
    size_t descriptor_count;
    int alternate;           /* what sbx_debug_alternate_open() found for one of them, -1: nothing; taken */
    const int *parts;        /* .dwo files and .dwp packages that may belong to them: taken; NULL with none */
    size_t part_count;       /* SBX_SPLIT_PARTS_MAX at most */
    const uint8_t *build_id; /* which all of them have, or are not used */
    size_t build_id_bytes;
    const char *name;                                           /* what the program is called, "" when nothing tells */
    uint64_t now_s;                                             /* since 1970 */
    int out;                                                    /* the image's file, empty */
    void (*progress)(void *context, size_t done, size_t total); /* may be NULL; units of debug information */
    void *context;
};

/* Read, and write the image. Returns 0; -ENODATA when the files name no code; -EFBIG when they name more than an image
 * holds; -EBADMSG when none is an ELF or Mach-O file with that build-id; -E2BIG when reading leads round in circles; or -errno. `why` gets words for a person: on failure what
 * is wrong, else what of the files was not used, "" when all was well. */
int sbx_symbol_make(const struct sbx_making *making, struct sbx_image_facts *facts_out, char *why, size_t why_bytes);

#endif
