/* SPDX-License-Identifier: Apache-2.0 */
/* macho_scene.h - a small Mach-O program in memory, for tests to damage. */
#ifndef SBX_MACHO_SCENE_H
#define SBX_MACHO_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "macho_format.h"

#define SCENE_BASE UINT64_C(0x100000000)
#define SCENE_CODE (SCENE_BASE + 0x1000)

enum {
    SCENE_CODE_BYTES = 0x100,
    SCENE_SYMBOLS = 12,
    SCENE_STUBS_SECTION = 2 /* of symbols; 1 is that of code, 3 of data */
};

/* The parts in the order of the file, without gaps. */
struct macho_scene {
    struct sbx_macho_header header;
    struct sbx_macho_uuid_command uuid;
    struct sbx_macho_segment_command text;
    struct sbx_macho_section_header code, stubs, data;
    struct sbx_macho_segment_command dwarf;
    struct sbx_macho_section_header debug;
    struct sbx_macho_symtab_command symtab;
    struct sbx_macho_data_command starts;
    struct sbx_macho_nlist symbols[SCENE_SYMBOLS];
    char strings[256];
    uint8_t start_list[32];
    uint8_t debug_content[64];
};

/* A program for arm64 whose code is at SCENE_CODE, without symbols and without a list of functions. */
void macho_scene_init(struct macho_scene *scene);

/* One more symbol, in section 1. */
void macho_scene_add_symbol(struct macho_scene *scene, const char *name, uint64_t address, uint8_t type);

/* A file that contains `bytes`; the caller closes it. */
int macho_scene_open(const void *bytes, size_t count);

#endif
