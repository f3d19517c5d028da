/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_make.h - reads the symbol files of one build-id completely, and writes an image of them. */
#ifndef SBX_SYMBOL_MAKE_H
#define SBX_SYMBOL_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "symbol_image.h"

struct sbx_making {
    const int *descriptors; /* of the program, its debug file, ...: taken */
    size_t descriptor_count;
    int alternate;           /* the result of sbx_debug_alternate_open() for one of them, -1: none; taken */
    const int *parts;        /* .dwo files and .dwp packages that may belong to them: taken; NULL: none */
    size_t part_count;       /* SBX_SPLIT_PARTS_MAX at most */
    const uint8_t *build_id; /* of all files; files with another one are not used */
    size_t build_id_bytes;
    const char *name;                                           /* name of the program; "": not known */
    uint64_t now_s;                                             /* seconds since 1970 */
    int out;                                                    /* the file to write, empty */
    void (*progress)(void *context, size_t done, size_t total); /* may be NULL; units of debug information */
    void *context;
};

/* Read the files, and write the image. Returns 0; -ENODATA if the files name no code; -EFBIG if they name more than an
 * image can hold; -EBADMSG if none is an ELF or Mach-O file with that build-id; -E2BIG if reading takes more work than
 * the size explains; or -errno. `why` gets a text for a person: on failure the error, else which part of the files was
 * not used; "" if all was well. */
int sbx_symbol_make(const struct sbx_making *making, struct sbx_image_facts *facts_out, char *why, size_t why_bytes);

#endif
