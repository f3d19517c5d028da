/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_file.h - one module's names, from all files that have its build-id. */
#ifndef SBX_SYMBOL_FILE_H
#define SBX_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "demangle.h"
#include "elf_finder.h"

struct sbx_symbol_file;

enum sbx_symbol_source {
    SBX_SYMBOLS_NONE = 0,
    SBX_SYMBOLS_DWARF = 1,
    SBX_SYMBOLS_SYMTAB = 2,
    SBX_SYMBOLS_DYNSYM = 3,
};
const char *sbx_symbol_source_name(enum sbx_symbol_source source); /* "dwarf", "symtab", "dynsym", "none" */

struct sbx_symbol_frame {
    char function[SBX_NAME_BYTES_MAX]; /* demangled; "" when nothing names it */
    const char *file;                  /* NULL unknown; valid until the symbol file is closed */
    uint32_t line;                     /* 0 unknown */
    bool inlined;                      /* into the next frame */
};

/* Open what is useful of `paths`, whose build-ids are checked again. NULL when none could be opened, or without memory.
 */
struct sbx_symbol_file *sbx_symbol_file_open(const struct sbx_elf_paths *paths, const uint8_t *build_id, size_t bytes);
void sbx_symbol_file_close(struct sbx_symbol_file *file);

/* Whether it has full debug information. */
bool sbx_symbol_file_has_dwarf(const struct sbx_symbol_file *file);

/* The logical frames at the file-relative virtual address, leaf first; returns how many (0: nothing names it). */
size_t sbx_symbol_file_find(struct sbx_symbol_file *file, uint64_t address, struct sbx_symbol_frame *frames_out,
                            size_t max, enum sbx_symbol_source *source_out);

#endif
